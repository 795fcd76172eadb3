#include "worker/engine/state_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "common/safetensors.h"
#include "common/status_macros.h"

namespace rondo {
namespace {

constexpr size_t kProblemsShown = 10;

// A tensor of the layout and its memory.
struct Slot {
  const LayoutEntry* entry;
  SafetensorsType type;
  void* data;
  bool required;
};

std::vector<Slot> Slots(const Layout& layout, const StateSpans& state) {
  std::vector<Slot> slots;
  for (const LayoutEntry& entry : layout.parameters)
    slots.push_back({&entry, SafetensorsType::kF32, state.parameters.data() + entry.offset, true});
  for (const LayoutEntry& entry : layout.float_buffers)
    slots.push_back(
        {&entry, SafetensorsType::kF32, state.float_buffers.data() + entry.offset, false});
  for (const LayoutEntry& entry : layout.integer_buffers)
    slots.push_back(
        {&entry, SafetensorsType::kI64, state.integer_buffers.data() + entry.offset, false});
  return slots;
}

std::string Shape(const std::vector<int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

}  // namespace

absl::Status SaveState(const std::string& path, const Layout& layout, const StateSpans& state,
                       const std::map<std::string, std::string>& metadata) {
  std::vector<SafetensorsTensor> tensors;
  for (const Slot& slot : Slots(layout, state))
    tensors.push_back({slot.entry->name, slot.type, slot.entry->shape, slot.data});
  return WriteSafetensors(path, tensors, metadata);
}

absl::Status LoadState(const std::string& path, const Layout& layout, const StateSpans& state) {
  ASSIGN_OR_RETURN(const SafetensorsHeader header, ReadSafetensorsHeader(path));
  std::map<std::string, const SafetensorsEntry*> in_file;
  for (const SafetensorsEntry& entry : header.entries) in_file[entry.name] = &entry;
  std::vector<std::string> problems;
  std::vector<std::pair<Slot, const SafetensorsEntry*>> to_read;
  for (const Slot& slot : Slots(layout, state)) {
    const LayoutEntry& wanted = *slot.entry;
    const auto found = in_file.find(wanted.name);
    if (found == in_file.end()) {
      if (slot.required) problems.push_back(fmt::format("'{}' is missing", wanted.name));
      continue;
    }
    const SafetensorsEntry& entry = *found->second;
    if (entry.shape != wanted.shape)
      problems.push_back(fmt::format("'{}' has shape {}, the model has {}", wanted.name,
                                     Shape(entry.shape), Shape(wanted.shape)));
    else if (entry.dtype != SafetensorsTypeName(slot.type))
      problems.push_back(fmt::format("'{}' is {}, expected {}", wanted.name, entry.dtype,
                                     SafetensorsTypeName(slot.type)));
    to_read.emplace_back(slot, &entry);
    in_file.erase(found);
  }
  for (const auto& [name, entry] : in_file)
    problems.push_back(fmt::format("the model has no '{}'", name));
  if (!problems.empty()) {
    const size_t more = problems.size() - std::min(problems.size(), kProblemsShown);
    problems.resize(problems.size() - more);
    return absl::InvalidArgumentError(
        fmt::format("{} does not fit the model: {}{}", path, fmt::join(problems, "; "),
                    more == 0 ? "" : fmt::format("; and {} more", more)));
  }
  for (const auto& [slot, entry] : to_read)
    RETURN_IF_ERROR(ReadSafetensorsData(path, header, *entry, slot.type, slot.data));
  return absl::OkStatus();
}

}  // namespace rondo
