#include "server/edge/frozen_job.h"

#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/strip.h"
#include "common/job/data_size.h"
#include "common/job/diagnostic.h"
#include "common/job/job_file.h"
#include "common/job/load_job.h"
#include "common/job/resolve.h"
#include "common/status_macros.h"

namespace rondo::server {
namespace {

absl::Status AsStatus(const std::string& file, const ParsedJob& parsed) {
  const std::string lines = FormatDiagnostics(file, parsed.errors);
  return absl::InvalidArgumentError(absl::StripSuffix(lines, "\n"));
}

}  // namespace

absl::StatusOr<JobToFreeze> LoadJobToFreeze(const std::string& job_file,
                                            const std::string& files_dir,
                                            std::optional<uint64_t> workers) {
  std::optional<int64_t> given;
  if (workers) given = static_cast<int64_t>(*workers);
  ASSIGN_OR_RETURN(ParsedJob parsed, ReadJobFile(job_file, given));
  if (!parsed.errors.empty()) return AsStatus(job_file, parsed);
  ASSIGN_OR_RETURN(const DataSizes sizes, ReadDataSizes(parsed.job.data(), files_dir));
  ResolveJob(sizes, &parsed);
  if (!parsed.errors.empty()) return AsStatus(job_file, parsed);
  JobToFreeze loaded{
      parsed.job, FormatDiagnostics(job_file, parsed.warnings), {workers, parsed.job}};
  if (!workers) return loaded;
  // Some job files need the flag: then there is nothing to compare with.
  ASSIGN_OR_RETURN(ParsedJob without, ReadJobFile(job_file, std::nullopt));
  if (without.errors.empty()) ResolveJob(sizes, &without);
  if (without.errors.empty()) loaded.given.without = std::move(without.job);
  return loaded;
}

}  // namespace rondo::server
