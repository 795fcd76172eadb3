#include "common/file_kind.h"

#include <sys/stat.h>

namespace rondo {

std::string_view UnusualFileKind(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0 || S_ISREG(info.st_mode)) return "";
  if (S_ISDIR(info.st_mode)) return "a folder";
  if (S_ISFIFO(info.st_mode)) return "a named pipe (FIFO)";
  if (S_ISSOCK(info.st_mode)) return "a socket";
  return "a device";
}

}  // namespace rondo
