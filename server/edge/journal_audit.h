// Whether the columns of a journal, which people query, say what its records say.
#ifndef RONDO_SERVER_EDGE_JOURNAL_AUDIT_H_
#define RONDO_SERVER_EDGE_JOURNAL_AUDIT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace rondo::server {

// A row that is not as the journal's writer would write its record.
struct OddRow {
  std::string table;
  int64_t seq = 0;  // The record's number.
};

// Writes the journal's records anew into `scratch_dir` and compares all tables, row by row, but for
// the records themselves: their bytes are another version's where a job went on with it. Nobody
// may write the journal meanwhile. `limit`: of the rows that are returned.
// Errors: those of JournalReader; Unavailable when there is no room in `scratch_dir`.
// Cost: reads all of the journal, writes as much.
absl::StatusOr<std::vector<OddRow>> AuditJournal(const std::string& path,
                                                 const std::string& scratch_dir, size_t limit);

}  // namespace rondo::server

#endif  // RONDO_SERVER_EDGE_JOURNAL_AUDIT_H_
