// The journal on disk: DIR/journal.db, SQLite in WAL mode with synchronous=FULL, one transaction a
// batch. journal_schema.h has the tables, journal_reader.h reads them back.
#ifndef RONDO_SERVER_EDGE_JOURNAL_SQLITE_H_
#define RONDO_SERVER_EDGE_JOURNAL_SQLITE_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "proto/rondo/v1/job.pb.h"
#include "server/core/records.h"
#include "server/runtime/journal.h"

namespace rondo::server {

// Threads: one at a time. One writer a file: the caller holds the state directory's lock; should
// that be deleted, each transaction looks whether another has written.
class SqliteJournal final : public Journal {
 public:
  // Makes the file with the frozen job in it; it appears complete or not at all.
  // Errors: AlreadyExists; those of sqlite.h.
  static absl::Status Create(const std::string& path, const v1::Job& job, absl::Time now);

  // Errors: FailedPrecondition when another version of rondo wrote it; those of sqlite.h.
  static absl::StatusOr<std::unique_ptr<SqliteJournal>> Open(const std::string& path);

  ~SqliteJournal() override;

  // Errors, beside those of Journal: Aborted: another one writes to this file, or it is not at its
  // path any more; nothing was written.
  absl::Status Write(const std::vector<Record>& records) override;

  // Its number; 0: none. What Open found, then what was written.
  int64_t last_record() const;

  // Tests: the file may not grow beyond so many pages, which then is a full disk. 0: no limit.
  absl::Status SetPageLimit(int64_t pages);

 private:
  struct Statements;
  explicit SqliteJournal(std::unique_ptr<Statements> statements);
  absl::Status WriteOne(const Record& record);

  const std::unique_ptr<Statements> statements_;
};

}  // namespace rondo::server

#endif  // RONDO_SERVER_EDGE_JOURNAL_SQLITE_H_
