// The records of a journal.db in the order of decisions, read with nothing but SQLite.
#ifndef RONDO_TESTS_CHAOS_JOURNAL_FILE_H_
#define RONDO_TESTS_CHAOS_JOURNAL_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace rondo::chaos {

struct JournalEntry {
  int64_t seq = 0;
  std::string table;
  std::string record;  // A message of journal.proto.
};

// Empty when the file cannot be read; `problem` says why.
std::vector<JournalEntry> ReadJournalFile(const std::string& path, std::string* problem);

// Blocks until the table has so many rows: asked at first and after each write of the journal,
// which lies in a folder that exists. False once `limit` has passed.
bool AwaitRows(const std::string& path, const std::string& table, int64_t rows,
               absl::Duration limit);

}  // namespace rondo::chaos

#endif  // RONDO_TESTS_CHAOS_JOURNAL_FILE_H_
