#include "worker/collectives/group_of_one.h"

#include <atomic>
#include <cstring>

#include "worker/collectives/call_checks.h"

namespace rondo {
namespace {

// `to` may be `from`.
void Copy(ConstByteSpan from, ByteSpan to) {
  if (from.size > 0 && from.data != to.data) std::memmove(to.data, from.data, from.size);
}

class GroupOfOne final : public Communicator {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }

  absl::Status AllReduceSum(const CallId&, DeviceSpan<float>, absl::Duration timeout) override {
    return Begin(CheckTimeout(timeout));
  }
  absl::Status AllReduceSum(const CallId&, std::span<uint64_t>, absl::Duration timeout) override {
    return Begin(CheckTimeout(timeout));
  }

  absl::Status AllGather(const CallId& call, ConstByteSpan mine, ByteSpan all,
                         absl::Duration timeout) override {
    const int64_t sizes[] = {mine.size};
    return AllGatherV(call, mine, sizes, all, timeout);
  }

  absl::Status AllGatherV(const CallId&, ConstByteSpan mine, std::span<const int64_t> sizes,
                          ByteSpan all, absl::Duration timeout) override {
    absl::Status status = CheckTimeout(timeout);
    status.Update(CheckGatherSizes(sizes, 1, 0, mine.size, all.size));
    status = Begin(status);
    if (status.ok()) Copy(mine, all);
    return status;
  }

  absl::Status AllToAllV(const CallId&, std::span<const ConstByteSpan> send,
                         std::span<const ByteSpan> receive, absl::Duration timeout) override {
    absl::Status status = CheckTimeout(timeout);
    status.Update(CheckAllToAll(send, receive, 1, 0));
    status = Begin(status);
    if (status.ok()) Copy(send[0], receive[0]);
    return status;
  }

  absl::Status Broadcast(const CallId&, int root, ByteSpan, absl::Duration timeout) override {
    absl::Status status = CheckTimeout(timeout);
    status.Update(CheckPeer("root", root, 1));
    return Begin(status);
  }

  absl::Status Send(const CallId&, int to, ConstByteSpan, absl::Duration) override {
    return Begin(CheckPeer("receiver", to, 1, 0));
  }
  absl::Status Receive(const CallId&, int from, ByteSpan, absl::Duration) override {
    return Begin(CheckPeer("sender", from, 1, 0));
  }

  void Abort() override { broken_ = true; }
  TrafficCounters Counters() const override { return {}; }

 private:
  absl::Status Begin(absl::Status arguments) {
    if (broken_) {
      return absl::FailedPreconditionError(
          "this group is broken by an earlier error or abort; wait for the next group");
    }
    if (!arguments.ok()) broken_ = true;
    return arguments;
  }

  std::atomic<bool> broken_ = false;
};

}  // namespace

std::unique_ptr<Communicator> MakeGroupOfOne() { return std::make_unique<GroupOfOne>(); }

}  // namespace rondo
