// The training loop: all steps of one order.
#ifndef RONDO_WORKER_RUNTIME_ORDER_LOOP_H_
#define RONDO_WORKER_RUNTIME_ORDER_LOOP_H_

#include <functional>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "kernels/span.h"
#include "worker/collectives/communicator.h"
#include "worker/core/messages.h"
#include "worker/core/permutation.h"
#include "worker/core/sampler.h"
#include "worker/data/batch.h"
#include "worker/data/dataset.h"
#include "worker/runtime/costs.h"
#include "worker/runtime/gradient_reducer.h"
#include "worker/runtime/loop_gauges.h"
#include "worker/runtime/member_state.h"
#include "worker/runtime/partial.h"

namespace rondo::worker {

// Everything is borrowed.
struct LoopParts {
  MemberState* state = nullptr;
  const Dataset* train = nullptr;
  EpochOrders* epochs = nullptr;
  GradientReducer* gradients = nullptr;
  GradientReducer* buffers = nullptr;
  Communicator* group = nullptr;  // Parallel mode only.
  absl::Duration collective_limit;
  Clock* clock = nullptr;
  LoopGauges* gauges = nullptr;
  std::function<bool()> dropped;  // Asked before each step: is the order dropped?
  // Where the round goes on after a restart; `state` is as it was then. Null: at its first step.
  const Partial* resume = nullptr;
  uint64_t partial_every = 0;  // Steps; 0: no partials.
  std::function<void(const Partial&)> save_partial = {};
};

// The order was dropped while it ran.
struct Dropped {};

class OrderLoop {
 public:
  OrderLoop(const Order& order, const LoopParts& parts);

  // Runs the order from its first step, or from `resume`. Local mode: each step moves this member's
  // parameters. Parallel mode: gradients are reduced, all members step alike, and at the end the
  // buffers' mean is staged. Failed: the working state is that before failed.step. Threads: the
  // engine's.
  std::variant<Ready, Failed, Dropped> Run();

 private:
  void ReportCosts(const CostMeter& meter);
  absl::Status Resume(const Partial& partial, uint64_t* index);
  void SavePartialIfDue(uint64_t next_step);
  absl::Status Step(uint64_t index);
  absl::Status ReduceAndStep(uint64_t step, double rate, bool finite);
  absl::Status StageBuffers();
  absl::Status FinishLocal();
  absl::Status FinishParallel();
  Failed Fail(uint64_t step, const absl::Status& status) const;

  const Order& order_;
  const LoopParts& parts_;
  const float factor_;  // Of this member's gradients: w*P/W.
  Ready ready_;
  absl::StatusOr<Sampler> sampler_;
  Batch batch_;
  absl::Duration reduce_time_;
};

}  // namespace rondo::worker

#endif  // RONDO_WORKER_RUNTIME_ORDER_LOOP_H_
