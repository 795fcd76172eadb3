// Where torch's exceptions end.
#ifndef RONDO_WORKER_ENGINE_TORCH_GUARDED_H_
#define RONDO_WORKER_ENGINE_TORCH_GUARDED_H_

#include <c10/util/Exception.h>
#include <fmt/format.h>

#include <exception>
#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace rondo {

// The line of a library's message that says what is wrong: the last one that begins like
// "RuntimeError: " (TorchScript puts a trace before it), else the first.
std::string TellingLine(std::string_view message);

// Runs `body`, which returns a Status or StatusOr. An exception becomes InvalidArgument, since what
// throws here is the user's model on the user's data: "DOING: LINE".
template <typename Body>
auto Guarded(std::string_view doing, const Body& body) -> decltype(body()) {
  try {
    return body();
  } catch (const c10::Error& error) {
    return absl::InvalidArgumentError(
        fmt::format("{}: {}", doing, TellingLine(error.what_without_backtrace())));
  } catch (const std::exception& error) {
    return absl::InvalidArgumentError(fmt::format("{}: {}", doing, TellingLine(error.what())));
  }
}

}  // namespace rondo

#endif  // RONDO_WORKER_ENGINE_TORCH_GUARDED_H_
