#include "tests/simulation/sim_worker.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "worker/edge/training_codec.h"

namespace rondo::simulation {
namespace {

worker::MachineConfig ConfigOf(const std::string& name, uint64_t incarnation) {
  worker::MachineConfig config;
  config.name = name;
  config.incarnation = {incarnation};
  config.rondo_version = "simulated";
  config.torch_version = "2.15.0";
  config.host = "host";
  config.pid = 1;
  config.seed = incarnation;
  return config;
}

}  // namespace

SimWorker::SimWorker(std::string name, uint64_t incarnation, Surroundings surroundings)
    : name_(std::move(name)),
      incarnation_(incarnation),
      id_(fmt::format("{}#{}", name_, incarnation)),
      around_(std::move(surroundings)),
      machine_(ConfigOf(name_, incarnation)) {}

void SimWorker::Start() {
  const worker::Effects effects = machine_.Start(around_.world->now());
  for (const worker::Command& command : effects.commands) {
    std::visit([this](const auto& c) { Do(c); }, command);
  }
  Later(effects.wake_at - around_.world->now(), [this]() { Handle(worker::TimerFired{}); });
  Later(absl::Seconds(1), [this]() { Beat(); });
}

void SimWorker::Run(std::function<void()> what) {
  if (!alive_) return;
  if (frozen_) {
    inbox_.push_back(std::move(what));
  } else {
    what();
  }
}

void SimWorker::Later(absl::Duration delay, std::function<void()> what) {
  around_.world->After(delay, [this, what = std::move(what)]() { Run(what); });
}

void SimWorker::Beat() {
  worker::Progress progress;
  progress.round = machine_.duties().order_round();
  progress.activity = worker::Activity::kTraining;
  const absl::Time now = around_.world->now();
  if (now < stalled_until_) {
    progress.stalled_seconds = absl::ToDoubleSeconds(now - stalled_since_);
  }
  Handle(worker::HeartbeatDue{progress});
  Later(absl::Seconds(1), [this]() { Beat(); });
}

void SimWorker::Handle(const worker::Event& event) {
  if (!alive_) return;
  const worker::Effects effects = machine_.Handle(event, around_.world->now());
  for (const worker::Command& command : effects.commands) {
    if (around_.world->Strikes(around_.weather->dies)) {
      around_.world->Log(id_ + " dies between two commands");
      return Kill();
    }
    std::visit([this](const auto& c) { Do(c); }, command);
    if (!alive_) return;
  }
  const uint64_t timer = ++timer_;
  if (effects.wake_at == absl::InfiniteFuture()) return;
  Later(effects.wake_at - around_.world->now(), [this, timer]() {
    if (timer == timer_) Handle(worker::TimerFired{});
  });
}

void SimWorker::Hear(uint64_t dial, const v1::CoordinatorMessage& message) {
  if (!alive_) return;
  const auto decoded = worker::DecodeCoordinatorMessage(message);
  if (!decoded.ok()) return around_.world->Violate(decoded.status().ToString());
  if (!frozen_) return Handle(worker::Received{dial, *decoded});
  Run([this, event = worker::Received{dial, *decoded}]() { Handle(event); });
}

void SimWorker::StreamLost(uint64_t dial) {
  Run([this, dial]() { Handle(worker::StreamLost{dial, "broke"}); });
}

void SimWorker::AskToLeave(absl::Duration grace) {
  Run([this, grace]() { Handle(worker::LeaveRequested{grace, 0, "SIGTERM"}); });
}

void SimWorker::Kill() {
  if (!alive_) return;
  alive_ = false;
  inbox_.clear();
  around_.data_plane->Leave(id_, 0);
  around_.network->CloseByWorker(this, dial_);
  around_.ended();
}

void SimWorker::Freeze(absl::Duration time) {
  if (!alive_ || frozen_) return;
  around_.world->Log(id_ + " freezes for " + absl::FormatDuration(time));
  frozen_ = true;
  around_.data_plane->Freeze(id_);
  around_.world->After(time, [this]() {
    if (!alive_) return;
    frozen_ = false;
    around_.world->Log(id_ + " thaws");
    const auto inbox = std::exchange(inbox_, {});
    for (const auto& what : inbox) Run(what);
  });
}

void SimWorker::Stall(absl::Duration time) {
  around_.world->Log(id_ + "'s loop stands still for " + absl::FormatDuration(time));
  stalled_since_ = around_.world->now();
  stalled_until_ = stalled_since_ + time;
}

void SimWorker::Join(const std::string& key, Offer offer, DataPlane::Done done,
                     DataPlane::Failed failed) {
  around_.data_plane->Join(
      key, std::move(offer),
      [this, done = std::move(done)](const Meeting& meeting) {
        Run([done, meeting]() { done(meeting); });
      },
      [this, failed = std::move(failed)](const std::string& why) {
        Run([failed, why]() { failed(why); });
      });
}

// ------------------------------------------------------------------------------------ commands

void SimWorker::Do(const worker::OpenStream& command) {
  dial_ = command.dial;
  around_.network->Open(this, command.dial);
}

void SimWorker::Do(const worker::CloseStream& command) {
  around_.network->CloseByWorker(this, command.dial);
}

void SimWorker::Do(const worker::Send& command) {
  around_.network->SendUp(this, dial_, worker::EncodeWorkerMessage(command.message));
}

void SimWorker::Do(const worker::Prepare&) {
  Later(around_.world->Between(absl::Milliseconds(10), absl::Seconds(2)), [this]() {
    worker::Prepared prepared;
    prepared.facts.layout_hash = "layout";
    prepared.facts.data_hash = "data";
    prepared.facts.train_samples = static_cast<uint64_t>(around_.train_samples);
    prepared.facts.test_samples = around_.test_samples;
    prepared.facts.parameters = 10;
    prepared.facts.files = {{"train", 10, "hash"}};
    Handle(worker::PrepareDone{prepared});
  });
}

void SimWorker::Do(const worker::Listen& command) {
  Later(around_.world->Between(absl::Milliseconds(1), absl::Milliseconds(20)),
        [this, group = command.group]() {
          Handle(worker::EndpointReady{{group, id_}});
        });
}

Offer SimWorker::OfferOf(uint64_t group) {
  Offer offer;
  offer.worker = id_;
  offer.group = group;
  offer.rank = formed_.rank;
  offer.size = static_cast<uint32_t>(formed_.assemble.members.size());
  offer.token = formed_.token;
  offer.base = state_.value_or(0);
  offer.work = work_;
  offer.sick = sick_;
  offer.stands_at = stands_at_;
  offer.working = working_;
  offer.result = result_;
  offer.delivered = taken_;
  offer.residual = residual_;
  offer.flawed = flawed_;
  return offer;
}

void SimWorker::Do(const worker::FormGroup& command) {
  formed_ = command;
  const worker::StateNeed need = command.assemble.members[command.rank].need;
  if (need == worker::StateNeed::kInitial) state_ = States::kInitial;
  if (need == worker::StateNeed::kFile) state_ = command.assemble.state_hash;
  partial_.reset();
  if (need == worker::StateNeed::kPartial) {
    const Partial* partial = around_.partials->Find(command.assemble.step, name_);
    if (partial == nullptr) return around_.world->Violate(id_ + " has no such partial");
    partial_ = *partial;
    state_ = partial->base;
  }
  if (need == worker::StateNeed::kAll || need == worker::StateNeed::kValues) state_.reset();
  if (need == worker::StateNeed::kHolds && !state_) {
    around_.world->Violate(id_ + " is said to hold a state and has none");
  }
  TakeResidual(command);
  Offer offer = OfferOf(command.assemble.group.value);
  offer.limit = absl::Seconds(command.assemble.limit_seconds);
  Join(
      fmt::format("form {}", command.assemble.group), offer,
      [this, command](const Meeting& meeting) { FinishForming(command, meeting); },
      [this, group = command.assemble.group](const std::string& why) {
        worker::Failed failed;
        failed.group = group;
        failed.cause = worker::FailureCause::kPeer;
        failed.text = why;
        Handle(worker::GroupFailed{failed});
      });
}

// Rule 9: who needs a state from a peer has no residual.
void SimWorker::TakeResidual(const worker::FormGroup& command) {
  switch (command.assemble.members[command.rank].need) {
    case worker::StateNeed::kInitial:
    case worker::StateNeed::kAll:
    case worker::StateNeed::kValues:
      residual_.clear();
      break;
    case worker::StateNeed::kFile: {
      const SavedResidual saved = around_.residuals->Find(command.assemble.step, name_);
      residual_ = saved.pieces;
      residual_mode_ = saved.parallel ? worker::Mode::kParallel : worker::Mode::kLocal;
      break;
    }
    case worker::StateNeed::kPartial:
      residual_ = partial_->residual;
      residual_mode_ = worker::Mode::kLocal;
      break;
    case worker::StateNeed::kHolds:
    case worker::StateNeed::kStep:
    case worker::StateNeed::kMoments:
      break;
  }
}

void SimWorker::FinishForming(const worker::FormGroup& command, const Meeting& meeting) {
  if (command.assemble.purpose == worker::Purpose::kRepair) return FinishRepair(command, meeting);
  if (!state_) state_ = meeting.offers.at(command.assemble.giver).base;
  stands_at_ = command.assemble.step;
  working_ = *state_;
  flawed_ = false;
  const worker::StateNeed need = command.assemble.members[command.rank].need;
  bool zeroed = false;
  const bool takes_moments =
      need == worker::StateNeed::kAll || need == worker::StateNeed::kMoments ||
      need == worker::StateNeed::kFile || need == worker::StateNeed::kPartial;
  if (takes_moments) sick_ = false;
  if (command.assemble.purpose != worker::Purpose::kRetry && sick_) {
    // Only if no other holder has good ones: then all begin with zeros (rule 15).
    for (const auto& [rank, offer] : meeting.offers) {
      const bool good = !offer.sick && offer.base != 0 &&
                        command.assemble.members[rank].need == worker::StateNeed::kHolds;
      if (good) around_.world->Violate(id_ + " keeps moments that are not finite");
    }
    sick_ = false;
    zeroed = true;
  }
  worker::Formed formed;
  formed.moments_zeroed = zeroed;
  formed.group = command.assemble.group;
  formed.state_hash = *state_;
  formed.seconds = 0.1;
  formed.residual_norm_squared = static_cast<double>(residual_.size());
  around_.oracle->SeeResidual(id_, formed.group.value, static_cast<server::StateNeed>(need),
                              residual_);
  if (command.assemble.purpose != worker::Purpose::kRetry) {
    around_.oracle->SeeFormed(id_);
    around_.oracle->SeeHolding(command.assemble.round.value, *state_);
  }
  Handle(worker::GroupFormed{formed});
}

void SimWorker::Do(const worker::LeaveGroup& command) {
  left_ = std::max(left_, command.group.value);
  around_.data_plane->Leave(id_, command.group.value);
}

void SimWorker::Do(const worker::Evaluate& command) {
  Later(around_.world->Between(absl::Milliseconds(5), absl::Milliseconds(500)), [this, command]() {
    worker::Evaluated evaluated;
    evaluated.group = command.what.group;
    evaluated.round = command.what.round;
    evaluated.count = (around_.test_samples + command.size - 1 - command.rank) / command.size;
    evaluated.correct = evaluated.count;
    evaluated.loss_sum = static_cast<double>(evaluated.count);
    Handle(worker::EvaluateDone{evaluated});
  });
}

void SimWorker::Do(const worker::Save& command) {
  around_.residuals->Put(command.what.step, name_,
                         {residual_, residual_mode_ == worker::Mode::kParallel});
  Later(around_.world->Between(absl::Milliseconds(5), absl::Seconds(1)), [this, command]() {
    worker::Saved saved;
    saved.group = command.what.group;
    saved.round = command.what.round;
    saved.step = command.what.step;
    for (StateFile file : command.what.files) saved.files.push_back({file, 1, "hash"});
    Handle(worker::SaveDone{saved});
  });
}

void SimWorker::Do(const worker::Exit& command) {
  around_.world->Log(fmt::format("{} exits {}: {}", id_, command.code, command.text));
  exit_code_ = command.code;
  Kill();
}

}  // namespace rondo::simulation
