// The version of this build.
#ifndef RONDO_COMMON_VERSION_H_
#define RONDO_COMMON_VERSION_H_

namespace rondo {

// What Hello and each program's --version say.
inline constexpr char kVersion[] = "0.1.0";

}  // namespace rondo

#endif  // RONDO_COMMON_VERSION_H_
