#include "server/edge/same_job.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "common/job/job_text.h"

namespace rondo::server {
namespace {

bool IsBound(const std::string& key) { return key == "workers.min" || key == "workers.max"; }

// The --workers that makes the frozen bounds out of the file's; one that does not is no harm.
int64_t FlagOf(const v1::Workers& frozen, const v1::Workers& file) {
  return frozen.max() != file.max() ? frozen.max() : frozen.min();
}

}  // namespace

absl::Status CheckSameJob(const std::string& journal, const v1::Job& frozen, const v1::Job& job,
                          const GivenWorkers& given) {
  const std::vector<std::string> keys = DifferingKeys(frozen, job);
  if (keys.empty()) return absl::OkStatus();
  const v1::Workers& bounds = frozen.workers();
  if (given.count && DifferingKeys(frozen, given.without).empty()) {
    return absl::InvalidArgumentError(fmt::format(
        "--workers {} does not fit the run of {}: it began with workers.min {} and workers.max {}; "
        "give --workers from {} to {}, or use another --state directory",
        *given.count, journal, bounds.min(), bounds.max(), bounds.min(), bounds.max()));
  }
  if (std::all_of(keys.begin(), keys.end(), IsBound)) {
    const v1::Workers& file = given.count ? given.without.workers() : job.workers();
    return absl::InvalidArgumentError(fmt::format(
        "the run of {} began with workers.min {} and workers.max {}, by --workers or by another "
        "job file; the job file{} gives {} and {}; give --workers {}, or use another --state "
        "directory",
        journal, bounds.min(), bounds.max(),
        given.count ? fmt::format(" with --workers {}", *given.count) : "", job.workers().min(),
        job.workers().max(), FlagOf(bounds, file)));
  }
  return absl::InvalidArgumentError(fmt::format(
      "{} belongs to job {}, whose job file was another one: these keys differ: {}; use another "
      "--state directory, or the former job file",
      journal, frozen.id(), fmt::join(keys, ", ")));
}

}  // namespace rondo::server
