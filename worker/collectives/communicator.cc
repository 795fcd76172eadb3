#include "worker/collectives/communicator.h"

#include <fmt/format.h>

#include "common/status_macros.h"

namespace rondo {

std::string_view PhaseName(Phase phase) {
  switch (phase) {
    case Phase::kState:
      return "state";
    case Phase::kGradients:
      return "gradients";
    case Phase::kParameters:
      return "parameters";
    case Phase::kBuffers:
      return "buffers";
    case Phase::kOptimizer:
      return "optimizer";
    case Phase::kFlags:
      return "flags";
    case Phase::kSparseSelection:
      return "sparse selection";
    case Phase::kSparseSplit:
      return "sparse split";
    case Phase::kSparseThreshold:
      return "sparse threshold";
    case Phase::kSparseBalance:
      return "sparse balance";
    case Phase::kSparseGather:
      return "sparse gather";
  }
  return "unknown phase";
}

absl::Status AllReduceSum(Communicator& group, const CallId& call, std::span<int64_t> data,
                          absl::Duration timeout) {
  const std::span<uint64_t> bits(reinterpret_cast<uint64_t*>(data.data()), data.size());
  return group.AllReduceSum(call, bits, timeout);
}

absl::StatusOr<std::vector<int64_t>> ExchangeSizes(Communicator& group, const CallId& call,
                                                   std::span<const int64_t> to_each,
                                                   absl::Duration timeout) {
  const int ranks = group.size();
  if (static_cast<int64_t>(to_each.size()) != ranks) {
    return absl::InvalidArgumentError(
        fmt::format("ExchangeSizes got {} sizes for a group of {}; give one for each rank",
                    to_each.size(), ranks));
  }
  std::vector<int64_t> from_each(to_each.size());
  std::vector<ConstByteSpan> send;
  std::vector<ByteSpan> receive;
  for (int i = 0; i < ranks; ++i) {
    send.push_back(AsBytes(DeviceSpan<const int64_t>(&to_each[i], 1)));
    receive.push_back(AsWritableBytes(DeviceSpan<int64_t>(&from_each[i], 1)));
  }
  RETURN_IF_ERROR(group.AllToAllV(call, send, receive, timeout));
  return from_each;
}

}  // namespace rondo
