#include "worker/collectives/sparse/split_reduce.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "common/status_macros.h"
#include "kernels/merge.h"

namespace rondo {
namespace {

// The pieces on both sides, by rank.
struct Pieces {
  std::vector<ConstByteSpan> send;
  std::vector<ByteSpan> receive;
};

Pieces Place(const SplitInput& input, SparseEntries* received) {
  Pieces pieces;
  int64_t out = 0;
  int64_t in = 0;
  for (size_t rank = 0; rank < input.to_each.size(); ++rank) {
    pieces.send.push_back(AsBytes(input.entries.Sub(out, input.to_each[rank])));
    const DeviceSpan<SparseEntry> place(received->data() + in, input.from_each[rank]);
    pieces.receive.push_back(AsWritableBytes(place));
    out += input.to_each[rank];
    in += input.from_each[rank];
  }
  return pieces;
}

// One call for ranks me+first ... me+last, and the own piece with the first.
absl::Status ExchangeSome(Communicator* group, const CallId& call, const Pieces& all, int first,
                          int last, absl::Duration timeout) {
  const int ranks = group->size();
  Pieces some{std::vector<ConstByteSpan>(ranks), std::vector<ByteSpan>(ranks)};
  for (int offset = first; offset <= last; ++offset) {
    const int to = (group->rank() + offset) % ranks;
    const int from = (group->rank() + ranks - offset) % ranks;
    some.send[to] = all.send[to];
    some.receive[from] = all.receive[from];
  }
  return group->AllToAllV(call, some.send, some.receive, timeout);
}

}  // namespace

absl::StatusOr<int64_t> SplitReduce(Communicator* group, const CallId& call,
                                    const SplitInput& input, absl::Duration timeout,
                                    SplitMemory* memory) {
  const int64_t total = std::accumulate(input.from_each.begin(), input.from_each.end(), int64_t{0});
  memory->pieces.resize(static_cast<size_t>(total));
  memory->scratch.resize(static_cast<size_t>(total));
  const Pieces pieces = Place(input, &memory->pieces);
  const int ranks = group->size();
  const int window = input.window > 0 ? input.window : ranks;
  for (int first = 0; first < ranks; first += window) {
    const int last = std::min(first + window, ranks) - 1;
    RETURN_IF_ERROR(ExchangeSome(group, call, pieces, first, last, timeout));
  }
  return MergeEntries({.entries = {memory->pieces.data(), total},
                       .scratch = {memory->scratch.data(), total},
                       .first_index = input.region_begin,
                       .end_index = input.region_end});
}

}  // namespace rondo
