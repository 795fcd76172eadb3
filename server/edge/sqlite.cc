#include "server/edge/sqlite.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "common/status_macros.h"

namespace rondo::server {
namespace {

constexpr int kBusyMillis = 5000;

absl::StatusCode CodeOf(int sqlite_code, int system_errno) {
  switch (sqlite_code & 0xff) {
    case SQLITE_FULL:
      return absl::StatusCode::kResourceExhausted;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return absl::StatusCode::kDataLoss;
    case SQLITE_CANTOPEN:
      return absl::StatusCode::kNotFound;
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return absl::StatusCode::kPermissionDenied;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return absl::StatusCode::kUnavailable;
    case SQLITE_IOERR:
      return system_errno == ENOSPC ? absl::StatusCode::kResourceExhausted
                                    : absl::StatusCode::kInternal;
    default:
      return absl::StatusCode::kInternal;
  }
}

}  // namespace

absl::Status SqliteDatabase::Error(int code, std::string_view what) const {
  const int system_errno = sqlite3_system_errno(db_.get());
  return absl::Status(
      CodeOf(code, system_errno),
      fmt::format("{}: {}: {}{}", path_, what, sqlite3_errmsg(db_.get()),
                  system_errno == 0 ? "" : fmt::format(" ({})", std::strerror(system_errno))));
}

absl::StatusOr<SqliteDatabase> SqliteDatabase::Open(const std::string& path, SqliteMode mode) {
  int flags = SQLITE_OPEN_NOMUTEX;
  switch (mode) {
    case SqliteMode::kReadOnly:
      flags |= SQLITE_OPEN_READONLY;
      break;
    case SqliteMode::kReadWrite:
      flags |= SQLITE_OPEN_READWRITE;
      break;
    case SqliteMode::kCreate:
      flags |= SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
      break;
  }
  sqlite3* db = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &db, flags, nullptr);
  if (db == nullptr) return absl::ResourceExhaustedError(path + ": no memory to open it");
  SqliteDatabase database(path, db);
  if (code != SQLITE_OK) return database.Error(code, "cannot open it");
  sqlite3_extended_result_codes(db, 1);
  sqlite3_busy_timeout(db, kBusyMillis);
  return database;
}

absl::Status SqliteDatabase::Run(const char* sql) {
  const int code = sqlite3_exec(db_.get(), sql, nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? absl::OkStatus() : Error(code, sql);
}

absl::StatusOr<SqliteStatement> SqliteDatabase::Prepare(const char* sql) {
  sqlite3_stmt* statement = nullptr;
  const int code =
      sqlite3_prepare_v3(db_.get(), sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (code != SQLITE_OK) return Error(code, sql);
  return SqliteStatement(this, statement);
}

absl::StatusOr<int64_t> SqliteDatabase::Integer(const char* sql) {
  ASSIGN_OR_RETURN(SqliteStatement statement, Prepare(sql));
  ASSIGN_OR_RETURN(const bool row, statement.Step());
  if (!row) return absl::InternalError(fmt::format("{}: {}: no row", path_, sql));
  return statement.Integer(0);
}

absl::StatusOr<std::string> SqliteDatabase::Text(const char* sql) {
  ASSIGN_OR_RETURN(SqliteStatement statement, Prepare(sql));
  ASSIGN_OR_RETURN(const bool row, statement.Step());
  if (!row) return absl::InternalError(fmt::format("{}: {}: no row", path_, sql));
  return std::string(statement.Bytes(0));
}

bool SqliteDatabase::in_transaction() const { return sqlite3_get_autocommit(db_.get()) == 0; }

bool SqliteDatabase::HasMoved() const {
  int moved = 0;
  sqlite3_file_control(db_.get(), "main", SQLITE_FCNTL_HAS_MOVED, &moved);
  return moved != 0;
}

SqliteStatement& SqliteStatement::Bind(int64_t value) {
  sqlite3_bind_int64(statement_.get(), next_++, value);
  return *this;
}

SqliteStatement& SqliteStatement::Bind(double value) {
  sqlite3_bind_double(statement_.get(), next_++, value);
  return *this;
}

SqliteStatement& SqliteStatement::BindText(std::string_view value) {
  sqlite3_bind_text64(statement_.get(), next_++, value.data(), value.size(), SQLITE_TRANSIENT,
                      SQLITE_UTF8);
  return *this;
}

SqliteStatement& SqliteStatement::BindBlob(std::string_view value) {
  // An empty blob needs a pointer, else it would be NULL.
  sqlite3_bind_blob64(statement_.get(), next_++, value.empty() ? "" : value.data(), value.size(),
                      SQLITE_TRANSIENT);
  return *this;
}

absl::StatusOr<bool> SqliteStatement::Step() {
  const int code = sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return database_->Error(code, sqlite3_sql(statement_.get()));
}

absl::Status SqliteStatement::Run() {
  const absl::StatusOr<bool> row = Step();
  Reset();
  return row.status();
}

void SqliteStatement::Reset() {
  sqlite3_reset(statement_.get());
  sqlite3_clear_bindings(statement_.get());
  next_ = 1;
}

int64_t SqliteStatement::Integer(int column) const {
  return sqlite3_column_int64(statement_.get(), column);
}

std::string_view SqliteStatement::Bytes(int column) const {
  const void* bytes = sqlite3_column_blob(statement_.get(), column);
  return {static_cast<const char*>(bytes),
          static_cast<size_t>(sqlite3_column_bytes(statement_.get(), column))};
}

bool SqliteStatement::IsNull(int column) const {
  return sqlite3_column_type(statement_.get(), column) == SQLITE_NULL;
}

}  // namespace rondo::server
