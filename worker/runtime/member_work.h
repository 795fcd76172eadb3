// A worker's work, one command at a time: load, form groups, train, reduce, apply, evaluate, save.
// Threads: one, the trainer's; Interrupts end a blocked call from outside.
#ifndef RONDO_WORKER_RUNTIME_MEMBER_WORK_H_
#define RONDO_WORKER_RUNTIME_MEMBER_WORK_H_

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/ids.h"
#include "worker/collectives/communicator.h"
#include "worker/core/actions.h"
#include "worker/core/messages.h"
#include "worker/core/permutation.h"
#include "worker/runtime/gradient_reducer.h"
#include "worker/runtime/interrupts.h"
#include "worker/runtime/loop_gauges.h"
#include "worker/runtime/member_state.h"
#include "worker/runtime/order_loop.h"
#include "worker/runtime/partial.h"
#include "worker/runtime/parts.h"

namespace rondo::worker {

// Borrowed, but for the loader.
struct MemberParts {
  JobLoader load;
  GroupMaker* groups = nullptr;
  StateSink* sink = nullptr;
  StateSource* source = nullptr;
  Clock* clock = nullptr;
  LoopGauges* gauges = nullptr;
  Interrupts* interrupts = nullptr;
};

class MemberWork {
 public:
  explicit MemberWork(MemberParts parts);

  // Each answers with the command's event, as core/actions.h says; none: nothing is to be told.
  using Answer = std::optional<Event>;
  Answer Do(const Prepare& command);
  Answer Do(const Listen& command);
  Answer Do(const FormGroup& command);
  Answer Do(const LeaveGroup& command);
  // `number` is what Interrupts::DropOrders speaks of.
  Answer Do(const Train& command, uint64_t number);
  Answer Do(const DropOrder& command);
  Answer Do(const ReduceState& command);
  Answer Do(const ApplyStaged& command);
  Answer Do(const DropStaged& command);
  Answer Do(const Evaluate& command);
  // `number` is what Interrupts::WithdrawSaves speaks of.
  Answer Do(const Save& command, uint64_t number);

  void set_collective_limit(absl::Duration limit) { collective_limit_ = limit; }

 private:
  struct StagedId {
    RoundId round;
    GroupId group;
    uint32_t attempt = 0;
    uint64_t hash = 0;
    bool is(RoundId r, GroupId g, uint32_t a) const {
      return round == r && group == g && attempt == a;
    }
  };

  std::optional<PrepareProblem> Load(const Prepare& command);
  absl::StatusOr<Formed> Form(const FormGroup& command);
  absl::Status MakeState(const Assemble& assemble, StateNeed need);
  absl::Status ZeroSickState(Purpose purpose, StateNeed need);
  absl::Status FinishStep(const Assemble& assemble);
  bool IsIn(GroupId group) const { return communicator_ && group_ == group; }
  absl::Status ReadFiles(const Assemble& assemble, StateNeed need);
  LoopParts PartsOfLoop(const Order& order, uint64_t number);
  // A slow network gets more than the job's least limit: four times what the last one took.
  absl::Duration CollectiveLimit() const { return std::max(collective_limit_, 4 * last_reduce_); }

  const MemberParts parts_;
  absl::Duration collective_limit_ = absl::Seconds(30);
  absl::Duration last_reduce_;  // One collective's.
  Prepare prepare_;
  std::optional<LoadedJob> job_;  // Less engine and optimizer, which `state_` has.
  std::unique_ptr<MemberState> state_;
  std::unique_ptr<EpochOrders> epochs_;
  std::unique_ptr<GradientReducer> gradients_;
  std::unique_ptr<GradientReducer> buffers_;
  std::shared_ptr<Communicator> communicator_;
  GroupId group_;                // Of communicator_.
  bool pristine_ = false;        // As loaded: nothing has trained or arrived.
  bool moments_zeroed_ = false;  // And no Formed has said so yet.
  bool file_failed_ = false;     // A checkpoint's file could not be used for the group in hand.
  uint64_t held_hash_ = 0;       // Of the last committed or received state.
  std::optional<Order> order_;   // The last one, for a repair's step.
  uint64_t stands_at_ = 0;       // The next step of order_: all before it are done.
  std::optional<StagedId> staged_;
  std::optional<Partial> partial_;  // Loaded: the next order goes on from it.
  uint64_t members_ = 0;            // Of the group.
};

}  // namespace rondo::worker

#endif  // RONDO_WORKER_RUNTIME_MEMBER_WORK_H_
