#include "server/cli/progress_line.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace rondo::cli {
namespace {

// ANSI: to the line's start, and everything behind the cursor away.
constexpr char kRewrite[] = "\r\x1b[K";

// A line that wraps could not be rewritten.
std::string FittedToTerminal(const std::string& text, std::FILE* file) {
  winsize size = {};
  if (ioctl(fileno(file), TIOCGWINSZ, &size) != 0 || size.ws_col < 2) return text;
  return text.substr(0, size.ws_col - 1);
}

}  // namespace

void ProgressLine::Show(const std::string& text, absl::Time now) {
  if (text == shown_) return;
  if (!terminal_ && now < shown_at_ + interval_) return;
  shown_ = text;
  shown_at_ = now;
  if (terminal_) {
    fmt::print(file_, "{}{}", kRewrite, FittedToTerminal(text, file_));
  } else {
    fmt::print(file_, "{}\n", text);
  }
  std::fflush(file_);
}

void ProgressLine::Message(const std::string& text) {
  fmt::print(file_, "{}{}{}", terminal_ && !shown_.empty() ? kRewrite : "", text,
             text.ends_with('\n') ? "" : "\n");
  if (terminal_ && !shown_.empty()) fmt::print(file_, "{}", FittedToTerminal(shown_, file_));
  std::fflush(file_);
}

void ProgressLine::Finish() {
  if (terminal_ && !shown_.empty()) fmt::print(file_, "\n");
  shown_.clear();
  std::fflush(file_);
}

}  // namespace rondo::cli
