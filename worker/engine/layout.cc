#include "worker/engine/layout.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/sha256.h"

namespace rondo {
namespace {

void AppendLines(std::string_view prefix, const std::vector<LayoutEntry>& entries,
                 std::string* text) {
  for (const LayoutEntry& entry : entries)
    *text += fmt::format("{} [{}] {}\n", prefix, fmt::join(entry.shape, ","), entry.name);
}

}  // namespace

void Layout::Append(std::vector<LayoutEntry>* entries, std::string name,
                    std::vector<int64_t> shape) {
  int64_t size = 1;
  for (const int64_t extent : shape) size *= extent;
  const int64_t offset = Count(*entries);
  entries->push_back({std::move(name), std::move(shape), offset, size});
}

int64_t Layout::Count(const std::vector<LayoutEntry>& entries) {
  return entries.empty() ? 0 : entries.back().offset + entries.back().size;
}

std::string Layout::CanonicalText() const {
  std::string text;
  AppendLines("parameter float32", parameters, &text);
  AppendLines("buffer float32", float_buffers, &text);
  AppendLines("buffer int64", integer_buffers, &text);
  return text;
}

std::string Layout::Hash() const { return Sha256Hex(CanonicalText()); }

}  // namespace rondo
