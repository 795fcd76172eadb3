#include "common/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>
#include <utility>

#include "absl/status/status.h"

namespace rondo {
namespace {

// Two writers of one path do not share a temporary file.
std::atomic<uint64_t> files_made = 0;

constexpr size_t kWriteBytesMax = size_t{1} << 30;  // write(2) takes no more than 2 GiB at once.

}  // namespace

AtomicFile::AtomicFile(std::string path)
    : path_(std::move(path)),
      temporary_(fmt::format("{}.tmp.{}.{}", path_, getpid(), files_made++)) {
  fd_ = open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd_ < 0) Fail("create");
}

AtomicFile::~AtomicFile() {
  if (fd_ < 0) return;
  close(fd_);
  unlink(temporary_.c_str());
}

void AtomicFile::Fail(const char* what) {
  status_ = absl::UnavailableError(
      fmt::format("cannot {} {} to write {}: {}", what, temporary_, path_, std::strerror(errno)));
}

void AtomicFile::Append(const void* data, size_t size) {
  const char* rest = static_cast<const char*>(data);
  while (status_.ok() && size > 0) {
    const ssize_t written = write(fd_, rest, std::min(size, kWriteBytesMax));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return Fail("write");
    rest += written;
    size -= static_cast<size_t>(written);
  }
}

absl::Status AtomicFile::Commit() {
  if (status_.ok() && fsync(fd_) != 0) Fail("fsync");
  if (status_.ok() && rename(temporary_.c_str(), path_.c_str()) != 0) Fail("rename");
  if (!status_.ok()) return status_;
  close(std::exchange(fd_, -1));
  std::string folder = std::filesystem::path(path_).parent_path().string();
  if (folder.empty()) folder.push_back('.');
  const int folder_fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder_fd < 0 || fsync(folder_fd) != 0) Fail("fsync the folder of");
  if (folder_fd >= 0) close(folder_fd);
  return status_;
}

}  // namespace rondo
