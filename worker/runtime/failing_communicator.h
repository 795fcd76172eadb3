// For tests: a communicator one of whose calls brings its result to some members and not to others,
// as when a connection breaks under its last bytes.
#ifndef RONDO_WORKER_RUNTIME_FAILING_COMMUNICATOR_H_
#define RONDO_WORKER_RUNTIME_FAILING_COMMUNICATOR_H_

#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "worker/collectives/communicator.h"

namespace rondo::worker {

class FailingCommunicator final : public Communicator {
 public:
  // All members have one for the same `step` and `phase`. That all-reduce, or all-gather-v, fails
  // at those with `fails`, once the others have its result.
  FailingCommunicator(std::unique_ptr<Communicator> inner, int64_t step, rondo::Phase phase,
                      bool fails)
      : inner_(std::move(inner)), step_(step), phase_(phase), fails_(fails) {}

  int rank() const override { return inner_->rank(); }
  int size() const override { return inner_->size(); }
  absl::Status AllReduceSum(const CallId& call, DeviceSpan<float> data,
                            absl::Duration timeout) override {
    return Struck(call, inner_->AllReduceSum(call, data, timeout), timeout);
  }
  absl::Status AllReduceSum(const CallId& call, std::span<uint64_t> data,
                            absl::Duration timeout) override {
    return inner_->AllReduceSum(call, data, timeout);
  }
  absl::Status AllGather(const CallId& call, ConstByteSpan mine, ByteSpan all,
                         absl::Duration timeout) override {
    return inner_->AllGather(call, mine, all, timeout);
  }
  absl::Status AllGatherV(const CallId& call, ConstByteSpan mine, std::span<const int64_t> sizes,
                          ByteSpan all, absl::Duration timeout) override {
    return Struck(call, inner_->AllGatherV(call, mine, sizes, all, timeout), timeout);
  }
  absl::Status AllToAllV(const CallId& call, std::span<const ConstByteSpan> send,
                         std::span<const ByteSpan> receive, absl::Duration timeout) override {
    return inner_->AllToAllV(call, send, receive, timeout);
  }
  absl::Status Broadcast(const CallId& call, int root, ByteSpan data,
                         absl::Duration timeout) override {
    return inner_->Broadcast(call, root, data, timeout);
  }
  absl::Status Send(const CallId& call, int to, ConstByteSpan data,
                    absl::Duration timeout) override {
    return inner_->Send(call, to, data, timeout);
  }
  absl::Status Receive(const CallId& call, int from, ByteSpan data,
                       absl::Duration timeout) override {
    return inner_->Receive(call, from, data, timeout);
  }
  void Abort() override { inner_->Abort(); }
  TrafficCounters Counters() const override { return inner_->Counters(); }

 private:
  absl::Status Struck(const CallId& call, const absl::Status& done, absl::Duration timeout) {
    if (!done.ok() || call.attempt_or_step != step_ || call.phase != phase_) return done;
    uint64_t here = 1;
    const absl::Status met = inner_->AllReduceSum(
        {call.round, call.attempt_or_step, rondo::Phase::kFlags}, std::span(&here, 1), timeout);
    if (!fails_) return absl::OkStatus();
    return met.ok() ? absl::UnavailableError("the connection to rank 0 broke") : met;
  }

  const std::unique_ptr<Communicator> inner_;
  const int64_t step_;
  const rondo::Phase phase_;
  const bool fails_;
};

}  // namespace rondo::worker

#endif  // RONDO_WORKER_RUNTIME_FAILING_COMMUNICATOR_H_
