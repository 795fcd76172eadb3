#include "worker/edge/flags.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "common/dial_target.h"
#include "common/ids.h"
#include "common/status_macros.h"
#include "common/version.h"

namespace rondo::worker {
namespace {

std::string HostName() {
  char host[256] = {};
  if (gethostname(host, sizeof host - 1) != 0) return "host";
  std::string name(host);
  name = name.substr(0, std::min(name.find('.'), size_t{48}));
  for (char& c : name) {
    if (!IsValidWorkerName(std::string_view(&c, 1))) c = '-';
  }
  return name.empty() ? "host" : name;
}

std::string DefaultName() {
  if (const char* index = std::getenv("JOB_COMPLETION_INDEX"); index != nullptr && *index != 0) {
    return fmt::format("worker-{}", index);
  }
  return fmt::format("{}-{}", HostName(), getpid());
}

absl::Status ParsePorts(const std::string& text, Flags* flags) {
  const std::vector<std::string> ends = absl::StrSplit(text, absl::MaxSplits('-', 1));
  uint32_t first = 0;
  uint32_t last = 0;
  const bool numbers =
      absl::SimpleAtoi(ends.front(), &first) && absl::SimpleAtoi(ends.back(), &last);
  if (!numbers || first == 0 || first > last || last > 65535) {
    return absl::InvalidArgumentError(
        fmt::format("--data-port: '{}' is not a port or a range such as 4000-4010", text));
  }
  flags->data_port_first = static_cast<uint16_t>(first);
  flags->data_port_last = static_cast<uint16_t>(last);
  return absl::OkStatus();
}

absl::Status CheckSeconds(std::string_view flag, double seconds) {
  constexpr double kMin = 0.001;
  if (seconds == 0 || seconds >= kMin) return absl::OkStatus();
  return absl::InvalidArgumentError(
      fmt::format("{}: must be 0 or at least {}, not {}", flag, kMin, seconds));
}

// What CLI11 gives as text or leaves open.
struct Texts {
  std::string device = "cpu";
  std::string ports;
  std::string log_format = "text";
  std::string log_level = "info";
};

absl::Status Check(const Texts& texts, Flags* flags) {
  if (flags->name.empty()) flags->name = DefaultName();
  if (!IsValidWorkerName(flags->name)) {
    return absl::InvalidArgumentError(fmt::format(
        "--name: '{}' is not 1 to 63 letters, digits, dots, dashes or underscores", flags->name));
  }
  if (const std::string wrong = WrongDialTarget(flags->coordinator); !wrong.empty()) {
    return absl::InvalidArgumentError("--coordinator: " + wrong);
  }
  if (texts.device == "cuda") {
    return absl::InvalidArgumentError(
        "--device: cuda is not built yet; leave it out, or give --device cpu");
  }
  if (texts.device != "cpu") {
    return absl::InvalidArgumentError(
        fmt::format("--device: '{}' is none; give cpu (cuda is not built yet)", texts.device));
  }
  RETURN_IF_ERROR(CheckSeconds("--grace-seconds", flags->grace_seconds));
  RETURN_IF_ERROR(CheckSeconds("--away-seconds", flags->away_seconds));
  if (!texts.ports.empty()) RETURN_IF_ERROR(ParsePorts(texts.ports, flags));
  RETURN_IF_ERROR(ParseLogFormat(texts.log_format, &flags->log_format));
  RETURN_IF_ERROR(ParseLogLevel(texts.log_level, &flags->log_level));
  if (!flags->insecure && !IsLoopbackTarget(flags->coordinator)) {
    return absl::InvalidArgumentError(fmt::format(
        "--coordinator: '{}' is not on this machine, and the connection to it would be neither "
        "encrypted nor authenticated; give --insecure if the network is trusted",
        flags->coordinator));
  }
  return absl::OkStatus();
}

}  // namespace

bool IsLoopbackTarget(const std::string& target) {
  if (absl::StartsWith(target, "unix:")) return true;
  std::string_view host = target;
  if (absl::StartsWith(target, "dns:")) host = host.substr(host.rfind('/') + 1);
  if (absl::StartsWith(target, "[")) return absl::StartsWith(target, "[::1]");
  host = host.substr(0, host.rfind(':'));
  return host == "localhost" || absl::StartsWith(std::string(host), "127.");
}

std::variant<Flags, UsageExit> ParseFlags(int argc, const char* const* argv) {
  Flags flags;
  Texts texts;
  CLI::App app("rondo-worker: trains one job together with the coordinator's other workers.");
  app.add_option("--coordinator", flags.coordinator, "HOST:PORT of the coordinator")->required();
  app.add_option("--name", flags.name,
                 "stable name; by default worker-$JOB_COMPLETION_INDEX, else host and process id");
  app.add_option("--files", flags.files_dir, "folder of the job's data, model and init files")
      ->capture_default_str();
  app.add_option("--device", texts.device, "cpu; cuda is not built yet")->capture_default_str();
  app.add_option("--data-host", flags.data_host,
                 "host name or address at which other workers reach this one");
  app.add_option("--data-bind", flags.data_bind,
                 "address to listen on for other workers; by default all interfaces, or 127.0.0.1 "
                 "when the coordinator is on loopback");
  app.add_option("--data-port", texts.ports, "port or range FIRST-LAST for other workers");
  app.add_option("--threads", flags.threads, "threads of the math library")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_option("--grace-seconds", flags.grace_seconds, "time between SIGTERM and the kill")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_option("--away-seconds", flags.away_seconds,
                 "exit with 4 when the coordinator was not found for so long; 0: never. Once it "
                 "was found its own limit holds")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_flag("--insecure", flags.insecure, "allow a plain connection to another machine");
  app.add_option("--log-format", texts.log_format, "text or json")->capture_default_str();
  app.add_option("--log-level", texts.log_level, "debug, info, warning or error")
      ->capture_default_str();
  app.set_version_flag("--version", fmt::format("rondo-worker {}\n", kVersion));
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return UsageExit{0, app.help()};
  } catch (const CLI::CallForVersion& version) {
    return UsageExit{0, version.what()};
  } catch (const CLI::ParseError& error) {
    return UsageExit{2, fmt::format("rondo-worker: {}\nTry --help.\n", error.what())};
  }
  if (const absl::Status checked = Check(texts, &flags); !checked.ok()) {
    return UsageExit{2, fmt::format("rondo-worker: {}\n", std::string(checked.message()))};
  }
  return flags;
}

}  // namespace rondo::worker
