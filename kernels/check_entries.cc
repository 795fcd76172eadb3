#include "kernels/check_entries.h"

#include <fmt/format.h>

namespace rondo {

absl::Status CheckEntries(std::string_view kernel, std::string_view name,
                          DeviceSpan<const SparseEntry> entries) {
  if (entries.size < 0) {
    return absl::InvalidArgumentError(
        fmt::format("{}: `{}` has size {}; sizes start at 0", kernel, name, entries.size));
  }
  if (entries.size > 0 && entries.data == nullptr) {
    return absl::InvalidArgumentError(
        fmt::format("{}: `{}` has {} entries at a null pointer", kernel, name, entries.size));
  }
  return absl::OkStatus();
}

absl::Status CheckDenseSize(std::string_view kernel, int64_t size) {
  if (size <= kSparseSizeMax) return absl::OkStatus();
  return absl::InvalidArgumentError(
      fmt::format("{}: a vector of {} elements; sparse indices have 32 bits, so at most {} are "
                  "allowed: use the dense ring",
                  kernel, size, kSparseSizeMax));
}

}  // namespace rondo
