// Whole numbers on the command line.
#ifndef RONDO_SERVER_CLI_WHOLE_NUMBER_H_
#define RONDO_SERVER_CLI_WHOLE_NUMBER_H_

#include <cstdint>
#include <functional>
#include <limits>
#include <string>

namespace rondo::cli {

// For CLI::Option::check: "" when the text is a whole number from `min` to `max`, else what is
// wrong with it.
std::function<std::string(const std::string&)> WholeNumber(
    int64_t min, int64_t max = std::numeric_limits<int64_t>::max());

}  // namespace rondo::cli

#endif  // RONDO_SERVER_CLI_WHOLE_NUMBER_H_
