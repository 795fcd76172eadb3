// Orders and reduces of a simulated worker.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "common/mix64.h"
#include "tests/simulation/sim_worker.h"
#include "worker/core/permutation.h"
#include "worker/core/sampler.h"

namespace rondo::simulation {

std::vector<std::vector<Sample>> SimWorker::SamplesOf(const worker::Order& order) {
  std::vector<SampleRun> runs;
  for (const worker::SampleRun& r : order.runs) {
    runs.push_back({static_cast<int64_t>(r.epoch), static_cast<int64_t>(r.first),
                    static_cast<int64_t>(r.count), static_cast<int64_t>(r.stride),
                    static_cast<int64_t>(r.steps), static_cast<int64_t>(r.advance), r.same_steps});
  }
  EpochOrders orders(1, around_.train_samples, false);
  auto sampler = Sampler::Create(runs, static_cast<int64_t>(order.length), &orders);
  std::vector<std::vector<Sample>> samples(order.length);
  if (!sampler.ok()) {
    around_.world->Violate(id_ + ": " + sampler.status().ToString());
    return samples;
  }
  for (int64_t step = 0; step < static_cast<int64_t>(order.length); ++step) {
    const StepSamples batch = sampler->Samples(step);
    if (static_cast<double>(batch.positions.size()) != order.weight) {
      around_.world->Violate(fmt::format("{}: step {} of round {} has {} samples, weight is {}",
                                         id_, step, order.round, batch.positions.size(),
                                         order.weight));
    }
    for (size_t i = 0; i < batch.positions.size(); ++i) {
      samples[static_cast<size_t>(step)].emplace_back(batch.epochs[i], batch.positions[i]);
    }
  }
  return samples;
}

void SimWorker::Do(const worker::Train& command) {
  const worker::Order order = command.order;
  if (!state_) return around_.world->Violate(id_ + " trains without a state");
  if (order.rates.size() != order.length) around_.world->Violate(id_ + ": rates are missing");
  const uint64_t training = ++training_;
  samples_ = SamplesOf(order);
  collective_ = order.collective;
  if (order.mode != residual_mode_) residual_.clear();
  residual_mode_ = order.mode;
  if (order.mode == worker::Mode::kParallel) return TrainParallel(order, training);
  TrainLocal(order, training);
}

void SimWorker::TrainLocal(const worker::Order& order, uint64_t training) {
  uint64_t first = 0;
  if (!Resume(order, &first)) {
    finite_ = !around_.world->Strikes(around_.weather->not_finite);
    spoils_moments_ = !finite_ && around_.world->Chance(0.5);
  }
  std::vector<Sample> all;
  for (const auto& step : samples_) all.insert(all.end(), step.begin(), step.end());
  work_ = around_.states->AddWork({id_, order.round.value, std::move(all)});
  const absl::Duration step = around_.step * absl::ToDoubleSeconds(around_.world->Between(
                                                 absl::Seconds(0.5), absl::Seconds(1.5)));
  const uint64_t every = around_.partial_every;
  for (uint64_t i = first + 1; every != 0 && order.length > every && i < order.length; ++i) {
    const uint64_t next_step = order.first_step + i;
    if (next_step % every != 0) continue;
    Later(static_cast<double>(i - first) * step, [this, order, training, next_step]() {
      if (training == training_) SavePartial(order, next_step);
    });
  }
  Later(static_cast<double>(order.length - first) * step, [this, order, training]() {
    WhenMoving([this, order, training]() {
      if (training == training_) Handle(worker::StepsDone{ReadyOf(order)});
    });
  });
}

// True: the order's first steps are done already, in another process.
bool SimWorker::Resume(const worker::Order& order, uint64_t* first) {
  if (!partial_) return false;
  const Partial partial = *std::exchange(partial_, std::nullopt);
  std::vector<Sample> done;
  for (const auto& step : samples_) {
    if (done.size() == partial.samples.size()) break;
    done.insert(done.end(), step.begin(), step.end());
    ++*first;
  }
  if (partial.first_step != order.first_step || done != partial.samples) {
    around_.world->Violate(id_ + "'s partial is of other samples than its order");
  }
  finite_ = partial.finite;
  spoils_moments_ = partial.spoils_moments;
  around_.oracle->SeeResumed(order.round.value);
  return true;
}

void SimWorker::SavePartial(const worker::Order& order, uint64_t next_step) {
  Partial partial{.base = *state_,
                  .first_step = order.first_step,
                  .samples = {},
                  .finite = finite_,
                  .spoils_moments = spoils_moments_,
                  .residual = residual_};
  for (uint64_t i = 0; i < next_step - order.first_step; ++i) {
    partial.samples.insert(partial.samples.end(), samples_[i].begin(), samples_[i].end());
  }
  around_.partials->Put(order.round.value, next_step, name_, formed_.assemble.members.size(),
                        std::move(partial));
}

void SimWorker::WhenMoving(std::function<void()> what) {
  const absl::Duration rest = stalled_until_ - around_.world->now();
  if (rest <= absl::ZeroDuration()) return what();
  Later(rest, [this, what = std::move(what)]() { WhenMoving(what); });
}

worker::Ready SimWorker::ReadyOf(const worker::Order& order) const {
  worker::Ready ready;
  ready.group = order.group;
  ready.round = order.round;
  ready.steps = order.length;
  ready.samples = static_cast<uint64_t>(order.weight) * order.length;
  ready.loss_sum = static_cast<double>(order.length);
  ready.finite = finite_;
  ready.step_seconds = 0.01;
  return ready;
}

void SimWorker::Do(const worker::DropOrder&) {
  ++training_;
  work_ = 0;
  if (round_ != 0) around_.oracle->SeeMoments(id_, working_);
  round_ = 0;
  flawed_ = false;
  spoils_moments_ = false;
}

uint64_t SimWorker::Average(uint64_t parent, const std::set<uint64_t>& work, const Pieces& taken) {
  return around_.sparse ? around_.states->Average(parent, work, taken)
                        : around_.states->Average(parent, work);
}

Pieces SimWorker::TakenFrom(const Meeting& meeting) const {
  Pieces taken;
  if (!around_.sparse) return taken;
  const Taking taking = collective_ == worker::Collective::kRing     ? Taking::kAll
                        : collective_ == worker::Collective::kSparse ? Taking::kBest
                                                                     : Taking::kOwn;
  uint64_t salt = 0;
  for (const auto& [rank, offer] : meeting.offers) salt += Mix64(offer.work);
  for (const auto& [rank, offer] : meeting.offers) {
    if (offer.weight == 0) continue;
    for (const Piece& piece : DeliveredBy(taking, salt, offer.work, offer.residual)) {
      const bool fresh = taken.insert(piece).second;
      if (!fresh) around_.world->Violate("two members deliver the same piece");
    }
  }
  return taken;
}

std::set<uint64_t> SimWorker::WorkOf(const Meeting& meeting) const {
  std::set<uint64_t> work;
  std::set<uint64_t> bases;
  for (const auto& [rank, offer] : meeting.offers) {
    if (!offer.flawed) bases.insert(offer.base);
    if (offer.work == 0) around_.world->Violate(offer.worker + " reduces without work");
    if (offer.weight > 0) work.insert(offer.work);
  }
  if (bases.size() > 1) around_.world->Violate("a reduce mixes different states");
  return work;
}

worker::ReduceFacts SimWorker::FactsOf(uint64_t state, const Pieces& residual,
                                       uint64_t reductions) const {
  worker::ReduceFacts facts;
  facts.residual_norm_squared = static_cast<double>(residual.size());
  facts.state_hash = state;
  facts.parameter_norm_squared = 1;
  facts.costs = {{CostPhase::kReduce, 100, 100, 10, 0.01, 1}};
  facts.reduce_seconds = 0.01 * static_cast<double>(reductions);
  if (collective_ == worker::Collective::kRing) return facts;
  facts.sparse = SparseStats{.reductions = reductions, .selected = 3, .region_entries = 3};
  facts.reduce_seconds *= around_.sparse_is_faster ? 0.1 : 2;
  return facts;
}

std::string SimWorker::KeyOf(uint64_t round, uint64_t group, uint32_t attempt) {
  return fmt::format("reduce {} {} {}", round, group, attempt);
}

void SimWorker::Do(const worker::ReduceState& command) {
  const worker::Reduce reduce = command.reduce;
  Offer offer = OfferOf(reduce.group.value);
  offer.weight = reduce.contributors[formed_.rank].weight;
  if (offer.weight > 0 && !finite_) around_.world->Violate(id_ + " is not finite and counts");
  if (offer.weight > 0 && sick_) around_.world->Violate(id_ + " trained with spoilt moments");
  Join(
      KeyOf(reduce.round.value, reduce.group.value, reduce.attempt), offer,
      [this, reduce](const Meeting& meeting) { FinishReduce(reduce, meeting); },
      [this, reduce](const std::string& why) {
        worker::Failed failed;
        failed.group = reduce.group;
        failed.round = reduce.round;
        failed.attempt = reduce.attempt;
        failed.cause = worker::FailureCause::kPeer;
        failed.text = why;
        Handle(worker::ReduceFailed{failed});
      });
}

void SimWorker::FinishReduce(const worker::Reduce& reduce, const Meeting& meeting) {
  const Pieces taken = TakenFrom(meeting);
  uint64_t state = Average(meeting.offers.begin()->second.base, WorkOf(meeting), taken);
  const bool counts = reduce.contributors[formed_.rank].weight > 0;
  const Pieces residual = counts && around_.sparse ? LeftOf(residual_, work_, taken) : residual_;
  // One alone cannot be contradicted.
  if (meeting.offers.size() > 1 && around_.world->Strikes(around_.weather->flips)) {
    state += incarnation_;
  }
  staged_[KeyOf(reduce.round.value, reduce.group.value, reduce.attempt)] = {state, residual};
  around_.oracle->SeeStaged(id_, reduce.round.value, reduce.group.value, reduce.attempt, state);
  worker::Reduced reduced;
  reduced.group = reduce.group;
  reduced.round = reduce.round;
  reduced.attempt = reduce.attempt;
  reduced.reduced = FactsOf(state, residual, 1);
  reduced.finite = !sick_ && !spoils_moments_;
  Handle(worker::ReduceDone{reduced});
}

void SimWorker::Do(const worker::ApplyStaged& command) {
  const auto staged =
      staged_.find(KeyOf(command.round.value, command.group.value, command.attempt));
  if (staged == staged_.end()) return around_.world->Violate(id_ + " applies what is not staged");
  state_ = staged->second.state;
  residual_ = staged->second.residual;
  around_.oracle->SeeResidual(id_, command.round.value, residual_);
  sick_ = sick_ || spoils_moments_;
  spoils_moments_ = false;
  around_.oracle->SeeHolding(command.round.value, *state_);
  staged_.clear();
  work_ = 0;
  round_ = 0;
  flawed_ = false;
}

void SimWorker::Do(const worker::DropStaged& command) {
  staged_.erase(KeyOf(command.round.value, command.group.value, command.attempt));
}

}  // namespace rondo::simulation
