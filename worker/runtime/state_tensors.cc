#include "worker/runtime/state_tensors.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "common/status_macros.h"
#include "worker/engine/engine.h"
#include "worker/engine/layout.h"
#include "worker/runtime/feedback_file.h"

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

void AppendMoments(MemberState* state, std::vector<SafetensorsTensor>* tensors) {
  int64_t number = 0;
  for (const DeviceSpan<float>& moment : state->optimizer().moments()) {
    tensors->push_back({.name = fmt::format("moment.{}", number++),
                        .type = SafetensorsType::kF32,
                        .shape = {moment.size},
                        .data = moment.data});
  }
}

absl::Status Misfit(const std::string& path, const std::string& what) {
  return absl::DataLossError(fmt::format("{} does not fit this model: {}", path, what));
}

bool HasResidual(StateFile file) {
  return file == StateFile::kLocal || file == StateFile::kPartial;
}

}  // namespace

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
      AppendMoments(state, &tensors);
      break;
    case StateFile::kPartial:
      for (const StateFile part : {StateFile::kParameters, StateFile::kBuffers}) {
        for (SafetensorsTensor& tensor : TensorsOf(part, state)) {
          tensor.name = "state." + tensor.name;
          tensors.push_back(std::move(tensor));
        }
      }
      AppendMoments(state, &tensors);
      break;
  }
  return tensors;
}

absl::Status WriteTensors(const std::string& path, StateFile file,
                          std::map<std::string, std::string> metadata, MemberState* state) {
  std::vector<SafetensorsTensor> tensors = TensorsOf(file, state);
  if (!HasResidual(file)) return WriteSafetensors(path, tensors, metadata);
  const FeedbackTensors feedback(&state->feedback());
  feedback.AddTo(&tensors, &metadata);
  return WriteSafetensors(path, tensors, metadata);
}

absl::StatusOr<SafetensorsHeader> ReadTensors(const std::string& path, StateFile file,
                                              MemberState* state) {
  ASSIGN_OR_RETURN(SafetensorsHeader header, ReadSafetensorsHeader(path));
  const std::vector<SafetensorsTensor> wanted = TensorsOf(file, state);
  size_t found = header.entries.size();
  if (HasResidual(file)) {
    found -= static_cast<size_t>(
        std::count_if(header.entries.begin(), header.entries.end(), IsFeedbackTensor));
    RETURN_IF_ERROR(ReadFeedback(path, header, &state->feedback()));
  }
  if (found != wanted.size()) {
    return Misfit(path, fmt::format("it has {} tensors, expected are {}", found, wanted.size()));
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

}  // namespace rondo::worker
