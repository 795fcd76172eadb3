// Numbers, names and times in sentences for people. Pure.
#ifndef RONDO_SERVER_CORE_WORDS_H_
#define RONDO_SERVER_CORE_WORDS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"

namespace rondo {

// "1 step", "2 steps": `noun` in the singular, its plural has an s.
std::string Counted(uint64_t count, std::string_view noun);

// "a", "a and b", "a, b and c"; of more than `most` the first ones: "a, b and 8 more".
std::string Listed(const std::vector<std::string>& names, size_t most = 10);

// "2026-11-30 17:05:09 UTC": whole seconds, in a zone that needs no asking.
std::string InUtc(absl::Time time);

}  // namespace rondo

#endif  // RONDO_SERVER_CORE_WORDS_H_
