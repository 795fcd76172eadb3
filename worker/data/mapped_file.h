// A file's bytes in memory, read-only and loaded by the page: it may be larger than memory.
#ifndef RONDO_WORKER_DATA_MAPPED_FILE_H_
#define RONDO_WORKER_DATA_MAPPED_FILE_H_

#include <cstdint>
#include <span>
#include <string>

#include "absl/status/statusor.h"

namespace rondo {

// Threads: any. Moves, does not copy; the bytes stay where they are.
class MappedFile {
 public:
  // NotFound or Unavailable name the file and the system's reason; InvalidArgument: a folder.
  static absl::StatusOr<MappedFile> Open(const std::string& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;

  const std::string& path() const { return path_; }
  std::span<const uint8_t> bytes() const { return bytes_; }

 private:
  MappedFile(std::string path, std::span<const uint8_t> bytes);

  std::string path_;
  std::span<const uint8_t> bytes_;
};

}  // namespace rondo

#endif  // RONDO_WORKER_DATA_MAPPED_FILE_H_
