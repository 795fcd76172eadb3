#include "server/cli/export.h"

#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "common/status_macros.h"
#include "server/cli/exit_code.h"
#include "server/cli/export_model.h"
#include "server/cli/whole_number.h"

namespace rondo::cli {
namespace {

struct Options {
  std::string state_dir;
  std::string out;
  std::optional<uint64_t> step;
  bool json = false;
};

absl::Status Export(const Options& options) {
  RETURN_IF_ERROR(ExportModel(options.state_dir, options.step, options.out));
  fmt::print("{}\n", options.json ? nlohmann::json{{"model", options.out}}.dump()
                                  : fmt::format("wrote {}", options.out));
  return absl::OkStatus();
}

}  // namespace

void AddExportVerb(CLI::App& app, int* exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand(
      "export", "Writes the model of a run as a safetensors file under the model's own names");
  verb->add_option("--state", options->state_dir, "The run's state directory")->required();
  verb->add_option("--out", options->out, "The file to write")->required();
  verb->add_option("--step", options->step, "The checkpoint's step [the newest]")
      ->check(WholeNumber(0));
  verb->add_flag("--json", options->json, "One JSON object instead of text");
  verb->callback([=] { *exit_code = ReportLocalStatus(Export(*options)); });
}

}  // namespace rondo::cli
