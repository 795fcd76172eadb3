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

// A terminal that was closed, or a pipe that nobody reads, takes no more; that must not end a run,
// so errors are ignored (fmt::print would throw).
void Write(std::FILE* file, const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), file);
  std::fflush(file);
}

}  // namespace

void ProgressLine::Show(const std::string& text, absl::Time now) {
  if (text == shown_) return;
  if (!terminal_ && now < shown_at_ + interval_) return;
  shown_ = text;
  shown_at_ = now;
  if (terminal_) {
    Write(file_, kRewrite + FittedToTerminal(text, file_));
  } else {
    Write(file_, text + "\n");
  }
}

void ProgressLine::Message(const std::string& text) {
  const bool rewrites = terminal_ && !shown_.empty();
  Write(file_,
        fmt::format("{}{}{}{}", rewrites ? kRewrite : "", text, text.ends_with('\n') ? "" : "\n",
                    rewrites ? FittedToTerminal(shown_, file_) : ""));
}

void ProgressLine::Finish() {
  if (terminal_ && !shown_.empty()) Write(file_, "\n");
  shown_.clear();
}

}  // namespace rondo::cli
