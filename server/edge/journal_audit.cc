#include "server/edge/journal_audit.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>

#include "absl/strings/str_replace.h"
#include "absl/time/time.h"
#include "common/status_macros.h"
#include "proto/rondo/v1/job.pb.h"
#include "server/core/records.h"
#include "server/edge/journal_reader.h"
#include "server/edge/journal_sqlite.h"
#include "server/edge/sqlite.h"

namespace rondo::server {
namespace {

constexpr const char* kTables[] = {"terms",  "reference", "groups",      "orders",      "commits",
                                   "ledger", "voids",     "evaluations", "checkpoints", "notices",
                                   "end",    "rewinds",   "requests"};
constexpr size_t kRecordsPerWrite = 10'000;

// But the record itself, from which the copy is made: another version writes it with other bytes.
absl::StatusOr<std::string> ColumnsOf(SqliteDatabase& db, const char* table) {
  return db.Text(fmt::format("SELECT group_concat('\"' || name || '\"') FROM "
                             "pragma_table_info('{}') WHERE name != 'record'",
                             table)
                     .c_str());
}

absl::Status WriteCopy(const std::string& path, const std::string& copy) {
  ASSIGN_OR_RETURN(const std::unique_ptr<JournalReader> reader, JournalReader::Open(path));
  ASSIGN_OR_RETURN(const v1::Job job, reader->Job());
  ASSIGN_OR_RETURN(const std::vector<Record> records, reader->Records());
  RETURN_IF_ERROR(SqliteJournal::Create(copy, job, absl::UnixEpoch()));
  ASSIGN_OR_RETURN(const std::unique_ptr<SqliteJournal> journal, SqliteJournal::Open(copy));
  for (auto first = records.begin(); first != records.end();) {
    const auto count = std::min<ptrdiff_t>(kRecordsPerWrite, std::distance(first, records.end()));
    RETURN_IF_ERROR(journal->Write({first, first + count}));
    first += count;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<OddRow>> AuditJournal(const std::string& path,
                                                 const std::string& scratch_dir, size_t limit) {
  const std::string copy = scratch_dir + "/journal-copy.db";
  RETURN_IF_ERROR(WriteCopy(path, copy));
  ASSIGN_OR_RETURN(SqliteDatabase db, SqliteDatabase::Open(path, SqliteMode::kReadOnly));
  RETURN_IF_ERROR(
      db.Run(fmt::format("ATTACH DATABASE '{}' AS copy", absl::StrReplaceAll(copy, {{"'", "''"}}))
                 .c_str()));
  std::vector<OddRow> odd;
  for (const char* table : kTables) {
    ASSIGN_OR_RETURN(const std::string columns, ColumnsOf(db, table));
    ASSIGN_OR_RETURN(
        SqliteStatement rows,
        db.Prepare(fmt::format("SELECT seq FROM (SELECT {1} FROM main.\"{0}\" EXCEPT SELECT {1} "
                               "FROM copy.\"{0}\") UNION SELECT seq FROM (SELECT {1} FROM "
                               "copy.\"{0}\" EXCEPT SELECT {1} FROM main.\"{0}\") ORDER BY 1",
                               table, columns)
                       .c_str()));
    while (odd.size() < limit) {
      ASSIGN_OR_RETURN(const bool row, rows.Step());
      if (!row) break;
      odd.push_back({table, rows.Integer(0)});
    }
  }
  return odd;
}

}  // namespace rondo::server
