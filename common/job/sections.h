// The sections of the job file, one function each: from YAML to the message, defaults filled in,
// checks within the section made. `root` is the whole file.
#ifndef RONDO_COMMON_JOB_SECTIONS_H_
#define RONDO_COMMON_JOB_SECTIONS_H_

#include <fmt/format.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include "common/job/limits.h"
#include "common/job/section.h"
#include "proto/rondo/v1/job.pb.h"

namespace rondo {

// job_file.cc.
void ReadModel(Section& root, ReadLog* log, v1::Model* model);
void ReadData(Section& root, ReadLog* log, v1::Data* data);
void ReadBatch(Section& root, ReadLog* log, v1::Batch* batch);
// job_training.cc.
void ReadOptimizer(Section& root, ReadLog* log, v1::Optimizer* optimizer);
void ReadSchedule(Section& root, ReadLog* log, v1::Schedule* schedule);
void ReadSync(Section& root, ReadLog* log, v1::Sync* sync);
// job_running.cc. Workers' default maximum depends on the batch, evaluation on the data.
void ReadCollective(Section& root, ReadLog* log, v1::Collective* collective);
void ReadState(Section& root, ReadLog* log, v1::Job* job);
// `given`: of --workers.
void ReadWorkers(Section& root, ReadLog* log, std::optional<int64_t> given, v1::Job* job);
void ReadCheckpoint(Section& root, ReadLog* log, v1::Checkpoint* checkpoint);
void ReadEvaluate(Section& root, ReadLog* log, v1::Job* job);
void ReadLimits(Section& root, ReadLog* log, v1::Limits* limits);

// The value of a key that only some kinds use. One that is given where it is not used is an error,
// unless it says what holds anyway (its default).
template <typename T>
T ValueIfUsed(Section& section, std::string_view key, const std::optional<T>& value, T fallback,
              bool used, std::string_view kind) {
  if (!value) return fallback;
  if (!used && *value != fallback) {
    section.Fail(key, fmt::format("is not used by {}: remove it", kind));
  }
  return used ? *value : fallback;
}

}  // namespace rondo

#endif  // RONDO_COMMON_JOB_SECTIONS_H_
