#include "server/edge/flags.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>

#include "common/job/limits.h"
#include "common/status_macros.h"
#include "common/version.h"

namespace rondo::server {

absl::StatusOr<Flags> ParseFlags(int argc, const char* const* argv,
                                 std::optional<FlagsText>* text) {
  Flags flags;
  std::string listen = "127.0.0.1:0";
  std::string log_format = "text";
  std::string log_level = "info";
  uint64_t workers = 0;
  CLI::App app(
      "Coordinates one training job: tells workers what to do in each round, and keeps "
      "the journal.",
      "rondo-coordinator");
  app.add_option("--job", flags.job_file, "the job file (YAML)")->required();
  app.add_option("--state", flags.state_dir, "folder of this run: journal and checkpoints")
      ->required();
  app.add_option("--files", flags.files_dir,
                 "folder that the job's paths are relative to; default: the job file's");
  app.add_option("--listen", listen, "HOST:PORT for workers and users; port 0: the system chooses")
      ->capture_default_str();
  app.add_option("--address-file", flags.address_file,
                 "write the real HOST:PORT to this file once it listens");
  app.add_flag("--insecure", flags.insecure,
               "allow a --listen address that other machines can reach, without TLS");
  CLI::Option* const workers_option = app.add_option(
      "--workers", workers,
      "start when so many workers have joined; raises workers.max, or lowers workers.min, to it");
  app.add_flag("--fresh-workers", flags.fresh_workers,
               "going on with a run: no worker of its earlier lives is alive, so wait for none of "
               "them");
  app.add_option("--gone-workers", flags.gone_workers,
                 "the same of the workers of these names alone, with commas between them")
      ->delimiter(',');
  app.add_option("--log-format", log_format, "text or json")->capture_default_str();
  app.add_option("--log-level", log_level, "debug, info, warning or error")->capture_default_str();
  app.set_version_flag("--version", fmt::format("rondo-coordinator {}\n", kVersion));
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    *text = FlagsText{app.help()};
    return flags;
  } catch (const CLI::CallForVersion& version) {
    *text = FlagsText{version.what()};
    return flags;
  } catch (const CLI::ParseError& error) {
    return absl::InvalidArgumentError(
        fmt::format("{}; rondo-coordinator --help lists the flags", error.what()));
  }
  ASSIGN_OR_RETURN(flags.listen, ParseListenAddress(listen));
  RETURN_IF_ERROR(ParseLogFormat(log_format, &flags.log_format));
  RETURN_IF_ERROR(ParseLogLevel(log_level, &flags.log_level));
  if (workers_option->count() > 0) {
    if (workers < 1 || workers > uint64_t{kJobWorkersMax}) {
      return absl::InvalidArgumentError(
          fmt::format("--workers {}: expected 1 to {}", workers, kJobWorkersMax));
    }
    flags.workers = workers;
  }
  if (flags.files_dir.empty()) {
    flags.files_dir = std::filesystem::path(flags.job_file).parent_path().string();
    if (flags.files_dir.empty()) flags.files_dir = ".";
  }
  if (!flags.listen.loopback && !flags.insecure) {
    return absl::InvalidArgumentError(fmt::format(
        "--listen {} can be reached from other machines and the connection is not encrypted: give "
        "--insecure if that is meant, or listen on 127.0.0.1",
        listen));
  }
  return flags;
}

}  // namespace rondo::server
