#include "common/job/load_job.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <utility>

#include "absl/strings/strip.h"
#include "common/job/data_size.h"
#include "common/job/resolve.h"
#include "common/job/yaml_tree.h"
#include "common/status_macros.h"

namespace rondo {
namespace {

absl::Status AsStatus(const std::string& path, const ParsedJob& parsed) {
  const std::string lines = FormatDiagnostics(path, parsed.errors);
  return absl::InvalidArgumentError(absl::StripSuffix(lines, "\n"));
}

}  // namespace

absl::StatusOr<ParsedJob> ReadJobFile(const std::string& path, std::optional<int64_t> workers) {
  std::error_code code;
  const bool folder = std::filesystem::is_directory(path, code);
  std::ifstream in(path, std::ios::binary);
  if (folder || !in) {
    return absl::NotFoundError(fmt::format("cannot read the job file {}: {}", path,
                                           folder ? "it is a folder"
                                                  : "no such file, or no "
                                                    "permission"));
  }
  // One byte more than allowed, so that the parser sees what is too long.
  std::string text(kYamlBytesMax + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(in.gcount()));
  return ParseJob(text, workers);
}

absl::StatusOr<LoadedJob> LoadJob(const std::string& path, const std::string& files_dir) {
  ASSIGN_OR_RETURN(ParsedJob parsed, ReadJobFile(path));
  if (!parsed.errors.empty()) return AsStatus(path, parsed);
  ASSIGN_OR_RETURN(const DataSizes sizes, ReadDataSizes(parsed.job.data(), files_dir));
  ResolveJob(sizes, &parsed);
  if (!parsed.errors.empty()) return AsStatus(path, parsed);
  LoadedJob loaded;
  loaded.job = std::move(parsed.job);
  loaded.warnings = FormatDiagnostics(path, parsed.warnings);
  return loaded;
}

}  // namespace rondo
