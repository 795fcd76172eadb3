#include "tests/simulation/promises.h"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

namespace rondo::simulation {
namespace {

std::string NameOf(const std::string& id) { return id.substr(0, id.find('#')); }

bool Contains(const std::vector<std::string>& ids, const std::string& id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

}  // namespace

void Promises::See(const server::Record& record) {
  std::visit([this](const auto& r) { On(r); }, record);
}

void Promises::SeeAnswer(const server::Event& request, const server::SteerAnswer& answer) {
  std::visit([&](const auto& r) { OnAnswer(r, answer); }, request);
}

// ------------------------------------------------------------------------------------ records

// A stop is a wish to this process; a later one goes on with the job.
void Promises::On(const server::TermRecord&) { stopping_ = false; }

void Promises::On(const server::GroupRecord& record) {
  group_.clear();
  for (const server::Member& member : record.members) {
    group_.push_back(fmt::format("{}#{}", member.name, member.incarnation));
  }
}

void Promises::On(const server::OrderRecord& record) {
  const bool goes_on = open_ && open_->round == record.round.value;
  if (!goes_on) CheckNewRound();
  open_ = Open{record.round.value, group_, record.save_due, record.evaluation_due};
}

void Promises::CheckNewRound() {
  if (paused_) world_->Violate("a round begins while the job is paused");
  if (stopping_) world_->Violate("a round begins after the job was to stop");
  // Of nothing there is no checkpoint: it follows the first round that is committed.
  if (save_due_ && step_ > 0) world_->Violate("a round begins before the checkpoint that is due");
  if (evaluation_due_) world_->Violate("a round begins before the evaluation that is due");
  if (promised_save_ && step_ >= *promised_save_) {
    world_->Violate(fmt::format("the checkpoint of step {} was promised", *promised_save_));
  }
  // Only if nobody else is there to take the state over does one who drains stay.
  const auto drains = [this](const std::string& id) { return drains_.contains(id); };
  const auto draining = std::count_if(group_.begin(), group_.end(), drains);
  if (draining > 0 && draining < static_cast<int64_t>(group_.size())) {
    world_->Violate("a round begins with a worker that was asked to go");
  }
}

void Promises::On(const server::CommitRecord& record) {
  step_ = record.first_step + record.length;
  if (!open_) return;
  save_due_ = save_due_ || open_->save_due;
  evaluation_due_ = evaluation_due_ || open_->evaluation_due;
  open_.reset();
}

void Promises::On(const server::VoidRecord&) { open_.reset(); }

void Promises::On(const server::EvaluationRecord&) { evaluation_due_ = false; }

void Promises::On(const server::CheckpointRecord& record) {
  if (record.step == 0) world_->Violate("a checkpoint of nothing");
  saved_.insert(record.step);
  ForgetSave();
}

void Promises::ForgetSave() {
  save_due_ = false;
  promised_save_.reset();
}

void Promises::On(const server::RewindRecord& record) {
  step_ = record.to_step;
  open_.reset();
  evaluation_due_ = false;
  ForgetSave();
  saved_.erase(saved_.upper_bound(step_), saved_.end());
}

void Promises::On(const server::NoticeRecord& record) {
  if (record.kind == "worker_lost") lost_.insert(record.worker);
  if (record.kind == "worker_returned") lost_.erase(record.worker);
  if (record.kind == "checkpoint_failed") ForgetSave();
}

void Promises::On(const server::RequestRecord& record) {
  switch (record.kind) {
    case server::RequestKind::kPause:
      paused_ = true;
      return;
    case server::RequestKind::kResume:
      paused_ = false;
      return;
    case server::RequestKind::kDrain:
      drains_.insert(fmt::format("{}#{}", record.worker, record.incarnation));
      return;
    case server::RequestKind::kCheckpoint:
      save_due_ = true;
      return;
  }
}

// ------------------------------------------------------------------------------------ answers

void Promises::OnAnswer(const server::PauseRequested&, const server::SteerAnswer& answer) {
  if (!paused_) world_->Violate("a pause was answered before its record");
  if (answer.done && open_) world_->Violate("the job is said to be paused, a round is open");
}

void Promises::OnAnswer(const server::ResumeRequested&, const server::SteerAnswer&) {
  if (paused_) world_->Violate("a resume was answered before its record");
}

void Promises::OnAnswer(const server::DrainRequested& request, const server::SteerAnswer& answer) {
  const bool known = std::any_of(drains_.begin(), drains_.end(), [&](const std::string& id) {
    return NameOf(id) == request.worker;
  });
  if (!answer.done && !known) world_->Violate("a drain was answered before its record");
}

void Promises::OnAnswer(const server::CheckpointRequested&, const server::SteerAnswer& answer) {
  if (saved_.contains(answer.step)) return;
  if (answer.done) return world_->Violate("a checkpoint is said to be complete and is not");
  promised_save_ = answer.step;
}

void Promises::OnAnswer(const server::StopRequested&, const server::SteerAnswer& answer) {
  if (!answer.done) stopping_ = true;
}

void Promises::SeeGoodbye(const std::string& worker, const server::Goodbye& goodbye) {
  if (goodbye.reason != server::GoodbyeReason::kDrained) return;
  if (!drains_.contains(worker)) world_->Violate(worker + " leaves as drained, nobody asked");
  const bool ordered = open_ && Contains(open_->members, worker);
  if (ordered && !lost_.contains(NameOf(worker))) {
    world_->Violate(worker + " drains and was not let finish its order");
  }
}

}  // namespace rondo::simulation
