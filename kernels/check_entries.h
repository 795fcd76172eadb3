// What kernels over lists of entries ask of their arguments before they touch memory.
#ifndef RONDO_KERNELS_CHECK_ENTRIES_H_
#define RONDO_KERNELS_CHECK_ENTRIES_H_

#include <string_view>

#include "absl/status/status.h"
#include "kernels/span.h"
#include "kernels/sparse_entry.h"

namespace rondo {

// InvalidArgument unless `entries` has a size that isn't negative and points somewhere when that
// isn't 0.
absl::Status CheckEntries(std::string_view kernel, std::string_view name,
                          DeviceSpan<const SparseEntry> entries);

// InvalidArgument unless a dense vector of `size` elements can be indexed by entries.
absl::Status CheckDenseSize(std::string_view kernel, int64_t size);

}  // namespace rondo

#endif  // RONDO_KERNELS_CHECK_ENTRIES_H_
