#include "common/job/load_job.h"

#include <fmt/format.h>

#include <fstream>
#include <string_view>
#include <utility>

#include "absl/strings/strip.h"
#include "common/file_kind.h"
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
  if (const std::string_view kind = UnusualFileKind(path); !kind.empty()) {
    return absl::NotFoundError(fmt::format(
        "cannot read the job file {}: it is {}; a job file is read more than once, so it must be a "
        "regular file",
        path, kind));
  }
  std::ifstream in(path, std::ios::binary);
  if (!in) {
    return absl::NotFoundError(
        fmt::format("cannot read the job file {}: no such file, or no permission", path));
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
