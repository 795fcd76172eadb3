#include "server/edge/comm_totals.h"

#include <cstdint>
#include <vector>

#include "common/status_macros.h"

namespace rondo::server {

absl::StatusOr<CommStats> SumUpRounds(JournalReader& journal, RoundId first, RoundId last) {
  constexpr uint64_t kRowsAtOnce = 1000;
  CommStats stats;
  for (;;) {
    ASSIGN_OR_RETURN(const std::vector<RoundRow> rows, journal.Rounds(first, kRowsAtOnce));
    for (const RoundRow& row : rows) {
      if (last && row.commit.round > last) return stats;
      if (!row.undone) stats.Add(row.commit);
    }
    if (rows.size() < kRowsAtOnce) return stats;
    first = rows.back().commit.round.Next();
  }
}

}  // namespace rondo::server
