#include "server/core/job_machine.h"

#include <fmt/format.h>

#include <utility>

#include "server/core/job_machine_impl.h"

namespace rondo::server {

JobMachine::JobMachine(MachineConfig config, History history)
    : impl_(std::make_unique<Impl>(std::move(config), std::move(history))) {}
JobMachine::~JobMachine() = default;
Effects JobMachine::Start(absl::Time now) { return impl_->Start(now); }
Effects JobMachine::Handle(const Event& event, absl::Time now) { return impl_->Handle(event, now); }
StatusView JobMachine::status(absl::Time now) const { return impl_->status(now); }
std::vector<WorkerRow> JobMachine::workers() const { return impl_->workers(); }

JobMachine::Impl::Impl(MachineConfig config, History history)
    : config_(std::move(config)),
      discipline_(config_.limits.discipline),
      history_(std::move(history)) {}

Effects JobMachine::Impl::Start(absl::Time now) {
  now_ = now;
  out_ = Effects{};
  phase_since_ = now;
  const std::optional<EndRecord> end = history_.end;
  if (end && end->state == EndState::kDone) {
    BeginFarewell(*end);
  } else {
    const bool first = !history_.term;
    Journal(TermRecord{config_.term, now, Life()});
    if (!first) AdoptHistory(end.has_value());
  }
  Advance();
  return std::move(out_);
}

Effects JobMachine::Impl::Handle(const Event& event, absl::Time now) {
  now_ = now;
  out_ = Effects{};
  ForgiveOwnSleep();
  std::visit([this](const auto& e) { On(e); }, event);
  Advance();
  wanted_wake_ = out_.wake_at;
  return std::move(out_);
}

void JobMachine::Impl::On(const Received& event) {
  if (const auto* hello = std::get_if<Hello>(&event.message.body)) {
    if (pending_.contains(event.stream)) OnHello(event.stream, event.message.job_id, *hello);
    return;
  }
  if (pending_.erase(event.stream) > 0) {
    const std::string text = "the first message on a stream must be Hello";
    SayOn(event.stream, Refuse{RefuseReason::kProtocol, text});
    return Close(event.stream, "");
  }
  Worker* worker = roster_.FindByStream(event.stream);
  if (worker == nullptr) return;
  worker->heard = now_;
  if (event.message.job_id != config_.job_id || event.message.term != config_.term) return;
  std::visit([this, worker](const auto& message) { On(*worker, message); }, event.message.body);
}

void JobMachine::Impl::Advance() {
  CheckStreams();
  while (AdvancePhase()) {
  }
}

bool JobMachine::Impl::AdvancePhase() {
  switch (phase_) {
    case Phase::kBorder:
      return AdvanceBorder();
    case Phase::kAssembling:
      return AdvanceAssembling();
    case Phase::kTraining:
      return round_->mode == RoundMode::kParallel ? AdvanceParallel() : AdvanceTraining();
    case Phase::kReducing:
      return AdvanceReducing();
    case Phase::kEvaluating:
      return AdvanceEvaluating();
    case Phase::kSaving:
      return AdvanceSaving();
    case Phase::kCompleting:
      WakeAt(phase_since_ + config_.limits.save);
      if (now_ < phase_since_ + config_.limits.save) return false;
      return GiveUpSave("its manifest was not written in time");
    case Phase::kOver:
      AdvanceOver();
      return false;
  }
  return false;
}

bool JobMachine::Impl::Go(Phase phase) {
  phase_ = phase;
  phase_since_ = now_;
  waits_for_.clear();
  return true;
}

void JobMachine::Impl::Say(const Worker& worker, CoordinatorBody body) {
  if (worker.stream) SayOn(worker.stream, std::move(body));
}

void JobMachine::Impl::SayOn(StreamId stream, CoordinatorBody body) {
  out_.effects.push_back(Send{stream, {config_.job_id, config_.term, std::move(body)}});
}

void JobMachine::Impl::Close(StreamId stream, std::string reason) {
  pending_.erase(stream);
  out_.effects.push_back(CloseStream{stream, std::move(reason)});
}

void JobMachine::Impl::Journal(Record record) {
  Apply(record, &history_);
  out_.records.push_back(std::move(record));
}

void JobMachine::Impl::Note(std::string kind, std::string text, std::string worker,
                            double seconds) {
  Journal(NoticeRecord{now_, std::move(kind), std::move(text), round_ ? round_->id : RoundId{},
                       std::move(worker), seconds});
}

}  // namespace rondo::server
