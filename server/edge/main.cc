// rondo-coordinator.
#include <cstdio>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "common/log.h"
#include "server/edge/coordinator_process.h"
#include "server/edge/flags.h"
#include "server/edge/signals.h"

int main(int argc, char** argv) {
  using namespace rondo::server;
  BlockSignals();
  std::optional<FlagsText> text;
  const absl::StatusOr<Flags> flags = ParseFlags(argc, argv, &text);
  if (text) {
    std::printf("%s", text->text.c_str());
    return 0;
  }
  if (!flags.ok()) {
    std::fprintf(stderr, "rondo-coordinator: %s\n", std::string(flags.status().message()).c_str());
    return 2;
  }
  rondo::SetUpLog(flags->log_format, flags->log_level, "coordinator", "");
  return RunCoordinator(*flags);
}
