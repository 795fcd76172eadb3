// Bytes and seconds for people.
#ifndef RONDO_SERVER_CLI_UNITS_H_
#define RONDO_SERVER_CLI_UNITS_H_

#include <cstdint>
#include <string>

namespace rondo::cli {

// "999 B", "12.3 MB": powers of 1000.
std::string BytesText(uint64_t bytes);

// "0.42 ms", "1.50 s", "2 min 05 s", "3 h 04 min".
std::string SecondsText(double seconds);

}  // namespace rondo::cli

#endif  // RONDO_SERVER_CLI_UNITS_H_
