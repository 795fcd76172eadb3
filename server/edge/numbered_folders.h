// Folders whose names end in a number: step-40, round-7.
#ifndef RONDO_SERVER_EDGE_NUMBERED_FOLDERS_H_
#define RONDO_SERVER_EDGE_NUMBERED_FOLDERS_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace rondo::server {

// The numbers of all entries of `folder` that are named `prefix` and a number, ascending; empty
// when it cannot be read.
std::vector<uint64_t> NumbersIn(const std::string& folder, std::string_view prefix);

}  // namespace rondo::server

#endif  // RONDO_SERVER_EDGE_NUMBERED_FOLDERS_H_
