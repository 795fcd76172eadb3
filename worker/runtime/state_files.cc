#include "worker/runtime/state_files.h"

#include <fmt/format.h>

#include <map>
#include <string>

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

}  // namespace rondo::worker
