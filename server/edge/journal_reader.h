// Reads journal.db, of a finished run or beside a coordinator that writes it. What is seen is on
// disk: whole transactions only.
#ifndef RONDO_SERVER_EDGE_JOURNAL_READER_H_
#define RONDO_SERVER_EDGE_JOURNAL_READER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "common/ids.h"
#include "proto/rondo/v1/job.pb.h"
#include "server/core/records.h"
#include "server/edge/sqlite.h"

namespace rondo::server {

struct RoundRow {
  CommitRecord commit;
  std::optional<EvaluationRecord> evaluation = {};  // Made after this round.
  bool undone = false;                              // By a later rewind.
};

// Every method may fail with DataLoss when the file is damaged; messages name the file.
// Threads: any.
class JournalReader {
 public:
  // Opens for reading only. Errors: NotFound; FailedPrecondition when another version of rondo
  // wrote it; DataLoss when it is no journal.
  static absl::StatusOr<std::unique_ptr<JournalReader>> Open(const std::string& path);

  // Reads the whole file and checks its structure. Cost: all of it is read.
  absl::Status Check();

  absl::StatusOr<v1::Job> Job();
  // The newest life of the coordinator; 0: none has begun.
  absl::StatusOr<Term> LastTerm();
  // Committed rounds from `from` on, ascending, at most `limit`, also those that a rewind has
  // undone. Elsewhere what is undone is in no answer but Records().
  absl::StatusOr<std::vector<RoundRow>> Rounds(RoundId from, uint64_t limit);
  // Absent: the run has not ended, or goes on since.
  absl::StatusOr<std::optional<EndRecord>> End();
  // Absent: no worker has prepared yet.
  absl::StatusOr<std::optional<ReferenceRecord>> Reference();
  // From number `from` (from 1) on, at most `limit`.
  absl::StatusOr<std::vector<NoticeRecord>> Notices(uint64_t from, uint64_t limit);
  absl::StatusOr<std::vector<EvaluationRecord>> Evaluations();
  absl::StatusOr<std::vector<CheckpointRecord>> Checkpoints();
  // The whole history in the order of decisions. DataLoss also when the number of a record is
  // missing or there twice.
  absl::StatusOr<std::vector<Record>> Records();
  // What ExplainRound (server/core/explain.h) needs of it. Errors also: NotFound: no such order.
  absl::StatusOr<std::vector<Record>> RecordsAround(RoundId round);
  // The round of the newest order; none: 0.
  absl::StatusOr<RoundId> LastOrdered();

 private:
  JournalReader(std::string path, SqliteDatabase db) : path_(std::move(path)), db_(std::move(db)) {}

  // Decodes the column `record` of each row of `sql`.
  template <typename T, typename Decode>
  absl::StatusOr<std::vector<T>> All(const char* sql, Decode decode, uint64_t from = 0,
                                     uint64_t limit = 0) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::string path_;
  absl::Mutex mutex_;
  SqliteDatabase db_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace rondo::server

#endif  // RONDO_SERVER_EDGE_JOURNAL_READER_H_
