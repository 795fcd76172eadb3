#include "tests/chaos/journal_file.h"

#include <fmt/format.h>
#include <poll.h>
#include <sqlite3.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <tuple>
#include <utility>

#include "absl/time/clock.h"
#include "server/edge/record_seal.h"

namespace rondo::chaos {
namespace {

// Rows of a query, as texts.
std::vector<std::vector<std::string>> Query(sqlite3* db, const std::string& sql,
                                            std::string* problem) {
  std::vector<std::vector<std::string>> rows;
  sqlite3_stmt* statement = nullptr;
  if (sqlite3_prepare_v2(db, sql.c_str(), -1, &statement, nullptr) != SQLITE_OK) {
    *problem = fmt::format("{}: {}", sql, sqlite3_errmsg(db));
    return rows;
  }
  while (sqlite3_step(statement) == SQLITE_ROW) {
    std::vector<std::string> row;
    for (int i = 0; i < sqlite3_column_count(statement); ++i) {
      const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement, i));
      row.emplace_back(bytes, static_cast<size_t>(sqlite3_column_bytes(statement, i)));
    }
    rows.push_back(std::move(row));
  }
  sqlite3_finalize(statement);
  return rows;
}

// 0 while there is no such table.
int64_t CountRows(const std::string& path, const std::string& table) {
  sqlite3* db = nullptr;
  std::vector<std::vector<std::string>> rows;
  if (sqlite3_open_v2(path.c_str(), &db, SQLITE_OPEN_READWRITE, nullptr) == SQLITE_OK) {
    std::string problem;
    rows = Query(db, fmt::format("SELECT CAST(count(*) AS TEXT) FROM \"{}\"", table), &problem);
  }
  sqlite3_close(db);
  return rows.empty() ? 0 : std::stoll(rows[0][0]);
}

}  // namespace

std::vector<JournalEntry> ReadJournalFile(const std::string& path, std::string* problem) {
  std::vector<JournalEntry> entries;
  sqlite3* db = nullptr;
  if (sqlite3_open_v2(path.c_str(), &db, SQLITE_OPEN_READWRITE, nullptr) != SQLITE_OK) {
    *problem = fmt::format("{}: {}", path, sqlite3_errmsg(db));
    sqlite3_close(db);
    return entries;
  }
  const auto tables =
      Query(db, "SELECT name FROM sqlite_master WHERE type = 'table' AND sql LIKE '%record BLOB%'",
            problem);
  for (const auto& table : tables) {
    const std::string sql = fmt::format("SELECT CAST(seq AS TEXT), record FROM \"{}\"", table[0]);
    for (const auto& row : Query(db, sql, problem)) {
      const auto record = server::Unseal(row[1]);
      if (!record.ok()) *problem = fmt::format("{}: record {} is damaged", table[0], row[0]);
      if (record.ok()) entries.push_back({std::stoll(row[0]), table[0], std::string(*record)});
    }
  }
  sqlite3_close(db);
  // A commit and its ledger have one number.
  std::sort(entries.begin(), entries.end(), [](const JournalEntry& a, const JournalEntry& b) {
    return std::tie(a.seq, a.table) < std::tie(b.seq, b.table);
  });
  return entries;
}

bool AwaitRows(const std::string& path, const std::string& table, int64_t rows,
               absl::Duration limit) {
  const absl::Time until = absl::Now() + limit;
  const int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
  const std::string folder = std::filesystem::path(path).parent_path();
  inotify_add_watch(watch, folder.c_str(), IN_MODIFY | IN_CREATE);
  bool there = CountRows(path, table) >= rows;
  while (!there && absl::Now() < until) {
    pollfd item = {watch, POLLIN, 0};
    poll(&item, 1, static_cast<int>(absl::ToInt64Milliseconds(until - absl::Now())));
    char changes[4096];
    while (read(watch, changes, sizeof(changes)) > 0) {
    }
    there = CountRows(path, table) >= rows;
  }
  close(watch);
  return there;
}

}  // namespace rondo::chaos
