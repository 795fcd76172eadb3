#include "worker/runtime/member_work.h"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "common/status_macros.h"
#include "worker/core/state_need.h"
#include "worker/engine/layout.h"
#include "worker/runtime/costs.h"
#include "worker/runtime/error_feedback.h"
#include "worker/runtime/evaluation.h"
#include "worker/runtime/local_reduce.h"
#include "worker/runtime/mean_step.h"
#include "worker/runtime/state_exchange.h"
#include "worker/runtime/state_files.h"

namespace rondo::worker {
namespace {

// While it lives, heartbeats show what the trainer is busy with.
class Busy {
 public:
  Busy(const MemberParts& parts, Activity activity) : parts_(parts) {
    parts_.gauges->Begin(activity, parts_.clock->Now());
  }
  ~Busy() { parts_.gauges->Begin(Activity::kWaiting, parts_.clock->Now()); }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;

 private:
  const MemberParts& parts_;
};

Failed MakeFailed(GroupId group, const absl::Status& status) {
  Failed failed;
  failed.group = group;
  failed.cause = CauseOf(status);
  failed.text = std::string(status.message());
  return failed;
}

}  // namespace

MemberWork::MemberWork(MemberParts parts) : parts_(std::move(parts)) {}

// ------------------------------------------------------------------------------------ load

std::optional<PrepareProblem> MemberWork::Load(const Prepare& command) {
  gradients_.reset();
  state_.reset();  // Two models at once may not fit.
  std::variant<LoadedJob, PrepareProblem> loaded = parts_.load(command);
  if (auto* problem = std::get_if<PrepareProblem>(&loaded)) return std::move(*problem);
  job_ = std::move(std::get<LoadedJob>(loaded));
  epochs_ = std::make_unique<EpochOrders>(job_->spec.seed, job_->train->size(), job_->spec.shuffle);
  state_ = std::make_unique<MemberState>(
      std::move(job_->engine), std::move(job_->optimizer), job_->spec.state_policy,
      FeedbackOptions{.select = job_->spec.select, .clock = parts_.clock});
  const Layout& layout = state_->engine().layout();
  std::vector<int64_t> ends;
  for (const LayoutEntry& entry : layout.parameters) ends.push_back(entry.offset + entry.size);
  gradients_ = std::make_unique<GradientReducer>(layout.parameter_count(), std::move(ends),
                                                 &state_->feedback());
  buffers_ = std::make_unique<GradientReducer>(layout.float_buffer_count());
  pristine_ = true;
  held_hash_ = 0;
  return std::nullopt;
}

MemberWork::Answer MemberWork::Do(const Prepare& command) {
  const Busy busy(parts_, Activity::kPreparing);
  prepare_ = command;
  Prepared prepared;
  prepared.problem = Load(command);
  if (!prepared.problem) prepared.facts = job_->facts;
  return PrepareDone{std::move(prepared)};
}

// ------------------------------------------------------------------------------------ groups

MemberWork::Answer MemberWork::Do(const Listen& command) {
  absl::StatusOr<std::string> blob = parts_.groups->Listen();
  if (!blob.ok()) return GroupFailed{MakeFailed(command.group, blob.status())};
  return EndpointReady{Endpoint{command.group, *std::move(blob)}};
}

MemberWork::Answer MemberWork::Do(const LeaveGroup& command) {
  if (communicator_ && group_ <= command.group) {
    parts_.interrupts->SetCommunicator(nullptr);
    communicator_.reset();
  }
  return std::nullopt;
}

MemberWork::Answer MemberWork::Do(const FormGroup& command) {
  const Busy busy(parts_, Activity::kAssembling);
  const absl::Time began = parts_.clock->Now();
  file_failed_ = false;
  absl::StatusOr<Formed> formed = Form(command);
  if (!formed.ok()) {
    communicator_.reset();
    Failed failed = MakeFailed(command.assemble.group, formed.status());
    if (file_failed_) failed.cause = FailureCause::kFile;
    return GroupFailed{std::move(failed)};
  }
  formed->seconds = absl::ToDoubleSeconds(parts_.clock->Now() - began);
  return GroupFormed{*std::move(formed)};
}

absl::StatusOr<Formed> MemberWork::Form(const FormGroup& command) {
  const Assemble& assemble = command.assemble;
  const StateNeed need = assemble.members[command.rank].need;
  if (!state_) return absl::InternalError("a group is formed before the job is prepared");
  const absl::Duration limit = absl::Seconds(assemble.limit_seconds);
  communicator_.reset();
  const std::shared_ptr<AbortFlag> abort = parts_.interrupts->EnterGroup(assemble.group);
  if (abort->IsSet()) return absl::AbortedError("the group was left before it was formed");
  ASSIGN_OR_RETURN(communicator_,
                   parts_.groups->Connect({job_->spec.job_id, assemble.group, command.rank,
                                           command.blobs, command.token},
                                          limit, abort));
  group_ = assemble.group;
  parts_.interrupts->SetCommunicator(communicator_);
  state_->feedback().BeginGroup(assemble.members);
  RETURN_IF_ERROR(MakeState(assemble, need));
  RETURN_IF_ERROR(ZeroSickState(assemble.purpose, need));
  ASSIGN_OR_RETURN(const ExchangeResult exchanged,
                   ExchangeState(assemble, command.rank, held_hash_,
                                 {state_.get(), gradients_.get(), communicator_.get(), limit}));
  if (need != StateNeed::kHolds && need != StateNeed::kInitial) pristine_ = false;
  if (assemble.purpose == Purpose::kStart || assemble.purpose == Purpose::kJoin) {
    stands_at_ = assemble.step;
  }
  if (exchanged.took_step) RETURN_IF_ERROR(FinishStep(assemble));
  held_hash_ = exchanged.state_hash;
  Formed formed;
  formed.group = assemble.group;
  formed.state_hash = held_hash_;
  formed.transfer_bytes = exchanged.received_bytes;
  formed.moments_zeroed = std::exchange(moments_zeroed_, false);
  ASSIGN_OR_RETURN(formed.residual_norm_squared, state_->feedback().NormSquared());
  if (assemble.purpose == Purpose::kRepair) {
    // In mid-round: what the members must agree on is where they stand, and their parameters.
    formed.step = stands_at_;
    ASSIGN_OR_RETURN(formed.state_hash, state_->HashParameters());
  }
  return formed;
}

// What this member brings along before anything is exchanged.
absl::Status MemberWork::MakeState(const Assemble& assemble, StateNeed need) {
  members_ = assemble.members.size();
  if (partial_) {  // Its order did not come.
    state_->RestoreBase();
    partial_.reset();
  }
  if (ReplacesState(need)) state_->feedback().Forget();
  const bool begins = need == StateNeed::kPartial && !assemble.round;
  if ((need == StateNeed::kInitial || begins) && !pristine_) {
    if (const auto problem = Load(prepare_)) return absl::InternalError(problem->text);
  }
  if (need != StateNeed::kFile && need != StateNeed::kPartial) return absl::OkStatus();
  absl::Status read = ReadFiles(assemble, need);
  file_failed_ = absl::IsDataLoss(read) || absl::IsNotFound(read) || absl::IsInvalidArgument(read);
  return read;
}

// Rule 15: who comes to a border's exchange with its own moments is to go on with them, and maybe
// to give them, because nobody there has better ones. If they are not finite they begin anew; a
// residual, which nobody is given, too.
absl::Status MemberWork::ZeroSickState(Purpose purpose, StateNeed need) {
  if (purpose != Purpose::kStart && purpose != Purpose::kJoin) return absl::OkStatus();
  RETURN_IF_ERROR(state_->feedback().ForgetUnlessFinite());
  const bool keeps =
      need == StateNeed::kHolds || need == StateNeed::kValues || need == StateNeed::kFile;
  if (!keeps) return absl::OkStatus();
  ASSIGN_OR_RETURN(const bool finite, state_->MomentsAreFinite());
  if (finite) return absl::OkStatus();
  state_->optimizer().Reset();
  moments_zeroed_ = true;
  return absl::OkStatus();
}

// The state of assemble.round, and with a partial the way of the open round so far.
absl::Status MemberWork::ReadFiles(const Assemble& assemble, StateNeed need) {
  pristine_ = false;
  gradients_->Forget();
  const auto stop = [&] { return parts_.interrupts->IsLeft(assemble.group); };
  if (need == StateNeed::kPartial) {
    ASSIGN_OR_RETURN(partial_, LoadPartial(assemble.step, parts_.source, stop, state_.get()));
  } else {
    RETURN_IF_ERROR(LoadStateFiles(assemble.step, parts_.source, stop, state_.get()));
  }
  if (!assemble.round) return absl::OkStatus();
  ASSIGN_OR_RETURN(const uint64_t hash, partial_ ? state_->HashBase() : state_->HashWorking());
  if (hash == assemble.state_hash) return absl::OkStatus();
  return absl::DataLossError(
      fmt::format("the files of step {} hold a state with hash {:016x}, round {} has {:016x}",
                  assemble.step, hash, assemble.round, assemble.state_hash));
}

// A repair has brought the reduced gradient of a step that failed here: the step is done with it.
// A repair that broke off later may have done so before.
absl::Status MemberWork::FinishStep(const Assemble& assemble) {
  if (order_ && stands_at_ == assemble.step + 1) return absl::OkStatus();
  const uint64_t first = order_ ? order_->first_step : 0;
  if (!order_ || stands_at_ != assemble.step || assemble.step < first ||
      assemble.step - first >= order_->rates.size()) {
    return absl::InternalError(
        fmt::format("step {} cannot be finished by this worker, which stands at {}", assemble.step,
                    order_ ? fmt::format("step {}", stands_at_) : "no step"));
  }
  if (gradients_->sparse()) {
    RETURN_IF_ERROR(gradients_->AdoptSparse(static_cast<int64_t>(assemble.step)));
  }
  RETURN_IF_ERROR(
      StepWithMean(order_->rates[assemble.step - first], gradients_.get(), state_.get()));
  state_->DoneStep();
  ++stands_at_;
  return absl::OkStatus();
}

// ------------------------------------------------------------------------------------ rounds

LoopParts MemberWork::PartsOfLoop(const Order& order, uint64_t number) {
  const StopCheck dropped = [interrupts = parts_.interrupts, number] {
    return interrupts->IsDropped(number);
  };
  return {.state = state_.get(),
          .train = job_->train.get(),
          .epochs = epochs_.get(),
          .gradients = gradients_.get(),
          .buffers = buffers_.get(),
          .group = IsIn(order.group) ? communicator_.get() : nullptr,
          .collective_limit = CollectiveLimit(),
          .clock = parts_.clock,
          .gauges = parts_.gauges,
          .dropped = dropped,
          .resume = partial_ ? &*partial_ : nullptr,
          .partial_every = job_->spec.partial_every,
          .save_partial = [this, dropped](const Partial& partial) {
            // What cannot be saved is the sink's to report: the training goes on.
            SavePartial(partial, members_, parts_.sink, dropped, state_.get()).IgnoreError();
          }};
}

MemberWork::Answer MemberWork::Do(const Train& command, uint64_t number) {
  const Busy busy(parts_, Activity::kTraining);
  if (order_ && order_->round == command.order.round && stands_at_ != command.order.first_step) {
    // Rule 18: it would train from another state than the others.
    Failed failed = MakeFailed(command.order.group,
                               absl::InternalError(fmt::format(
                                   "told to go on with round {} at step {}, stands at {}",
                                   command.order.round, command.order.first_step, stands_at_)));
    failed.round = command.order.round;
    failed.step = stands_at_;
    return StepsFailed{std::move(failed)};
  }
  order_ = command.order;
  stands_at_ = order_->first_step;
  state_->RestoreBuffers();
  const Order& order = *order_;
  Failed dropped = MakeFailed(order.group, absl::AbortedError("the order was dropped"));
  dropped.round = order.round;
  if (parts_.interrupts->IsDropped(number)) return StepsFailed{std::move(dropped)};
  pristine_ = false;
  if (partial_ && partial_->round != order.round) {
    state_->RestoreBase();
    partial_.reset();
  }
  state_->KeepBase();
  const LoopParts loop_parts = PartsOfLoop(order, number);
  OrderLoop loop(order, loop_parts);
  std::variant<Ready, Failed, Dropped> result = loop.Run();
  partial_.reset();
  parts_.gauges->EndOrder();
  if (auto* failed = std::get_if<Failed>(&result)) {
    stands_at_ = failed->step;
    return StepsFailed{std::move(*failed)};
  }
  if (std::holds_alternative<Dropped>(result)) return StepsFailed{std::move(dropped)};
  stands_at_ = order.first_step + order.length;
  Ready& ready = std::get<Ready>(result);
  if (order.mode == Mode::kParallel) {
    if (order.length > 0) {
      last_reduce_ =
          absl::Seconds(ready.reduced.reduce_seconds) / static_cast<double>(order.length);
    }
    staged_ = StagedId{order.round, order.group, 0, ready.reduced.state_hash};
  }
  return StepsDone{std::move(ready)};
}

MemberWork::Answer MemberWork::Do(const DropOrder&) {
  if (state_) state_->RestoreBase();
  if (gradients_) gradients_->Forget();
  partial_.reset();
  order_.reset();
  return std::nullopt;
}

MemberWork::Answer MemberWork::Do(const ReduceState& command) {
  const Busy busy(parts_, Activity::kReducing);
  const Reduce& reduce = command.reduce;
  staged_.reset();
  absl::StatusOr<Reduced> reduced = absl::AbortedError("the group was left");
  if (IsIn(reduce.group)) {
    reduced =
        ReduceLocal(reduce, CollectiveLimit(), parts_.clock, communicator_.get(), state_.get());
  }
  if (!reduced.ok()) {
    Failed failed = MakeFailed(reduce.group, reduced.status());
    failed.round = reduce.round;
    failed.attempt = reduce.attempt;
    return ReduceFailed{std::move(failed)};
  }
  last_reduce_ = absl::Seconds(reduced->reduced.reduce_seconds);
  staged_ = StagedId{reduce.round, reduce.group, reduce.attempt, reduced->reduced.state_hash};
  return ReduceDone{*std::move(reduced)};
}

MemberWork::Answer MemberWork::Do(const ApplyStaged& command) {
  if (!staged_ || !staged_->is(command.round, command.group, command.attempt)) {
    return RuntimeBroken{fmt::format("round {}, attempt {} was committed, but is not staged here",
                                     command.round, command.attempt)};
  }
  if (order_ && order_->mode == Mode::kParallel) {
    state_->CommitBuffers();
  } else {
    state_->CommitAll();
  }
  held_hash_ = staged_->hash;
  staged_.reset();
  order_.reset();
  return std::nullopt;
}

MemberWork::Answer MemberWork::Do(const DropStaged& command) {
  if (staged_ && staged_->is(command.round, command.group, command.attempt)) staged_.reset();
  return std::nullopt;
}

// ------------------------------------------------------------------------------------ after it

MemberWork::Answer MemberWork::Do(const Evaluate& command) {
  const Busy busy(parts_, Activity::kEvaluating);
  const absl::Time began = parts_.clock->Now();
  const auto stop = [&] {
    parts_.gauges->Move(parts_.clock->Now());
    return parts_.interrupts->IsLeft(command.what.group);
  };
  absl::StatusOr<Evaluated> evaluated =
      EvaluateShare({command.rank, command.size}, job_->test.get(), &state_->engine(), stop);
  if (!evaluated.ok()) {
    if (evaluated.status().code() == absl::StatusCode::kAborted) return std::nullopt;
    return RuntimeBroken{fmt::format("evaluation failed: {}", evaluated.status().ToString())};
  }
  evaluated->group = command.what.group;
  evaluated->round = command.what.round;
  evaluated->seconds = absl::ToDoubleSeconds(parts_.clock->Now() - began);
  return EvaluateDone{*std::move(evaluated)};
}

MemberWork::Answer MemberWork::Do(const Save& command, uint64_t number) {
  const Busy busy(parts_, Activity::kSaving);
  const SaveNow& what = command.what;
  const auto stop = [&] {
    return parts_.interrupts->IsLeft(what.group) || parts_.interrupts->IsWithdrawn(number);
  };
  absl::StatusOr<std::vector<SavedFile>> files =
      SaveStateFiles(what, parts_.sink, stop, state_.get());
  if (!files.ok()) {
    return SaveStopped{
        SaveFailed{what.group, what.round, what.step, std::string(files.status().message())}};
  }
  return SaveDone{Saved{what.group, what.round, what.step, *std::move(files)}};
}

}  // namespace rondo::worker
