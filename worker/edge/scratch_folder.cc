#include "worker/edge/scratch_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

namespace rondo::worker {
namespace {

namespace fs = std::filesystem;

// A descriptor that holds the folder; -1: somebody else does, or it is not there.
int Hold(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd < 0) return -1;
  if (flock(fd, LOCK_EX | LOCK_NB) == 0) return fd;
  close(fd);
  return -1;
}

// Between its making and its lock another process may have taken the folder for a leftover.
bool IsAt(int fd, const std::string& path) {
  struct stat held;
  struct stat found;
  return fstat(fd, &held) == 0 && stat(path.c_str(), &found) == 0 && held.st_ino == found.st_ino &&
         held.st_dev == found.st_dev;
}

void RemoveLeftovers(const std::string& parent, const std::string& prefix) {
  std::error_code error;
  std::vector<std::string> paths;
  for (const fs::directory_entry& entry : fs::directory_iterator(parent, error)) {
    const std::string name = entry.path().filename().string();
    if (name.rfind(prefix, 0) == 0) paths.push_back(entry.path().string());
  }
  for (const std::string& path : paths) {
    const int fd = Hold(path);
    if (fd < 0) continue;
    fs::remove_all(path, error);
    close(fd);
  }
}

}  // namespace

ScratchFolder::ScratchFolder(const std::string& parent, const std::string& prefix,
                             const std::string& name)
    : path_((fs::path(parent) / name).string()) {
  RemoveLeftovers(parent, prefix);
  std::error_code error;
  constexpr int kTries = 10;
  for (int i = 0; i < kTries && fd_ < 0; ++i) {
    fs::create_directories(path_, error);
    if (error) return;
    const int fd = Hold(path_);
    if (fd >= 0 && !IsAt(fd, path_)) {
      close(fd);
    } else {
      fd_ = fd;
    }
  }
}

ScratchFolder::~ScratchFolder() { Remove(); }

void ScratchFolder::Remove() {
  std::error_code error;
  fs::remove_all(path_, error);
  if (const int fd = std::exchange(fd_, -1); fd >= 0) close(fd);
}

}  // namespace rondo::worker
