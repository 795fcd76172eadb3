// The one line that says where a run stands: rewritten in place on a terminal, else a line now and
// then. Messages stand on lines of their own above it.
#ifndef RONDO_SERVER_CLI_PROGRESS_LINE_H_
#define RONDO_SERVER_CLI_PROGRESS_LINE_H_

#include <cstdio>
#include <string>

#include "absl/time/time.h"

namespace rondo::cli {

// Threads: one.
class ProgressLine {
 public:
  // Writes to `file`, which must outlive it. `terminal`: rewrite in place; else at most one line in
  // `interval`, and none that says the same as the last.
  ProgressLine(std::FILE* file, bool terminal, absl::Duration interval = absl::Seconds(2))
      : file_(file), terminal_(terminal), interval_(interval) {}

  void Show(const std::string& text, absl::Time now);
  void Message(const std::string& text);
  // Ends the line in place.
  void Finish();

 private:
  std::FILE* const file_;
  const bool terminal_;
  const absl::Duration interval_;
  std::string shown_;  // On a terminal: what stands in the line.
  absl::Time shown_at_ = absl::InfinitePast();
};

}  // namespace rondo::cli

#endif  // RONDO_SERVER_CLI_PROGRESS_LINE_H_
