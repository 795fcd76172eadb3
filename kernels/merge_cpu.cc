#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>

#include "common/status_macros.h"
#include "kernels/check_entries.h"
#include "kernels/cuda_twins.h"
#include "kernels/merge.h"
#include "kernels/span.h"
#include "kernels/sparse_entry.h"

namespace rondo {
namespace {

constexpr int kDigitBits = 11;
constexpr uint32_t kDigitMask = (1u << kDigitBits) - 1;
constexpr int kDigitsMax = 3;  // of 32 bits

// How often each value of each digit comes, and the largest index less the first.
struct DigitCounts {
  uint32_t counts[kDigitsMax][kDigitMask + 1] = {};
  uint32_t largest = 0;
  bool ascending = true;
};

absl::Status Check(const MergeArguments& a) {
  RETURN_IF_ERROR(CheckEntries("merge", "entries", a.entries));
  RETURN_IF_ERROR(CheckEntries("merge", "scratch", a.scratch));
  if (a.scratch.size < a.entries.size) {
    return absl::InvalidArgumentError(fmt::format("merge: scratch for {} entries; {} are needed",
                                                  a.scratch.size, a.entries.size));
  }
  if (a.entries.size >= int64_t{1} << 32) {
    return absl::InvalidArgumentError(
        fmt::format("merge: {} entries; fewer than 2^32 are allowed", a.entries.size));
  }
  if (a.first_index < 0 || a.end_index < a.first_index || a.end_index > kSparseSizeMax) {
    return absl::InvalidArgumentError(
        fmt::format("merge: indices in [{}, {}); they must be in order and within [0, {})",
                    a.first_index, a.end_index, kSparseSizeMax));
  }
  return absl::OkStatus();
}

void Count(DeviceSpan<const SparseEntry> entries, uint32_t first, int digits, DigitCounts* counts) {
  uint32_t before = 0;
  for (int64_t i = 0; i < entries.size; ++i) {
    const uint32_t offset = entries.data[i].index - first;
    counts->ascending &= i == 0 || offset > before;
    counts->largest = std::max(counts->largest, offset);
    before = offset;
    for (int digit = 0; digit < digits; ++digit) {
      ++counts->counts[digit][(offset >> (digit * kDigitBits)) & kDigitMask];
    }
  }
}

// Moves `from` to `to` in the order of one digit; entries that have it in common keep theirs.
void Scatter(DeviceSpan<const SparseEntry> from, uint32_t first, int digit, uint32_t* counts,
             SparseEntry* to) {
  uint32_t begin = 0;
  for (uint32_t value = 0; value <= kDigitMask; ++value) {
    begin += std::exchange(counts[value], begin);
  }
  for (int64_t i = 0; i < from.size; ++i) {
    const SparseEntry entry = from.data[i];
    to[counts[((entry.index - first) >> (digit * kDigitBits)) & kDigitMask]++] = entry;
  }
}

// `sorted` may be `out`.
int64_t SumRuns(const SparseEntry* sorted, int64_t size, SparseEntry* out) {
  int64_t count = 0;
  for (int64_t i = 0; i < size;) {
    SparseEntry sum = sorted[i];
    for (++i; i < size && sorted[i].index == sum.index; ++i) sum.value += sorted[i].value;
    out[count] = sum;
    count += sum.value != 0;
  }
  return count;
}

}  // namespace

absl::StatusOr<int64_t> MergeEntries(const MergeArguments& arguments) {
  RETURN_IF_ERROR(Check(arguments));
  if (arguments.entries.device.kind == DeviceKind::kCuda) return MergeEntriesCuda(arguments);
  const DeviceSpan<SparseEntry> entries = arguments.entries;
  const uint64_t range = static_cast<uint64_t>(arguments.end_index - arguments.first_index);
  const uint32_t first = static_cast<uint32_t>(arguments.first_index);
  const int bits = range == 0 ? 0 : std::bit_width(range - 1);
  const int digits = (bits + kDigitBits - 1) / kDigitBits;
  DigitCounts counts;
  Count(entries, first, digits, &counts);
  if (entries.size > 0 && counts.largest >= range) {
    return absl::InvalidArgumentError(fmt::format("merge: an index lies outside [{}, {}): index {}",
                                                  arguments.first_index, arguments.end_index,
                                                  static_cast<uint32_t>(first + counts.largest)));
  }
  SparseEntry* from = entries.data;
  SparseEntry* to = arguments.scratch.data;
  for (int digit = 0; digit < digits && !counts.ascending; ++digit) {
    Scatter({from, entries.size}, first, digit, counts.counts[digit], to);
    std::swap(from, to);
  }
  return SumRuns(from, entries.size, entries.data);
}

}  // namespace rondo
