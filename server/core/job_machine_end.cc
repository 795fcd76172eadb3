// Evaluation and checkpoints at borders, and the end of the job.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "server/core/job_machine_impl.h"

namespace rondo::server {

Due JobMachine::Impl::DueAfter(const Round& round, uint64_t global_batch) const {
  const DuePolicy policy = {.has_test_set = config_.has_test_set,
                            .evaluate_every_steps = config_.evaluate_every_steps,
                            .evaluate_every_epochs = config_.evaluate_every_epochs,
                            .checkpoint_every_steps = config_.checkpoint_every_steps,
                            .total_steps = static_cast<uint64_t>(config_.schedule.steps),
                            .train_samples = reference_->train_samples,
                            .global_batch = global_batch};
  return DecideDue(policy, round.first_step, round.first_step + round.length, committed_.ledger,
                   round.after);
}

bool JobMachine::Impl::BeginEvaluation() {
  evaluation_ = Evaluation{now_, {}};
  evaluation_->shares.resize(group_->members.size());
  for (const Member& member : group_->members) {
    Say(*roster_.Find(member.name), EvaluateNow{group_->id, committed_.round});
  }
  return Go(Phase::kEvaluating);
}

void JobMachine::Impl::On(Worker& worker, const Evaluated& message) {
  if (phase_ != Phase::kEvaluating || message.group != group_->id ||
      message.round != committed_.round) {
    return;
  }
  const auto rank = group_->RankOf(worker.name, worker.incarnation);
  if (rank && !evaluation_->shares[*rank]) evaluation_->shares[*rank] = message;
}

bool JobMachine::Impl::AdvanceEvaluating() {
  EvaluationRecord record{.round = committed_.round, .step = committed_.step};
  double correct = 0;
  bool complete = true;
  bool broken = false;
  for (size_t rank = 0; rank < group_->members.size(); ++rank) {
    const auto& share = evaluation_->shares[rank];
    if (share) {
      record.loss += share->loss_sum;
      correct += static_cast<double>(share->correct);
      record.count += share->count;
      record.seconds = std::max(record.seconds, share->seconds);
      continue;
    }
    complete = false;
    const Member& member = group_->members[rank];
    const Worker* worker = roster_.Find(member.name, member.incarnation);
    broken = broken || worker == nullptr || !worker->present();
  }
  if (!complete) {
    const absl::Time until = AwaitMembers(group_->members, phase_since_);
    const absl::Time limit = evaluation_->began + config_.limits.evaluate;
    if (now_ >= limit) return Fail("an evaluation took too long");
    WakeAt(limit);
    if (until > now_) {
      WakeAt(until);
      return false;
    }
    if (!broken) return false;
    evaluation_.reset();
    group_.reset();
    Note("evaluation_repeated", "a member dropped out of an evaluation: the next group repeats it");
    return Go(Phase::kBorder);
  }
  evaluation_.reset();
  evaluation_pending_ = false;
  evaluated_step_ = committed_.step;
  if (record.count > 0) {
    record.loss /= static_cast<double>(record.count);
    if (config_.has_accuracy) record.accuracy = correct / static_cast<double>(record.count);
    Journal(record);
  }
  return Go(Phase::kBorder);
}

bool JobMachine::Impl::BeginSave() {
  save_ = Save{};
  save_->began = now_;
  save_->parts.resize(group_->members.size());
  for (const Member& member : group_->members) {
    SaveNow message{group_->id, committed_.round, committed_.step, {StateFile::kLocal}};
    if (save_->asked.empty()) {
      message.files = {StateFile::kParameters, StateFile::kBuffers, StateFile::kLocal};
    }
    Say(*roster_.Find(member.name), message);
    save_->names.push_back(member.name);
    save_->asked.push_back(std::move(message));
  }
  return Go(Phase::kSaving);
}

void JobMachine::Impl::On(Worker& worker, const Saved& message) {
  if (phase_ != Phase::kSaving || message.group != group_->id || message.step != committed_.step) {
    return;
  }
  const auto rank = group_->RankOf(worker.name, worker.incarnation);
  if (rank && !save_->parts[*rank]) save_->parts[*rank] = message;
}

void JobMachine::Impl::On(Worker& worker, const SaveFailed& message) {
  if (phase_ != Phase::kSaving || message.group != group_->id || message.step != committed_.step) {
    return;
  }
  save_->failure = fmt::format("{}: {}", worker.name, message.text);
}

bool JobMachine::Impl::AdvanceSaving() {
  const absl::Time limit = save_->began + config_.limits.save;
  if (!save_->failure && now_ >= limit) {
    save_->failure = fmt::format("not done within {}", absl::FormatDuration(config_.limits.save));
  }
  if (save_->failure) return GiveUpSave(*save_->failure);
  CompleteCheckpoint complete{
      committed_.round, committed_.step, committed_.state_hash, {}, committed_.ledger};
  bool broken = false;
  bool all_in = true;
  for (size_t rank = 0; rank < group_->members.size(); ++rank) {
    const Member& member = group_->members[rank];
    if (const auto& part = save_->parts[rank]) {
      for (const SavedFile& file : part->files) complete.parts.push_back({member.name, file});
      continue;
    }
    all_in = false;
    const Worker* worker = roster_.Find(member.name, member.incarnation);
    broken = broken || worker == nullptr || !worker->present();
  }
  if (all_in) {
    out_.effects.push_back(std::move(complete));
    return Go(Phase::kCompleting);
  }
  WakeAt(limit);
  const absl::Time until = AwaitMembers(group_->members, phase_since_);
  if (until > now_) {
    WakeAt(until);
    return false;
  }
  if (!broken) return false;
  save_.reset();
  group_.reset();
  Note("save_repeated", "a member dropped out of a checkpoint: the next group repeats it");
  return Go(Phase::kBorder);
}

void JobMachine::Impl::On(const CheckpointCompleted& event) {
  if (phase_ != Phase::kCompleting || event.step != committed_.step) return;
  if (!event.ok) {
    GiveUpSave(event.text);
    return;
  }
  CheckpointRecord record{committed_.round, committed_.step, committed_.state_hash, {}};
  for (size_t rank = 0; rank < save_->parts.size(); ++rank) {
    for (const SavedFile& file : save_->parts[rank]->files) {
      if (file.file == StateFile::kLocal) record.local_files.push_back(save_->names[rank]);
    }
  }
  save_.reset();
  save_pending_ = false;
  saved_step_ = event.step;
  Journal(std::move(record));
  TrimCheckpointsKept();
  Go(Phase::kBorder);
}

Goodbye JobMachine::Impl::GoodbyeOf(EndState state, const std::string& reason) {
  switch (state) {
    case EndState::kDone:
      return {GoodbyeReason::kDone, reason, 0};
    case EndState::kStopped:
      return {GoodbyeReason::kStopped, reason, 0};
    case EndState::kFailed:
      break;
  }
  return {GoodbyeReason::kFault, reason, 1};
}

// The state that the job ends with must be saved; any other checkpoint is tried again when the next
// one is due. What was written of it is never chosen: it has no manifest.
bool JobMachine::Impl::GiveUpSave(const std::string& why) {
  const std::string text =
      fmt::format("the checkpoint of step {} failed: {}", committed_.step, why);
  save_.reset();
  save_pending_ = false;
  if (Finishing()) return Fail(text);
  save_failed_step_ = committed_.step;
  Note("checkpoint_failed", text + "; the job goes on and tries again when the next one is due");
  return Go(Phase::kBorder);
}

bool JobMachine::Impl::EvaluationMissing() const {
  return config_.has_test_set && evaluated_step_ != committed_.step && !StoppedEarly();
}

bool JobMachine::Impl::SaveMissing() const {
  return committed_.round && saved_step_ != committed_.step;
}

bool JobMachine::Impl::StoppedEarly() const {
  return stop_reason_ && committed_.step < static_cast<uint64_t>(config_.schedule.steps);
}

bool JobMachine::Impl::EndFinished() {
  return StoppedEarly() ? End(EndState::kStopped, *stop_reason_)
                        : End(EndState::kDone, "all steps are done");
}

bool JobMachine::Impl::End(EndState state, std::string reason) {
  const uint64_t samples = reference_ ? reference_->train_samples : 0;
  Note("ended", reason);
  EndRecord end{state,
                reason,
                committed_.step,
                committed_.syncs,
                committed_.checksum.value(),
                UnusedSamples(committed_.ledger, samples),
                now_};
  end.residuals_undelivered = committed_.residuals_lost + committed_.residuals.size();
  end.residual_norm_squared = committed_.residual_lost_norm_squared;
  for (const auto& [name, norm] : committed_.residuals) end.residual_norm_squared += norm;
  Journal(std::move(end));
  end_goodbye_ = GoodbyeOf(state, reason);
  for (auto& [name, worker] : roster_.workers()) {
    if (worker.stream) LetGo(worker, end_goodbye_);
  }
  end_state_ = state;
  end_reason_ = std::move(reason);
  assembly_.reset();
  round_.reset();
  group_.reset();
  evaluation_.reset();
  save_.reset();
  return Go(Phase::kOver);
}

// Who is away at the end is told when it comes back, until it is lost; who was told to wait, when
// it asks again.
void JobMachine::Impl::AdvanceOver() {
  if (finished_) return;
  const bool awaited = std::any_of(roster_.workers().begin(), roster_.workers().end(),
                                   [](const auto& entry) { return !entry.second.gone(); });
  std::erase_if(waiting_, [this](const auto& entry) { return entry.second <= now_; });
  for (const auto& [who, until] : waiting_) WakeAt(until);
  if (awaited || !waiting_.empty()) return;
  finished_ = true;
  out_.effects.push_back(Finish{end_state_ == EndState::kFailed ? 1 : 0, end_reason_});
}

}  // namespace rondo::server
