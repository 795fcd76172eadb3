#include "tests/simulation/oracle.h"

#include <fmt/format.h>

#include <algorithm>
#include <variant>

namespace rondo::simulation {

void Oracle::See(const server::Record& record) {
  if (end_ && !std::holds_alternative<server::NoticeRecord>(record)) Bad("a record after the end");
  std::visit([this](const auto& r) { On(r); }, record);
}

void Oracle::SeeSent(const server::CoordinatorBody& body) {
  if (const auto* assemble = std::get_if<server::Assemble>(&body)) {
    if (!groups_.contains(assemble->group.value)) Bad("Assemble left before its group's record");
  } else if (const auto* order = std::get_if<server::Order>(&body)) {
    if (order->round.value > last_order_) Bad("Order left before its record");
  } else if (const auto* commit = std::get_if<server::Commit>(&body)) {
    const auto it = history_.find(commit->round.value);
    if (it == history_.end() || it->second != commit->state_hash) {
      Bad("Commit left before its record");
    }
  }
}

void Oracle::SeeHolding(uint64_t round, uint64_t state) {
  if (round == 0) {
    if (state != States::kInitial) Bad("a worker has another initial state");
    return;
  }
  const auto it = history_.find(round);
  if (it == history_.end() || it->second != state) {
    Bad(fmt::format("a worker holds another state of round {} than was committed", round));
  }
}

void Oracle::On(const server::TermRecord& record) {
  if (record.term.value <= term_) Bad("terms must grow");
  term_ = record.term.value;
}

void Oracle::On(const server::GroupRecord& record) {
  if (!groups_.empty() && record.group.value <= groups_.rbegin()->first) Bad("groups must grow");
  std::vector<std::string> names;
  for (const server::Member& member : record.members) {
    names.push_back(fmt::format("{}#{}", member.name, member.incarnation));
  }
  if (!std::is_sorted(names.begin(), names.end())) Bad("ranks are not in name order");
  groups_[record.group.value] = names;
}

void Oracle::On(const server::OrderRecord& record) {
  if (open_) Bad("an order while a round is open");
  if (record.round.value <= last_order_) Bad("rounds must grow");
  if (record.first_step != step_) Bad("an order does not begin at the committed step");
  if (record.runs.size() != groups_[record.group.value].size()) Bad("an order misses members");
  last_order_ = record.round.value;
  open_ = record;
}

std::vector<Sample> Oracle::SamplesOf(const std::vector<server::SampleRun>& runs) {
  std::vector<Sample> samples;
  for (const server::SampleRun& run : runs) {
    for (uint64_t s = 0; s < run.steps; ++s) {
      for (uint64_t i = 0; i < run.count; ++i) {
        samples.emplace_back(run.epoch, run.first + s * run.advance + i * run.stride);
      }
    }
  }
  std::sort(samples.begin(), samples.end());
  return samples;
}

void Oracle::Use(const server::CommitRecord& record, const std::vector<Sample>& samples) {
  for (const Sample& sample : samples) {
    if (sample.second >= train_samples_) Bad("a sample beyond the training set");
    const auto [it, fresh] = used_.emplace(sample, record.round.value);
    if (!fresh || not_finite_.contains(sample)) {
      Bad(fmt::format("sample {} of epoch {} is used in round {} and in {}", sample.second,
                      sample.first, record.round, it->second));
    }
  }
}

void Oracle::On(const server::CommitRecord& record) {
  if (!open_ || open_->round != record.round) return Bad("a commit of a round that is not open");
  if (record.first_step != step_ || record.length != open_->length) Bad("a commit of other steps");
  const States::State* state = states_->Find(record.state_hash);
  if (state == nullptr) return Bad("a commit of a state that no reduce made");
  if (state->parent != head_) Bad("a commit that does not extend the committed state");
  retries_ += record.attempts - 1;

  std::vector<Sample> trained;
  for (uint64_t work : state->work) {
    const auto& samples = states_->work(work).samples;
    trained.insert(trained.end(), samples.begin(), samples.end());
  }
  std::sort(trained.begin(), trained.end());
  const std::vector<std::string>& members = groups_[open_->group.value];
  const std::vector<std::string>& attempt = groups_[record.group.value];
  std::vector<Sample> credited;
  for (size_t rank = 0; rank < members.size(); ++rank) {
    const std::string name = members[rank].substr(0, members[rank].find('#'));
    const auto samples = SamplesOf(open_->runs[rank]);
    const bool in = std::count(record.contributors.begin(), record.contributors.end(), name) > 0;
    if (in) {
      credited.insert(credited.end(), samples.begin(), samples.end());
    } else if (std::count(attempt.begin(), attempt.end(), members[rank]) > 0) {
      not_finite_.insert(samples.begin(), samples.end());
    }
  }
  std::sort(credited.begin(), credited.end());
  if (credited != trained) Bad("a commit counts other samples than its state was trained on");
  if (record.samples != credited.size()) Bad("a commit's number of samples is wrong");
  Use(record, credited);
  if (record.ledger.samples_used != used_.size()) {
    Bad(fmt::format("the ledger of round {} says {} samples were used, {} were", record.round,
                    record.ledger.samples_used, used_.size()));
  }
  ledger_ = record.ledger;
  history_[record.round.value] = record.state_hash;
  head_ = record.state_hash;
  step_ += record.length;
  open_.reset();
}

void Oracle::On(const server::VoidRecord& record) {
  if (!open_ || open_->round != record.round) Bad("a round is voided that is not open");
  open_.reset();
}

void Oracle::On(const server::EvaluationRecord& record) {
  if (record.step != step_) Bad("an evaluation of another step");
  if (evaluation_step_ == record.step) Bad("an evaluation is counted twice");
  evaluation_step_ = record.step;
}

void Oracle::On(const server::CheckpointRecord& record) {
  if (record.step != step_ || record.state_hash != head_) Bad("a checkpoint of another state");
  checkpoint_step_ = record.step;
}

void Oracle::On(const server::NoticeRecord& record) {
  world_->Log(fmt::format("{}: {}", record.kind, record.text));
}

void Oracle::On(const server::EndRecord& record) {
  end_ = record;
  if (record.step != step_) Bad("the end is at another step");
  if (history_.empty()) return;
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
