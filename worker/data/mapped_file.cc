#include "worker/data/mapped_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <span>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace rondo {
namespace {

absl::Status SystemError(const char* verb, const std::string& path) {
  const std::string message = fmt::format("cannot {} {}: {}", verb, path, std::strerror(errno));
  if (errno == ENOENT) return absl::NotFoundError(message);
  return absl::UnavailableError(message);
}

}  // namespace

absl::StatusOr<MappedFile> MappedFile::Open(const std::string& path) {
  // O_NONBLOCK: a named pipe would wait for a writer.
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return SystemError("open", path);
  struct stat info;
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    close(fd);
    return absl::InvalidArgumentError(fmt::format("{} is not a regular file", path));
  }
  const auto size = static_cast<size_t>(info.st_size);
  void* address = nullptr;
  if (size > 0) address = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
  const absl::Status failed = address == MAP_FAILED ? SystemError("map", path) : absl::OkStatus();
  close(fd);
  if (!failed.ok()) return failed;
  return MappedFile(path, {static_cast<const uint8_t*>(address), size});
}

MappedFile::MappedFile(std::string path, std::span<const uint8_t> bytes)
    : path_(std::move(path)), bytes_(bytes) {}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)), bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) munmap(const_cast<uint8_t*>(bytes_.data()), bytes_.size());
}

}  // namespace rondo
