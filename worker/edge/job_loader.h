// Opens a job's files under the --files folder and builds its model.
#ifndef RONDO_WORKER_EDGE_JOB_LOADER_H_
#define RONDO_WORKER_EDGE_JOB_LOADER_H_

#include <string>
#include <variant>

#include "absl/status/statusor.h"
#include "worker/core/actions.h"
#include "worker/core/messages.h"
#include "worker/runtime/parts.h"
#include "worker/runtime/train_spec.h"

namespace rondo::worker {

struct LoaderOptions {
  std::string files_dir = ".";
  int threads = 1;  // Of the math library.
};

// A problem names the file, what is wrong with it and what was expected: a missing file, one whose
// size or hash is not that of `prepare.files`, one that cannot be read, a model that does not fit
// the data or its init file. Cost: reads every file once to hash it (above 1 GiB a sample).
std::variant<LoadedJob, PrepareProblem> LoadJob(const TrainSpec& spec, const LoaderOptions& options,
                                                const Prepare& prepare);

}  // namespace rondo::worker

#endif  // RONDO_WORKER_EDGE_JOB_LOADER_H_
