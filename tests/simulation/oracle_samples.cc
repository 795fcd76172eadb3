// The ledger's side of the oracle: which samples a commit counts, and which its state was trained
// on.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "server/core/policy.h"
#include "tests/simulation/oracle.h"

namespace rondo::simulation {
namespace {

void Append(const std::vector<Sample>& from, std::vector<Sample>* to) {
  to->insert(to->end(), from.begin(), from.end());
}

}  // namespace

std::vector<Sample> Oracle::Done(size_t order, size_t rank) const {
  const server::OrderRecord& record = open_[order];
  std::vector<server::SampleRun> runs = record.runs[rank];
  uint64_t steps = record.length;
  if (order + 1 < open_.size()) steps = open_[order + 1].first_step - record.first_step;
  uint64_t begins = 0;  // The run's first step within the order.
  uint64_t block = 0;   // Steps of the run before it.
  for (server::SampleRun& run : runs) {
    if (!run.same_steps) begins += block;
    block = run.steps;
    run.steps = begins >= steps ? 0 : std::min(run.steps, steps - begins);
  }
  return SamplesOf(runs);
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

std::optional<std::vector<Sample>> Oracle::TrainedFor(const server::CommitRecord& record) {
  std::vector<Sample> trained;
  for (uint64_t at = record.state_hash; at != head_;) {
    const States::State* state = states_->Find(at);
    if (state == nullptr) {
      Bad("a commit of a state that does not extend the committed one");
      return std::nullopt;
    }
    for (uint64_t work : state->work) Append(states_->work(work).samples, &trained);
    at = state->parent;
  }
  std::sort(trained.begin(), trained.end());
  return trained;
}

Oracle::Dealt Oracle::DealtFor(const server::CommitRecord& record) {
  const std::vector<std::string>& attempt = groups_[record.group.value];
  const bool parallel = record.mode == RoundMode::kParallel;
  Dealt dealt;
  for (size_t order = 0; order < open_.size(); ++order) {
    const uint64_t group = open_[order].group.value;
    const std::vector<std::string>& members = groups_[group];
    for (size_t rank = 0; rank < members.size(); ++rank) {
      const std::string name = members[rank].substr(0, members[rank].find('#'));
      const auto samples = Done(order, rank);
      const bool in = std::count(record.contributors.begin(), record.contributors.end(), name) > 0;
      if (parallel && not_finite_in_.contains({group, members[rank]})) {
        dealt.unclear.push_back(samples);
      } else if (in) {
        Append(samples, &dealt.credited);
      } else if (std::count(attempt.begin(), attempt.end(), members[rank]) > 0) {
        for (const Sample& sample : samples) not_finite_.emplace(sample, record.round.value);
      }
    }
  }
  std::sort(dealt.credited.begin(), dealt.credited.end());
  return dealt;
}

// Who was not finite in a step of a parallel order has its samples of that order dropped, those of
// its other steps, too; who died before it could say so has them counted as used. The commit's
// number of samples tells which.
bool Oracle::ExplainUnclear(const server::CommitRecord& record, Dealt* dealt) {
  const size_t count = dealt->unclear.size();
  for (uint64_t subset = 0; subset < (uint64_t{1} << std::min<size_t>(count, 16)); ++subset) {
    size_t sum = dealt->credited.size();
    for (size_t i = 0; i < count; ++i) {
      if ((subset >> i & 1) != 0) sum += dealt->unclear[i].size();
    }
    if (sum != record.samples) continue;
    for (size_t i = 0; i < count; ++i) {
      if ((subset >> i & 1) != 0) {
        Append(dealt->unclear[i], &dealt->credited);
      } else {
        for (const Sample& s : dealt->unclear[i]) not_finite_.emplace(s, record.round.value);
      }
    }
    return true;
  }
  return false;
}

void Oracle::CheckSamples(const server::CommitRecord& record) {
  const auto trained = TrainedFor(record);
  if (!trained) return;
  Dealt dealt = DealtFor(record);
  std::vector<Sample> unclear;
  for (const auto& samples : dealt.unclear) Append(samples, &unclear);
  std::sort(unclear.begin(), unclear.end());
  std::vector<Sample> clear;
  std::set_difference(trained->begin(), trained->end(), unclear.begin(), unclear.end(),
                      std::back_inserter(clear));
  if (dealt.credited != clear) Bad("a commit counts other samples than its state was trained on");
  if (!ExplainUnclear(record, &dealt)) Bad("a commit's number of samples is wrong");
  Use(record, dealt.credited);
  if (record.ledger.samples_used != used_.size()) {
    Bad(fmt::format("the ledger of round {} says {} samples were used, {} were", record.round,
                    record.ledger.samples_used, used_.size()));
  }
}

}  // namespace rondo::simulation
