// What a run's journal tells about it, in the words of the Jobs service: of ended runs, where no
// coordinator answers any more.
#ifndef RONDO_SERVER_CLI_JOURNAL_HISTORY_H_
#define RONDO_SERVER_CLI_JOURNAL_HISTORY_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/rondo/v1/jobs.pb.h"
#include "server/edge/journal_reader.h"

namespace rondo::cli {

// Errors: NotFound when `state_dir` holds no run; those of JournalReader::Open.
absl::StatusOr<std::unique_ptr<server::JournalReader>> OpenHistory(const std::string& state_dir);

// The job's state after its last record. One without an end record was killed (failed), unless
// `held` says that a coordinator still holds the directory: then it runs.
absl::StatusOr<v1::Status> StatusFromJournal(server::JournalReader& reader, bool held);

// Committed rounds from `first_round` on (0: all), ascending.
absl::StatusOr<std::vector<v1::Round>> RoundsFromJournal(server::JournalReader& reader,
                                                         uint64_t first_round);

// As JobsClient::GetCommStats.
absl::StatusOr<v1::CommStats> CommStatsFromJournal(server::JournalReader& reader,
                                                   uint64_t first_round);

// As JobsClient::ExplainRound.
absl::StatusOr<v1::RoundExplanation> ExplanationFromJournal(server::JournalReader& reader,
                                                            uint64_t round);

}  // namespace rondo::cli

#endif  // RONDO_SERVER_CLI_JOURNAL_HISTORY_H_
