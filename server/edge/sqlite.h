// SQLite's C interface as values with Status.
#ifndef RONDO_SERVER_EDGE_SQLITE_H_
#define RONDO_SERVER_EDGE_SQLITE_H_

#include <sqlite3.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace rondo::server {

enum class SqliteMode { kReadOnly, kReadWrite, kCreate };

// Errors of both classes name the file: ResourceExhausted (no room), DataLoss (damaged, or no
// database), NotFound, PermissionDenied, Unavailable (locked), Internal (anything else).
// Threads: one at a time.
class SqliteStatement;
class SqliteDatabase {
 public:
  static absl::StatusOr<SqliteDatabase> Open(const std::string& path, SqliteMode mode);

  // One or more statements without results or whose results do not matter.
  absl::Status Run(const char* sql);
  absl::StatusOr<SqliteStatement> Prepare(const char* sql);
  // The single integer that `sql` gives.
  absl::StatusOr<int64_t> Integer(const char* sql);
  // The single text that `sql` gives.
  absl::StatusOr<std::string> Text(const char* sql);
  bool in_transaction() const;
  // The file at the path is not the one that was opened: it was deleted, moved or replaced.
  bool HasMoved() const;

 private:
  friend class SqliteStatement;
  struct CloseDatabase {
    void operator()(sqlite3* db) const { sqlite3_close_v2(db); }
  };
  SqliteDatabase(std::string path, sqlite3* db) : path_(std::move(path)), db_(db) {}
  absl::Status Error(int code, std::string_view what) const;

  std::string path_;
  std::unique_ptr<sqlite3, CloseDatabase> db_;
};

// Must not outlive its database, which must not be moved meanwhile. Columns and parameters count
// from 0 and 1, as SQLite does.
class SqliteStatement {
 public:
  SqliteStatement& Bind(int64_t value);
  SqliteStatement& Bind(uint64_t value) { return Bind(static_cast<int64_t>(value)); }
  SqliteStatement& Bind(double value);
  SqliteStatement& BindText(std::string_view value);
  SqliteStatement& BindBlob(std::string_view value);

  // True: a row is there.
  absl::StatusOr<bool> Step();
  // For statements without rows: steps once, and is ready for the next values.
  absl::Status Run();
  // Ready for the next values.
  void Reset();

  int64_t Integer(int column) const;
  // Valid until the next Step.
  std::string_view Bytes(int column) const;
  bool IsNull(int column) const;

 private:
  friend class SqliteDatabase;
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  SqliteStatement(const SqliteDatabase* database, sqlite3_stmt* statement)
      : database_(database), statement_(statement) {}

  const SqliteDatabase* database_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  int next_ = 1;
};

}  // namespace rondo::server

#endif  // RONDO_SERVER_EDGE_SQLITE_H_
