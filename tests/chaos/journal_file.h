// The records of a journal.db in the order of decisions, read with nothing but SQLite.
#ifndef RONDO_TESTS_CHAOS_JOURNAL_FILE_H_
#define RONDO_TESTS_CHAOS_JOURNAL_FILE_H_

#include <cstdint>
#include <string>
#include <vector>

namespace rondo::chaos {

struct JournalEntry {
  int64_t seq = 0;
  std::string table;
  std::string record;  // A message of journal.proto.
};

// Empty when the file cannot be read; `problem` says why.
std::vector<JournalEntry> ReadJournalFile(const std::string& path, std::string* problem);

}  // namespace rondo::chaos

#endif  // RONDO_TESTS_CHAOS_JOURNAL_FILE_H_
