#include "tests/simulation/oracle.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <variant>

namespace rondo::simulation {

void Oracle::See(const server::Record& record) {
  const bool may_follow = std::holds_alternative<server::NoticeRecord>(record) ||
                          std::holds_alternative<server::TermRecord>(record);
  if (end_ && !may_follow) Bad("a record after the end");
  std::visit([this](const auto& r) { On(r); }, record);
}

void Oracle::SeeSent(const server::CoordinatorMessage& message) {
  if (!end_ && !terms_.contains(message.term.value)) {
    Bad("a message of another term than the journal's");
  }
  const server::CoordinatorBody& body = message.body;
  if (const auto* assemble = std::get_if<server::Assemble>(&body)) {
    if (!groups_.contains(assemble->group.value)) Bad("Assemble left before its group's record");
  } else if (const auto* order = std::get_if<server::Order>(&body)) {
    if (order->round.value > last_order_) Bad("Order left before its record");
  } else if (const auto* reduce = std::get_if<server::Reduce>(&body)) {
    if (reduce->round.value > last_order_) Bad("Reduce left before its order's record");
  } else if (const auto* commit = std::get_if<server::Commit>(&body)) {
    const auto it = history_.find(commit->round.value);
    const bool on_disk =
        (it != history_.end() && it->second.state == commit->state_hash) ||
        undone_.contains({commit->round.value, commit->state_hash});  // Since, in the same write.
    if (!on_disk) Bad("Commit left before its record");
  } else if (std::holds_alternative<server::Goodbye>(body)) {
    const auto& goodbye = std::get<server::Goodbye>(body);
    const bool over = goodbye.reason == server::GoodbyeReason::kDone ||
                      goodbye.reason == server::GoodbyeReason::kStopped ||
                      goodbye.reason == server::GoodbyeReason::kFault;
    if (over && !end_) Bad("Goodbye left before the end's record");
  }
}

void Oracle::SeeStaged(const std::string& worker, uint64_t round, uint64_t group, uint32_t attempt,
                       uint64_t state) {
  staged_[{round, group, attempt}][worker] = state;
}

void Oracle::SeeHolding(uint64_t round, uint64_t state) {
  const auto it = history_.find(round);
  const bool committed = it != history_.end() && it->second.state == state;
  // Who was away at a rewind may still apply what was committed before it.
  if (committed || undone_.contains({round, state})) return;
  Bad(fmt::format("a worker holds another state of round {} than was committed", round));
}

void Oracle::PutBack(const Oracle& copy) {
  Oracle lost = std::move(*this);
  *this = copy;
  undone_ = std::move(lost.undone_);
  for (const auto& [round, committed] : lost.history_) {
    if (!history_.contains(round)) undone_.insert({round, committed.state});
  }
  not_finite_in_ = std::move(lost.not_finite_in_);
  resumed_ = std::move(lost.resumed_);
  staged_ = std::move(lost.staged_);
  moments_at_ = std::move(lost.moments_at_);
  has_moments_ = std::move(lost.has_moments_);
  commits_ = lost.commits_;
  retries_ = lost.retries_;
  voids_ = lost.voids_;
  rewinds_ = lost.rewinds_;
}

void Oracle::On(const server::TermRecord& record) {
  if (record.term.value <= term_) Bad("terms must grow");
  if (end_ && end_->state == server::EndState::kDone) Bad("a term after the job was done");
  end_.reset();
  term_ = record.term.value;
  if (!record.beyond) terms_.clear();
  terms_.insert(term_);
}

void Oracle::On(const server::GroupRecord& record) {
  if (!groups_.empty() && record.group.value <= groups_.rbegin()->first) Bad("groups must grow");
  std::vector<std::string> names;
  for (const server::Member& member : record.members) {
    names.push_back(fmt::format("{}#{}", member.name, member.incarnation));
  }
  if (!std::is_sorted(names.begin(), names.end())) Bad("ranks are not in name order");
  groups_[record.group.value] = names;
  residuals_.SeeGroup(record);
  CheckNeeds(record);
}

// Rule 8: who has no moments, or spoilt ones, takes all from a peer.
void Oracle::CheckNeeds(const server::GroupRecord& record) {
  const bool at_border =
      record.purpose == server::Purpose::kStart || record.purpose == server::Purpose::kJoin;
  if (!at_border) return;
  for (const server::Member& member : record.members) {
    const std::string id = fmt::format("{}#{}", member.name, member.incarnation);
    const bool keeps = member.need == server::StateNeed::kHolds ||
                       member.need == server::StateNeed::kValues ||
                       member.need == server::StateNeed::kStep;
    if (keeps && !has_moments_.contains(id)) {
      Bad(id + " is to keep moments that it has not or that are wrong");
    }
    const auto left_at = moments_at_.find(id);
    if (keeps && left_at != moments_at_.end() && left_at->second != head_) {
      Bad(id + " is to keep moments of steps that are not in the job's state");
    }
  }
}

void Oracle::On(const server::OrderRecord& record) {
  const bool goes_on = !open_.empty() && open_.back().round == record.round;
  if (!open_.empty() && !goes_on) Bad("an order while another round is open");
  if (goes_on) {
    const server::OrderRecord& last = open_.back();
    if (record.group <= last.group) Bad("a round goes on in an older group");
    if (record.first_step < last.first_step ||
        record.first_step + record.length != last.first_step + last.length) {
      Bad("a round goes on elsewhere than it was");
    }
  } else if (record.first_step != step_) {
    Bad("an order does not begin at the committed step");
  }
  if (!goes_on && record.round.value <= last_order_) Bad("rounds must grow");
  if (record.runs.size() != groups_[record.group.value].size()) Bad("an order misses members");
  if (goes_on && record.collective != open_.back().collective) {
    Bad("the collective changes in the middle of a round");
  }
  if (!goes_on) CheckCollective(record);
  residuals_.SeeOrder(record, goes_on);
  last_order_ = record.round.value;
  open_.push_back(record);
}

// Kind auto: four rounds of each with two members at least, in turn; then the faster one.
void Oracle::CheckCollective(const server::OrderRecord& record) {
  constexpr int kEach = 4;
  server::Collective expected = collective_;
  if (collective_ == server::Collective::kAuto) {
    const int ring = measured_[server::Collective::kRing];
    const int sparse = measured_[server::Collective::kSparse];
    const bool known = ring >= kEach && sparse >= kEach;
    const bool next = record.runs.size() > 1 && sparse < ring;
    expected = (known ? sparse_is_faster_ : next) ? server::Collective::kSparse
                                                  : server::Collective::kRing;
  }
  if (record.collective != expected) Bad("an order of another collective than is due");
}

void Oracle::On(const server::CommitRecord& record) {
  if (open_.empty() || open_.back().round != record.round) {
    return Bad("a commit of a round that is not open");
  }
  const server::OrderRecord& last = open_.back();
  if (record.first_step != step_ ||
      record.first_step + record.length != last.first_step + last.length) {
    Bad("a commit of other steps");
  }
  if (record.reductions > 0 && record.contributors.size() > 1 && record.members.size() > 1) {
    int& measured = measured_[record.collective];
    measured = std::min(measured + 1, 4);
  }
  retries_ += record.attempts - 1;
  ++commits_;
  CheckSamples(record);
  residuals_.SeeCommit(record, head_,
                       staged_[{record.round.value, record.group.value, record.attempt}]);
  FindOddOnes(record);
  ledger_ = record.ledger;
  head_ = record.state_hash;
  step_ += record.length;
  history_[record.round.value] = {head_, step_, ledger_};
  open_.clear();
}

void Oracle::FindOddOnes(const server::CommitRecord& record) {
  for (const auto& [worker, state] :
       staged_[{record.round.value, record.group.value, record.attempt}]) {
    if (state != record.state_hash) has_moments_.erase(worker);
  }
  staged_.erase(staged_.begin(), staged_.lower_bound({record.round.value + 1, 0, 0}));
}

void Oracle::On(const server::VoidRecord& record) {
  if (open_.empty() || open_.back().round != record.round) {
    Bad("a round is voided that is not open");
  }
  ++voids_;
  open_.clear();
}

void Oracle::On(const server::EvaluationRecord& record) {
  if (record.step != step_) Bad("an evaluation of another step");
  if (evaluation_step_ == record.step) Bad("an evaluation is counted twice");
  evaluation_step_ = record.step;
}

void Oracle::On(const server::CheckpointRecord& record) {
  if (record.step != step_ || record.state_hash != head_) Bad("a checkpoint of another state");
  checkpoint_step_ = record.step;
  residuals_.SeeCheckpoint(record);
  checkpoints_.insert(history_.rbegin()->first);
}

// Rule 21: back to the newest complete checkpoint, without one to the beginning.
void Oracle::On(const server::RewindRecord& record) {
  const uint64_t newest = checkpoints_.empty() ? 0 : *checkpoints_.rbegin();
  const uint64_t to = record.to_round.value;
  if (to != newest) Bad("a rewind to another than the newest checkpoint");
  const auto it = history_.find(to);
  if (it == history_.end()) return Bad("a rewind to a round that is not committed");
  head_ = it->second.state;
  step_ = it->second.step;
  ledger_ = it->second.ledger;
  if (record.to_step != step_) Bad("a rewind to another step");
  residuals_.SeeRewind(record);
  const bool differs = record.reason.find("different parameters") != std::string::npos;
  if (differs && !may_differ_) Bad("members have different states");
  for (auto later = std::next(it); later != history_.end(); later = history_.erase(later)) {
    undone_.insert({later->first, later->second.state});
  }
  const auto undone = [to](const auto& entry) { return entry.second > to; };
  std::erase_if(used_, undone);
  std::erase_if(not_finite_, undone);
  has_moments_.clear();
  open_.clear();
  evaluation_step_.reset();
  checkpoint_step_.reset();
  if (to != 0) checkpoint_step_ = step_;
  ++rewinds_;
}

void Oracle::On(const server::NoticeRecord& record) {
  residuals_.SeeNotice(record);
  const bool differs = record.kind == "odd_result" ||
                       (record.kind == "left_out" && record.text.find("hash") != std::string::npos);
  if (differs && !may_differ_) Bad("members have different states: " + record.text);
}

void Oracle::On(const server::EndRecord& record) {
  end_ = record;
  residuals_.SeeEnd(record);
  if (record.step != step_) Bad("the end is at another step");
  if (history_.size() == 1) return;
  const uint64_t epochs = ledger_.epoch + (ledger_.position > 0 ? 1 : 0);
  const uint64_t accounted = used_.size() + ledger_.samples_dropped + record.samples_unused;
  if (accounted != epochs * train_samples_) {
    Bad(fmt::format("of {} epochs of {} samples, {} were used, {} dropped, {} left", epochs,
                    train_samples_, used_.size(), ledger_.samples_dropped, record.samples_unused));
  }
  if (record.state != server::EndState::kFailed && checkpoint_step_ != step_) {
    Bad("an orderly end without a checkpoint");
  }
}

}  // namespace rondo::simulation
