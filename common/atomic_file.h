// Replaces a file as a whole: temporary file, fsync, rename, fsync of the folder.
#ifndef RONDO_COMMON_ATOMIC_FILE_H_
#define RONDO_COMMON_ATOMIC_FILE_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"

namespace rondo {

// Readers of `path` see the old content or the new, never a part, also after a crash. Without
// Commit nothing changes. Threads: one. Of several writers of one path the last Commit
// wins.
class AtomicFile {
 public:
  explicit AtomicFile(std::string path);
  ~AtomicFile();  // Removes the temporary file if it was not committed.
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  // After the first failure nothing is written; Commit reports it.
  void Append(const void* data, size_t size);
  // Call once. Unavailable: names the file and the system's reason (no space, no permission, ...).
  absl::Status Commit();

 private:
  void Fail(const char* what);

  const std::string path_;
  const std::string temporary_;
  int fd_ = -1;
  absl::Status status_;
};

}  // namespace rondo

#endif  // RONDO_COMMON_ATOMIC_FILE_H_
