#include "worker/runtime/state_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>

#include "absl/strings/numbers.h"
#include "common/safetensors.h"
#include "common/status_macros.h"

namespace rondo::worker {
namespace {

template <typename T>
void AppendAll(const std::vector<LayoutEntry>& entries, const T* data, SafetensorsType type,
               std::vector<SafetensorsTensor>* tensors) {
  for (const LayoutEntry& entry : entries) {
    tensors->push_back(
        {.name = entry.name, .type = type, .shape = entry.shape, .data = data + entry.offset});
  }
}

std::vector<SafetensorsTensor> TensorsOf(StateFile file, MemberState* state) {
  Engine& engine = state->engine();
  const Layout& layout = engine.layout();
  std::vector<SafetensorsTensor> tensors;
  switch (file) {
    case StateFile::kParameters:
      AppendAll(layout.parameters, engine.parameters().data, SafetensorsType::kF32, &tensors);
      break;
    case StateFile::kBuffers:
      AppendAll(layout.float_buffers, engine.float_buffers().data, SafetensorsType::kF32, &tensors);
      AppendAll(layout.integer_buffers, engine.integer_buffers().data(), SafetensorsType::kI64,
                &tensors);
      break;
    case StateFile::kLocal:
      for (const DeviceSpan<float>& moment : state->optimizer().moments()) {
        tensors.push_back({.name = fmt::format("moment.{}", tensors.size()),
                           .type = SafetensorsType::kF32,
                           .shape = {moment.size},
                           .data = moment.data});
      }
      break;
  }
  return tensors;
}

absl::Status Misfit(const std::string& path, const std::string& what) {
  return absl::DataLossError(fmt::format("{} does not fit this model: {}", path, what));
}

// Fills the memory of TensorsOf from the file at `path`, which must hold these tensors and no
// other.
absl::StatusOr<SafetensorsHeader> ReadInto(const std::string& path, StateFile file,
                                           MemberState* state) {
  ASSIGN_OR_RETURN(const SafetensorsHeader header, ReadSafetensorsHeader(path));
  const std::vector<SafetensorsTensor> wanted = TensorsOf(file, state);
  if (header.entries.size() != wanted.size()) {
    return Misfit(path, fmt::format("it has {} tensors, expected are {}", header.entries.size(),
                                    wanted.size()));
  }
  for (const SafetensorsTensor& tensor : wanted) {
    const auto entry = std::find_if(header.entries.begin(), header.entries.end(),
                                    [&](const auto& e) { return e.name == tensor.name; });
    if (entry == header.entries.end() || entry->shape != tensor.shape ||
        entry->dtype != SafetensorsTypeName(tensor.type)) {
      return Misfit(
          path, fmt::format("its tensor '{}' is missing or of another shape or type", tensor.name));
    }
    // TensorsOf points at the state's own memory, which is not const.
    RETURN_IF_ERROR(
        ReadSafetensorsData(path, header, *entry, tensor.type, const_cast<void*>(tensor.data)));
  }
  return header;
}

// Moments and step count of this worker's own file; zero when the checkpoint has none.
absl::Status LoadLocal(uint64_t step, StateSource* source, const std::function<bool()>& stop,
                       MemberState* state) {
  state->optimizer().Reset();
  const absl::StatusOr<std::string> path = source->Get(step, StateFile::kLocal, stop);
  if (absl::IsNotFound(path.status())) return absl::OkStatus();
  RETURN_IF_ERROR(path.status());
  ASSIGN_OR_RETURN(const SafetensorsHeader header, ReadInto(*path, StateFile::kLocal, state));
  const auto count = header.metadata.find("step_count");
  int64_t steps = 0;
  if (count == header.metadata.end() || !absl::SimpleAtoi(count->second, &steps) || steps < 0) {
    return Misfit(*path, "its metadata has no step_count");
  }
  state->optimizer().set_step_count(steps);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<SavedFile>> SaveStateFiles(const SaveNow& what, StateSink* sink,
                                                      MemberState* state) {
  std::vector<SavedFile> saved;
  for (const StateFile file : what.files) {
    std::map<std::string, std::string> metadata{{"round", fmt::format("{}", what.round)},
                                                {"step", fmt::format("{}", what.step)}};
    if (file == StateFile::kLocal) {
      metadata["step_count"] = fmt::format("{}", state->optimizer().step_count());
    }
    const std::string path = sink->TemporaryPath(file);
    RETURN_IF_ERROR(WriteSafetensors(path, TensorsOf(file, state), metadata));
    ASSIGN_OR_RETURN(SavedFile done, sink->Put(what.step, file, path));
    saved.push_back(std::move(done));
  }
  return saved;
}

absl::Status LoadStateFiles(uint64_t step, StateSource* source, const std::function<bool()>& stop,
                            MemberState* state) {
  state->ForgetBase();
  for (const StateFile file : {StateFile::kParameters, StateFile::kBuffers}) {
    ASSIGN_OR_RETURN(const std::string path, source->Get(step, file, stop));
    RETURN_IF_ERROR(ReadInto(path, file, state).status());
  }
  return LoadLocal(step, source, stop, state);
}

}  // namespace rondo::worker
