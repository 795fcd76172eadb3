// rondo-worker: one member of a training job.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <variant>

#include "common/log.h"
#include "worker/edge/flags.h"
#include "worker/edge/worker_process.h"

int main(int argc, char** argv) {
  const auto parsed = rondo::worker::ParseFlags(argc, argv);
  if (const auto* usage = std::get_if<rondo::worker::UsageExit>(&parsed)) {
    fmt::print(usage->code == 0 ? stdout : stderr, "{}", usage->text);
    return usage->code;
  }
  const auto& flags = std::get<rondo::worker::Flags>(parsed);
  rondo::SetUpLog(flags.log_format, flags.log_level, "worker", flags.name);
  const int code = rondo::worker::RunWorker(flags);
  std::fflush(nullptr);
  std::_Exit(code);
}
