// What lies at a path that should be a regular file. Reading a named pipe waits for a writer, maybe
// for ever, and gives its bytes only once; so what must be a file is looked at before it is opened.
#ifndef RONDO_COMMON_FILE_KIND_H_
#define RONDO_COMMON_FILE_KIND_H_

#include <string>
#include <string_view>

namespace rondo {

// "a folder", "a named pipe (FIFO)", "a device", "a socket", links followed; empty for a regular
// file, and where nothing is or nothing can be seen.
std::string_view UnusualFileKind(const std::string& path);

}  // namespace rondo

#endif  // RONDO_COMMON_FILE_KIND_H_
