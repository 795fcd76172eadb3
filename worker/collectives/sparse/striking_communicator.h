// For tests: a member that fails at a chosen call of its group.
#ifndef RONDO_WORKER_COLLECTIVES_SPARSE_STRIKING_COMMUNICATOR_H_
#define RONDO_WORKER_COLLECTIVES_SPARSE_STRIKING_COMMUNICATOR_H_

#include <cstddef>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "kernels/span.h"
#include "worker/collectives/communicator.h"

namespace rondo {

enum class Strike {
  kNone,    // only counts calls
  kDie,     // its connections close
  kFreeze,  // it makes no call until `thaw` returns, then dies
  kShorten  // sends less than was agreed
};

// Passes calls on, up to the one numbered `at` from 0. Threads: as the communicator's.
class StrikingCommunicator final : public Communicator {
 public:
  StrikingCommunicator(Communicator& group, Strike strike, int at, std::function<void()> thaw)
      : group_(group), strike_(strike), at_(at), thaw_(std::move(thaw)) {}

  // Of the calls made so far.
  const std::vector<Phase>& phases() const { return phases_; }

  int rank() const override { return group_.rank(); }
  int size() const override { return group_.size(); }
  void Abort() override { group_.Abort(); }
  TrafficCounters Counters() const override { return group_.Counters(); }

  absl::Status AllReduceSum(const CallId& call, DeviceSpan<float> data,
                            absl::Duration timeout) override {
    if (Struck(call) && !Shortens()) return Fall();
    return group_.AllReduceSum(call, data.Sub(0, data.size - Less(data.size)), timeout);
  }
  absl::Status AllReduceSum(const CallId& call, std::span<uint64_t> data,
                            absl::Duration timeout) override {
    if (Struck(call) && !Shortens()) return Fall();
    const auto size = static_cast<int64_t>(data.size());
    return group_.AllReduceSum(call, data.first(static_cast<size_t>(size - Less(size))), timeout);
  }
  absl::Status AllGather(const CallId& call, ConstByteSpan mine, ByteSpan all,
                         absl::Duration timeout) override {
    if (Struck(call) && !Shortens()) return Fall();
    const int64_t less = Less(mine.size);
    return group_.AllGather(call, mine.Sub(0, mine.size - less),
                            all.Sub(0, all.size - less * group_.size()), timeout);
  }
  absl::Status AllGatherV(const CallId& call, ConstByteSpan mine, std::span<const int64_t> sizes,
                          ByteSpan all, absl::Duration timeout) override {
    if (Struck(call) && !Shortens()) return Fall();
    std::vector<int64_t> changed(sizes.begin(), sizes.end());
    const int64_t less = Less(mine.size);
    changed[static_cast<size_t>(rank())] -= less;
    return group_.AllGatherV(call, mine.Sub(0, mine.size - less), changed,
                             all.Sub(0, all.size - less), timeout);
  }
  absl::Status AllToAllV(const CallId& call, std::span<const ConstByteSpan> send,
                         std::span<const ByteSpan> receive, absl::Duration timeout) override {
    if (Struck(call) && !Shortens()) return Fall();
    std::vector<ConstByteSpan> changed(send.begin(), send.end());
    for (int to = 0; to < size(); ++to) {
      const auto at = static_cast<size_t>(to);
      if (to != rank()) changed[at] = changed[at].Sub(0, changed[at].size - Less(changed[at].size));
    }
    return group_.AllToAllV(call, changed, receive, timeout);
  }
  absl::Status Broadcast(const CallId& call, int root, ByteSpan data,
                         absl::Duration timeout) override {
    return group_.Broadcast(call, root, data, timeout);
  }
  absl::Status Send(const CallId& call, int to, ConstByteSpan data,
                    absl::Duration timeout) override {
    return group_.Send(call, to, data, timeout);
  }
  absl::Status Receive(const CallId& call, int from, ByteSpan data,
                       absl::Duration timeout) override {
    return group_.Receive(call, from, data, timeout);
  }

 private:
  // Counts a call; true for the one to strike at.
  bool Struck(const CallId& call) {
    phases_.push_back(call.phase);
    const int number = static_cast<int>(phases_.size()) - 1;
    struck_ = strike_ != Strike::kNone && number == at_;
    return struck_;
  }
  bool Shortens() const { return strike_ == Strike::kShorten; }
  int64_t Less(int64_t size) const { return struck_ && size > 0 ? 1 : 0; }
  absl::Status Fall() {
    if (strike_ == Strike::kFreeze) thaw_();
    group_.Abort();
    return absl::AbortedError("struck");
  }

  Communicator& group_;
  const Strike strike_;
  const int at_;
  const std::function<void()> thaw_;
  bool struck_ = false;
  std::vector<Phase> phases_;
};

}  // namespace rondo

#endif  // RONDO_WORKER_COLLECTIVES_SPARSE_STRIKING_COMMUNICATOR_H_
