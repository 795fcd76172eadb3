// What a coordinator finds in its journal at its start, once all of it has been checked.
#ifndef RONDO_SERVER_EDGE_RECOVERY_H_
#define RONDO_SERVER_EDGE_RECOVERY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/rondo/v1/job.pb.h"
#include "server/core/history.h"
#include "server/runtime/coordinator.h"

namespace rondo::server {

struct Recovered {
  v1::Job job;  // Frozen.
  History history;
  std::vector<NumberedNotice> notices;  // The newest, oldest first.
  int64_t records = 0;                  // So many were read: the newest one's number.
};

// Reads DIR/journal.db whole: the file's structure, every record, no number of a record missing,
// and that each can follow the ones before it (CheckNext). What a crash left half written is no
// damage: SQLite drops it.
// Errors: DataLoss says what is wrong and the ways out; NotFound; FailedPrecondition when another
// version of rondo wrote it.
absl::StatusOr<Recovered> RecoverJournal(const std::string& state_dir);

}  // namespace rondo::server

#endif  // RONDO_SERVER_EDGE_RECOVERY_H_
