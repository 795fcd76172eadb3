// Where the job's history is kept. The runtime hands batches over in the order of decisions; a
// batch is on disk as a whole or not at all.
#ifndef RONDO_SERVER_RUNTIME_JOURNAL_H_
#define RONDO_SERVER_RUNTIME_JOURNAL_H_

#include <vector>

#include "absl/status/status.h"
#include "server/core/records.h"

namespace rondo::server {

// Threads: the journal's own, one call at a time (JournalThread).
class Journal {
 public:
  virtual ~Journal() = default;

  // Blocks until `records` are on disk (OK). Errors: ResourceExhausted: there is no room; nothing
  // was written, the same batch may be tried again. Aborted: the journal is another's by now;
  // nothing was written. Anything else: the outcome is unknown. After either no later batch may be
  // written.
  virtual absl::Status Write(const std::vector<Record>& records) = 0;
};

}  // namespace rondo::server

#endif  // RONDO_SERVER_RUNTIME_JOURNAL_H_
