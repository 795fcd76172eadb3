// Sums up what the journal says of reductions.
#ifndef RONDO_SERVER_EDGE_COMM_TOTALS_H_
#define RONDO_SERVER_EDGE_COMM_TOTALS_H_

#include "absl/status/statusor.h"
#include "common/ids.h"
#include "server/core/comm_stats.h"
#include "server/edge/journal_reader.h"

namespace rondo::server {

// Over the committed rounds from `first` (0: all) to `last` (0: the newest) that were not undone.
// Reads a thousand at a time. Errors: the reader's.
absl::StatusOr<CommStats> SumUpRounds(JournalReader& journal, RoundId first, RoundId last);

}  // namespace rondo::server

#endif  // RONDO_SERVER_EDGE_COMM_TOTALS_H_
