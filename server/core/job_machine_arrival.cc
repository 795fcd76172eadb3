// Streams, arrival, and who is let go.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "server/core/facts.h"
#include "server/core/job_machine_impl.h"

namespace rondo::server {

void JobMachine::Impl::On(const StreamOpened& event) {
  pending_[event.stream] = now_ + config_.limits.silent;
}

void JobMachine::Impl::On(const Malformed& event) {
  if (Worker* worker = roster_.FindByStream(event.stream)) {
    return RefuseWorker(*worker, RefuseReason::kProtocol, event.text);
  }
  if (!pending_.contains(event.stream)) return;
  Note("refused", event.text);
  SayOn(event.stream, Refuse{RefuseReason::kProtocol, event.text});
  Close(event.stream, "");
}

void JobMachine::Impl::OnHello(StreamId stream, const std::string& job_id, const Hello& hello) {
  const HelloDecision decision =
      DecideHello({config_.job_id, config_.device, config_.workers_max, torch_version_,
                   nccl_version_, phase_ == Phase::kOver},
                  roster_, job_id, hello);
  waiting_.erase({hello.name, hello.incarnation});
  Worker* known = roster_.Find(hello.name);
  switch (decision.verdict) {
    case HelloVerdict::kStale:
      return Close(stream, decision.text);
    case HelloVerdict::kWait:
      return TellToWait(stream, hello, Wait{decision.wait, decision.text, 1});
    case HelloVerdict::kOver:
      SayOn(stream, end_goodbye_);
      return Close(stream, "");
    case HelloVerdict::kRefuse:
      Note("refused", fmt::format("worker {}: {}", hello.name, decision.text));
      SayOn(stream, Refuse{decision.refuse, decision.text});
      return Close(stream, "");
    case HelloVerdict::kLeft:
      SayOn(stream, known->goodbye);
      return Close(stream, "");
    case HelloVerdict::kReplaces:
      if (!known->gone()) Lose(*known, "a new process came under its name");
      known = nullptr;
      break;
    case HelloVerdict::kWelcome:
      break;
  }
  if (known == nullptr && MakeWait(stream, hello)) return;
  Worker& worker = known != nullptr ? *known : roster_.Enter(hello, now_);
  WelcomeWorker(worker, stream, hello);
}

// It asks again after `wait.retry_seconds`.
void JobMachine::Impl::TellToWait(StreamId stream, const Hello& hello, Wait wait) {
  const absl::Duration retry = std::min(absl::Seconds(wait.retry_seconds), config_.limits.lost);
  std::erase_if(waiting_, [this](const auto& entry) { return entry.second <= now_; });
  if (waiting_.size() < kGoneKept) {
    waiting_[{hello.name, hello.incarnation}] = now_ + retry + config_.limits.silent;
  }
  SayOn(stream, std::move(wait));
  Close(stream, "");
}

void JobMachine::Impl::WelcomeWorker(Worker& worker, StreamId stream, const Hello& hello) {
  TakeStream(worker, stream, hello);
  const Returning returning = hello.returning.value_or(Returning{});
  const bool over = phase_ == Phase::kOver;
  const bool foreign = !over && IsForeign(returning);
  if (foreign) MeetOtherHistory(worker, *returning.seen);
  Welcome welcome;
  welcome.life = Life();
  welcome.fates = AdoptState(worker, returning, foreign);
  welcome.order_fate =
      foreign ? RefuseForeignOrder(worker, returning) : AdoptOrder(worker, returning);
  if (foreign) {
    // Its group is none of this history's, whatever its number.
  } else if (assembly_) {
    welcome.assembly = assembly_->group.id;
  } else if (group_) {
    welcome.assembly = group_->id;
  }
  if (round_ && round_->attempt) welcome.attempt = round_->attempt->number;
  welcome.reference = reference_;
  // A worker hears no Welcome of an older term, but a Goodbye.
  const bool deaf = over && returning.seen && returning.seen->term > config_.term;
  if (!deaf) Say(worker, std::move(welcome));
  if (over) return LetGo(worker, end_goodbye_);
  for (const StagedResult& staged : returning.staged) SayOddOneOut(worker, staged);
  const bool ordered = round_ && round_->Find(worker.name, worker.incarnation) != nullptr;
  if (Drains(worker) && !ordered && !IsMember(worker) && !Holds(worker)) {
    return LetDrainedGo(worker);
  }
  SendUnanswered(worker);
}

void JobMachine::Impl::TakeStream(Worker& worker, StreamId stream, const Hello& hello) {
  pending_.erase(stream);
  if (worker.stream) Close(worker.stream, "the worker has dialled again");
  if (torch_version_.empty()) {
    torch_version_ = hello.torch_version;
    nccl_version_ = hello.nccl_version;
  }
  NoteReturn(worker);
  if (worker.standing == Standing::kLost) {
    worker.standing = worker.candidate_since == absl::InfiniteFuture() ? Standing::kPreparing
                                                                       : Standing::kPrepared;
  }
  worker.stream = stream;
  worker.dial = hello.dial;
  worker.device = hello.device;
  worker.host = hello.host;
  worker.pid = hello.pid;
  worker.heard = now_;
  worker.fell_silent = false;
}

// Whose result was outvoted learns it from the Commit, whenever that was: it drops its state
// (rule 8).
void JobMachine::Impl::SayOddOneOut(Worker& worker, const StagedResult& staged) {
  if (!IsOdd(staged)) return;
  const auto it = history_.commits.find(staged.round);
  Say(worker,
      Commit{staged.group, staged.round, staged.attempt, it->second.state_hash, committed_.step});
}

bool JobMachine::Impl::IsOdd(const StagedResult& staged) const {
  const auto it = history_.commits.find(staged.round);
  return it != history_.commits.end() && it->second.group == staged.group &&
         it->second.attempt == staged.attempt && it->second.state_hash != staged.state_hash;
}

// What the worker holds, from what it says and what the journal knows (rules 2, 7, 8).
std::vector<StagedFate> JobMachine::Impl::AdoptState(Worker& worker, const Returning& returning,
                                                     bool foreign) {
  const auto committed = history_.commits.find(returning.round);
  if (!returning.round && returning.state_hash != 0 && !committed_.round) {
    worker.holds.reset();
    if (WasRestored(worker, returning)) worker.holds = RoundId{};
  } else if (returning.round) {
    bool known =
        committed != history_.commits.end() && committed->second.state_hash == returning.state_hash;
    if (returning.round == committed_.round && !known) known = WasRestored(worker, returning);
    worker.holds = known ? std::optional(returning.round) : std::nullopt;
  } else if (worker.holds && *worker.holds) {
    worker.holds.reset();  // It had a state and says that it has none.
  }
  if (!returning.finite) worker.debt = Debt::kMoments;
  std::vector<StagedFate> fates;
  for (const StagedResult& staged : returning.staged) {
    StagedFate fate{staged.round, staged.group, staged.attempt, Fate::kAborted};
    const auto it = history_.commits.find(staged.round);
    if (it != history_.commits.end() && it->second.group == staged.group &&
        it->second.attempt == staged.attempt && it->second.state_hash == staged.state_hash) {
      fate.fate = Fate::kCommitted;
      worker.holds = staged.round;
      worker.debt = staged.finite ? Debt::kNone : Debt::kMoments;
    } else if (!foreign && round_ && round_->attempt && round_->id == staged.round &&
               round_->attempt->group == staged.group &&
               round_->attempt->number == staged.attempt) {
      fate.fate = Fate::kOpen;
    } else if (IsOdd(staged)) {
      fate.fate = Fate::kOpen;  // Commit follows.
    }
    fates.push_back(fate);
  }
  return fates;
}

// Right after a rewind: it took part in a group since then, so what it holds is the restored state.
bool JobMachine::Impl::WasRestored(const Worker& worker, const Returning& returning) const {
  const auto it = history_.restored.find(worker.name);
  return it != history_.restored.end() && it->second == worker.incarnation &&
         returning.state_hash == committed_.state_hash;
}

OrderFate JobMachine::Impl::AdoptOrder(Worker& worker, const Returning& returning) {
  RoundMember* member = round_ ? round_->Find(worker.name, worker.incarnation) : nullptr;
  if (member != nullptr && round_->mode == RoundMode::kParallel) {
    const OrderFate fate = AdoptParallelOrder(worker, *member, returning);
    if (!member->out) return fate;
  }
  if (returning.order && returning.order->round > committed_.round && Holds(worker) &&
      NextMode() == RoundMode::kParallel) {
    // Rule 18: one in the middle of an order that is not open holds nothing.
    worker.holds.reset();
  }
  const bool current = Holds(worker);
  if (returning.order && member != nullptr && !member->out &&
      returning.order->round == round_->id && current) {
    member->carries = true;
    return OrderFate::kRenewed;
  }
  if (member != nullptr) {
    member->carries = false;
    if (round_->mode == RoundMode::kLocal) member->ready.reset();
    if (HasLeftOrdersGroup(returning)) member->out = true;
  }
  if (current) {
    if (worker.debt != Debt::kMoments) worker.debt = Debt::kNone;
  } else if (!worker.holds || worker.debt == Debt::kMoments) {
    worker.debt = Debt::kAll;
  } else if (!returning.order) {
    worker.debt = Debt::kValues;  // It only missed commits.
  } else {
    // Its steps went into the commit, and it reported no other result: its moments are good.
    const auto& in = committed_.contributors;
    const bool contributed = std::any_of(in.begin(), in.end(), [&](const Member& m) {
      return m.name == worker.name && m.incarnation == worker.incarnation;
    });
    const bool odd =
        std::any_of(returning.staged.begin(), returning.staged.end(),
                    [&](const StagedResult& s) { return s.round == committed_.round; });
    const bool its_round = returning.order->round == committed_.round;
    const bool done = returning.order->done;  // Else it lacks steps of a parallel round.
    worker.debt = contributed && its_round && done && !odd ? Debt::kValues : Debt::kAll;
  }
  return returning.order ? OrderFate::kWithdrawn : OrderFate::kNone;
}

// Rule 3: what the worker has not answered is sent again on its new stream.
void JobMachine::Impl::SendUnanswered(Worker& worker) {
  if (assembly_) {
    const auto rank = assembly_->group.RankOf(worker.name, worker.incarnation);
    if (!rank || assembly_->formed[*rank]) return;
    Say(worker, assembly_->message);
    if (assembly_->meshed) Say(worker, MeshOf(*assembly_, config_.token_seed));
    return;
  }
  if (round_) {
    RoundMember* member = round_->Find(worker.name, worker.incarnation);
    if (member == nullptr) return;
    const auto index = static_cast<size_t>(member - round_->members.data());
    const bool local = round_->mode == RoundMode::kLocal;
    const bool adopted = local && round_->adopted && round_->attempts == 0;
    const bool live = (group_ && group_->id == round_->group) || adopted;
    if (phase_ == Phase::kTraining && live && !member->carries && !member->out && Holds(worker)) {
      Say(worker, OrderFor(*round_, index));
      member->carries = true;
    }
    if (phase_ != Phase::kReducing) return;
    for (const Contribution& c : round_->attempt->contributions) {
      if (c.member == index && !c.reduced && !c.failed) Say(worker, ReduceOf(*round_));
    }
    return;
  }
  if (!group_) return;
  const auto rank = group_->RankOf(worker.name, worker.incarnation);
  if (!rank) return;
  if (phase_ == Phase::kEvaluating && !evaluation_->shares[*rank]) {
    Say(worker, EvaluateNow{group_->id, committed_.round});
  }
  if (phase_ == Phase::kSaving && !save_->parts[*rank]) Say(worker, save_->asked[*rank]);
}

void JobMachine::Impl::On(Worker& worker, const Prepared& message) {
  if (worker.gone() || worker.prepared()) return;
  if (message.problem) {
    const bool files = message.problem->fault == PrepareFault::kFiles;
    return RefuseWorker(worker, files ? RefuseReason::kFiles : RefuseReason::kModel,
                        message.problem->text);
  }
  if (!AcceptReference(worker, message.facts)) return;
  worker.standing = Standing::kPrepared;
  worker.candidate_since = now_;
  Note("worker_joined",
       fmt::format("{} ({}, process {}) is ready", worker.name, worker.host, worker.pid),
       worker.name);
}

bool JobMachine::Impl::AcceptReference(Worker& worker, const Facts& facts) {
  if (reference_) {
    const auto problem = CompareFacts(*reference_, facts);
    if (problem) RefuseWorker(worker, problem->reason, problem->text);
    return !problem;
  }
  const std::string wrong = ResolveSteps(facts);
  if (!wrong.empty()) {
    RefuseWorker(worker, RefuseReason::kFiles, wrong);
    return false;
  }
  reference_ = facts;
  Journal(ReferenceRecord{facts, static_cast<uint64_t>(config_.schedule.steps)});
  return true;
}

std::string JobMachine::Impl::ResolveSteps(const Facts& facts) {
  const uint64_t largest = GlobalBatch(config_.workers_max);
  if (facts.train_samples == 0 || largest > facts.train_samples) {
    return fmt::format(
        "a step takes up to {} samples, the training set has {}: choose a smaller batch", largest,
        facts.train_samples);
  }
  if (config_.has_test_set && facts.test_samples == 0) return "the test set is empty";
  if (config_.epochs == 0) return "";
  const auto steps = static_cast<int64_t>(config_.epochs * (facts.train_samples / largest));
  if (config_.schedule.steps != 0 && config_.schedule.steps != steps) {
    return fmt::format(
        "{} training samples make {} steps, the job was frozen with {}: the training set is "
        "another",
        facts.train_samples, steps, config_.schedule.steps);
  }
  config_.schedule.steps = steps;
  return "";
}

void JobMachine::Impl::RefuseWorker(Worker& worker, RefuseReason reason, std::string text) {
  Note("refused", fmt::format("worker {}: {}", worker.name, text), worker.name);
  Say(worker, Refuse{reason, text});
  if (worker.stream) Close(worker.stream, "");
  worker.stream = {};
  worker.standing = Standing::kRefused;
  worker.gone_since = now_;
  worker.refused = reason;
  worker.text = std::move(text);
}

void JobMachine::Impl::LetGo(Worker& worker, Goodbye goodbye) {
  Say(worker, goodbye);
  if (worker.stream) Close(worker.stream, "");
  worker.stream = {};
  worker.standing = Standing::kLeft;
  worker.gone_since = now_;
  worker.text = goodbye.text;
  worker.goodbye = std::move(goodbye);
}

}  // namespace rondo::server
