#include "server/edge/frozen_job.h"

#include <algorithm>

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
  ASSIGN_OR_RETURN(ParsedJob parsed, ReadJobFile(job_file));
  if (!parsed.errors.empty()) return AsStatus(job_file, parsed);
  if (workers) {
    const auto count = static_cast<int64_t>(*workers);
    // Then batch.per_worker times the members is the global batch, and the steps follow from it.
    const bool fixed = parsed.job.batch().per_worker() > 0 && parsed.job.schedule().epochs() > 0;
    v1::Workers* limits = parsed.job.mutable_workers();
    limits->set_min(fixed ? count : std::min(limits->min(), count));
    limits->set_max(fixed ? count : std::max(limits->max(), count));
  }
  ASSIGN_OR_RETURN(const DataSizes sizes, ReadDataSizes(parsed.job.data(), files_dir));
  ResolveJob(sizes, &parsed);
  if (!parsed.errors.empty()) return AsStatus(job_file, parsed);
  return JobToFreeze{parsed.job, FormatDiagnostics(job_file, parsed.warnings)};
}

}  // namespace rondo::server
