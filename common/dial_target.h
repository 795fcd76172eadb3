// The address of a coordinator as a user writes it.
#ifndef RONDO_COMMON_DIAL_TARGET_H_
#define RONDO_COMMON_DIAL_TARGET_H_

#include <string>
#include <string_view>

namespace rondo {

// What is wrong with "HOST:PORT", "[IPV6]:PORT", "dns:///HOST:PORT" or "unix:PATH", in words that
// say what is expected; empty: nothing. Whether anybody listens there is not asked.
std::string WrongDialTarget(std::string_view target);

}  // namespace rondo

#endif  // RONDO_COMMON_DIAL_TARGET_H_
