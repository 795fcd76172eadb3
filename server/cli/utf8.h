// Text for messages, whose strings are UTF-8.
#ifndef RONDO_SERVER_CLI_UTF8_H_
#define RONDO_SERVER_CLI_UTF8_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace rondo::cli {

// Well-formed by the Unicode Standard, table 3-7: no overlong form, no surrogate.
bool IsUtf8(std::string_view text);

// For flags: what is wrong with their value; empty: nothing.
std::string WrongText(const std::string& text);

// At most the first `bytes_max` bytes, no character cut in two; '?' for each byte that is part of
// none.
std::string AsUtf8(std::string_view text, size_t bytes_max);

}  // namespace rondo::cli

#endif  // RONDO_SERVER_CLI_UTF8_H_
