#include "worker/runtime/state_files.h"

#include <fmt/format.h>

#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "common/safetensors.h"
#include "common/status_macros.h"
#include "worker/runtime/error_feedback.h"
#include "worker/runtime/state_tensors.h"

namespace rondo::worker {
namespace {

// Moments, step count and residual of this worker's own file; zero when the checkpoint has none.
absl::Status LoadLocal(uint64_t step, StateSource* source, const StopCheck& stop,
                       MemberState* state) {
  state->optimizer().Reset();
  state->feedback().Forget();
  const absl::StatusOr<std::string> path = source->Get(step, StateFile::kLocal, stop);
  if (absl::IsNotFound(path.status())) return absl::OkStatus();
  RETURN_IF_ERROR(path.status());
  ASSIGN_OR_RETURN(const SafetensorsHeader header, ReadTensors(*path, StateFile::kLocal, state));
  const auto count = header.metadata.find("step_count");
  int64_t steps = 0;
  if (count == header.metadata.end() || !absl::SimpleAtoi(count->second, &steps) || steps < 0) {
    return absl::DataLossError(fmt::format("the metadata of {} has no step_count", *path));
  }
  state->optimizer().set_step_count(steps);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<SavedFile>> SaveStateFiles(const SaveNow& what, StateSink* sink,
                                                      const StopCheck& stop, MemberState* state) {
  std::vector<SavedFile> saved;
  for (const StateFile file : what.files) {
    std::map<std::string, std::string> metadata{{"round", fmt::format("{}", what.round)},
                                                {"step", fmt::format("{}", what.step)}};
    if (file == StateFile::kLocal) {
      metadata["step_count"] = fmt::format("{}", state->optimizer().step_count());
    }
    const std::string path = sink->TemporaryPath(file);
    RETURN_IF_ERROR(WriteTensors(path, file, metadata, state));
    ASSIGN_OR_RETURN(SavedFile done, sink->Put(what.step, file, path, stop));
    saved.push_back(std::move(done));
  }
  return saved;
}

absl::Status LoadValues(uint64_t step, StateSource* source, const StopCheck& stop,
                        MemberState* state) {
  state->ForgetBase();
  for (const StateFile file : {StateFile::kParameters, StateFile::kBuffers}) {
    ASSIGN_OR_RETURN(const std::string path, source->Get(step, file, stop));
    RETURN_IF_ERROR(ReadTensors(path, file, state).status());
  }
  return absl::OkStatus();
}

absl::Status LoadStateFiles(uint64_t step, StateSource* source, const StopCheck& stop,
                            MemberState* state) {
  RETURN_IF_ERROR(LoadValues(step, source, stop, state));
  return LoadLocal(step, source, stop, state);
}

}  // namespace rondo::worker
