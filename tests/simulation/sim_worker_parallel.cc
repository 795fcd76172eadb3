// Parallel rounds of a simulated worker, step by step, and their repair.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "tests/simulation/sim_worker.h"

namespace rondo::simulation {

void SimWorker::TrainParallel(const worker::Order& order, uint64_t training) {
  const bool goes_on = round_ == order.round.value;
  if (goes_on && stands_at_ != order.first_step) {
    return around_.world->Violate(
        fmt::format("{} goes on at step {}, it stands at {}", id_, order.first_step, stands_at_));
  }
  if (!goes_on) {
    working_ = *state_;
    flawed_ = false;
  }
  finite_ = true;
  round_ = order.round.value;
  stands_at_ = order.first_step;
  NextStep(order, training);
}

void SimWorker::NextStep(const worker::Order& order, uint64_t training) {
  const uint64_t index = stands_at_ - order.first_step;
  if (index == order.length) return AverageBuffers(order, training);
  Later(around_.step, [this, order, training, index]() {
    WhenMoving([this, order, training, index]() { JoinStep(order, training, index); });
  });
}

void SimWorker::JoinStep(const worker::Order& order, uint64_t training, uint64_t index) {
  if (training != training_) return FailStep(order, "its order was dropped");
  if (order.group.value <= left_) return FailStep(order, "the group was left");
  const bool finite = !around_.world->Strikes(around_.weather->not_finite);
  if (!finite) {
    finite_ = false;
    around_.oracle->SeeNotFinite(id_, order.group.value);
  }
  Offer offer = OfferOf(order.group.value);
  offer.base = working_;
  offer.weight = finite ? 1 : 0;
  offer.work = around_.states->AddWork({id_, order.round.value, samples_[index]});
  step_work_ = offer.work;
  Join(
      fmt::format("step {} {} {}", order.round, order.group, stands_at_), std::move(offer),
      [this, order, training](const Meeting& meeting) {
        const std::set<uint64_t> result = WorkOf(meeting);
        if (training != training_) return FailStep(order, "its order was dropped");
        if (result.empty()) {
          return FailStep(order, worker::FailureCause::kNoFactor, "no member is finite");
        }
        FinishStep(result, TakenFrom(meeting));
        MayFlip(meeting);
        NextStep(order, training);
      },
      [this, order](const std::string& why) { FailStep(order, why); });
}

void SimWorker::FinishStep(const std::set<uint64_t>& result, const Pieces& taken) {
  working_ = Average(working_, result, taken);
  // Who took no part in it has left nothing, either.
  const uint64_t work = around_.sparse && result.contains(step_work_) ? step_work_ : 0;
  if (work != 0) residual_ = LeftOf(std::move(residual_), work, taken);
  result_ = result;
  taken_ = taken;
  ++stands_at_;
}

// One alone cannot be contradicted.
void SimWorker::MayFlip(const Meeting& meeting) {
  if (meeting.offers.size() == 1 || !around_.world->Strikes(around_.weather->flips)) return;
  around_.world->Log(id_ + "'s parameters go wrong");
  working_ = around_.states->Spoil(working_, incarnation_);
  flawed_ = true;
}

void SimWorker::AverageBuffers(const worker::Order& order, uint64_t training) {
  if (order.group.value <= left_) return FailStep(order, "the group was left");
  Offer offer = OfferOf(order.group.value);
  offer.base = working_;
  Join(
      KeyOf(order.round.value, order.group.value, 0), std::move(offer),
      [this, order, training](const Meeting& meeting) {
        for (const auto& [rank, other] : meeting.offers) {
          if (other.base == working_ || other.flawed || flawed_) continue;
          around_.world->Violate("a round ends in different states");
        }
        if (training != training_) return FailStep(order, "its order was dropped");
        staged_[KeyOf(order.round.value, order.group.value, 0)] = {working_, residual_};
        around_.oracle->SeeStaged(id_, order.round.value, order.group.value, 0, working_);
        worker::Ready ready = ReadyOf(order);
        ready.reduced = FactsOf(working_, residual_, order.length);
        Handle(worker::StepsDone{ready});
      },
      [this, order](const std::string& why) { FailStep(order, why); });
}

// Also of an order that is no longer in hand: who told it to stop waits for the end of its steps.
void SimWorker::FailStep(const worker::Order& order, const std::string& why) {
  FailStep(order, worker::FailureCause::kPeer, why);
}

void SimWorker::FailStep(const worker::Order& order, worker::FailureCause cause,
                         const std::string& why) {
  worker::Failed failed;
  failed.group = order.group;
  failed.round = order.round;
  failed.step = stands_at_;
  failed.cause = cause;
  failed.text = why;
  failed.finite = finite_;
  Handle(worker::StepsFailed{failed});
}

// Who is a step behind takes the step's result from one that is ahead.
void SimWorker::FinishRepair(const worker::FormGroup& command, const Meeting& meeting) {
  const worker::Assemble& assemble = command.assemble;
  const Offer& giver = meeting.offers.at(assemble.giver);
  const bool needs = assemble.members[command.rank].need == worker::StateNeed::kStep;
  if (needs && stands_at_ == assemble.step) {
    if (giver.stands_at != stands_at_ + 1) around_.world->Violate(giver.worker + " gives nothing");
    FinishStep(giver.result, giver.delivered);
    if (working_ != giver.working && !flawed_ && !giver.flawed) {
      around_.world->Violate(id_ + " is repaired into another state");
    }
  }
  worker::Formed formed;
  formed.group = assemble.group;
  formed.state_hash = working_;
  formed.step = stands_at_;
  formed.seconds = 0.1;
  formed.residual_norm_squared = static_cast<double>(residual_.size());
  Handle(worker::GroupFormed{formed});
}

}  // namespace rondo::simulation
