#include "worker/collectives/sparse/gather.h"

#include <numeric>
#include <vector>

#include "worker/collectives/sparse/regions.h"

namespace rondo {

absl::Status Rebalance(Communicator* group, const CallId& call, DeviceSpan<const SparseEntry> mine,
                       std::span<const int64_t> sizes, absl::Duration timeout,
                       SparseEntries* block) {
  const EvenBlocks blocks(sizes);
  const int rank = group->rank();
  block->resize(static_cast<size_t>(blocks.BlockSize(rank)));
  std::vector<ConstByteSpan> send;
  std::vector<ByteSpan> receive;
  int64_t out = 0;
  int64_t in = 0;
  for (int peer = 0; peer < group->size(); ++peer) {
    const int64_t to = blocks.Overlap(rank, peer);
    const int64_t from = blocks.Overlap(peer, rank);
    send.push_back(AsBytes(mine.Sub(out, to)));
    receive.push_back(AsWritableBytes(DeviceSpan<SparseEntry>(block->data() + in, from)));
    out += to;
    in += from;
  }
  return group->AllToAllV(call, send, receive, timeout);
}

absl::Status GatherEntries(Communicator* group, const CallId& call,
                           DeviceSpan<const SparseEntry> mine, std::span<const int64_t> sizes,
                           absl::Duration timeout, SparseEntries* all) {
  std::vector<int64_t> bytes;
  for (const int64_t size : sizes) bytes.push_back(size * int64_t{sizeof(SparseEntry)});
  const int64_t total = std::accumulate(sizes.begin(), sizes.end(), int64_t{0});
  all->resize(static_cast<size_t>(total));
  return group->AllGatherV(call, AsBytes(mine), bytes,
                           AsWritableBytes(DeviceSpan<SparseEntry>(all->data(), total)), timeout);
}

}  // namespace rondo
