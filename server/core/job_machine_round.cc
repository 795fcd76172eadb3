// One round: order, ready, attempts, commit.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

#include "server/core/job_machine_impl.h"
#include "server/core/words.h"

namespace rondo::server {

uint64_t JobMachine::Impl::GlobalBatch(size_t members) const {
  return config_.batch_global != 0 ? config_.batch_global : config_.batch_per_worker * members;
}

absl::Duration JobMachine::Impl::CollectiveLimit() const {
  // While collectives are compared the next one may take as long as the slowest has.
  const double last =
      std::max(committed_.reduce_seconds,
               config_.collective.kind == Collective::kAuto ? SlowestTrial(history_.trials) : 0);
  return std::max(config_.limits.collective_min, absl::Seconds(4 * last)) + config_.limits.report;
}

RoundMode JobMachine::Impl::NextMode() const {
  const auto step = static_cast<int64_t>(committed_.step);
  return step < config_.schedule.steps ? DecideRound(config_.policy, config_.schedule, step).mode
                                       : RoundMode::kLocal;
}

bool JobMachine::Impl::BeginRound() {
  const size_t count = group_->members.size();
  const CollectiveDecision collective =
      DecideCollective(config_.collective, history_.trials, count, committed_.step);
  auto round = DecideOrder(config_.policy, config_.schedule,
                           {.round = history_.last_round.Next(),
                            .group = group_->id,
                            .members = group_->members,
                            .step = committed_.step,
                            .collective = collective.collective,
                            .density = collective.density,
                            .train_samples = reference_->train_samples,
                            .global_batch = GlobalBatch(count),
                            .ledger = committed_.ledger});
  if (!round.ok()) return Fail(std::string(round.status().message()));
  ReportGlobalBatch(count);
  round_ = *std::move(round);
  round_->ordered_at = now_;
  const Due due = DueAfter(*round_, GlobalBatch(count));
  round_->evaluation_due = due.evaluation;
  round_->save_due = due.save;
  round_->base_hash = committed_.state_hash;
  IssueOrders();
  return Go(Phase::kTraining);
}

// `round_` is fresh: its order is journaled, then each member gets its part.
void JobMachine::Impl::IssueOrders() {
  const bool rewound = history_.rewound;
  Journal(RecordOf(*round_, now_));
  if (rewound) TellLost(LostWithFiles(round_->members, committed_.residuals));
  TellLost(LostWithMode(committed_.mode, round_->mode, committed_.residuals));
  const size_t count = round_->members.size();
  for (size_t rank = 0; rank < count; ++rank) {
    Say(*roster_.Find(round_->members[rank].name), OrderFor(*round_, rank));
    round_->members[rank].carries = true;
  }
  if (round_->mode != RoundMode::kParallel) return;
  round_->attempt = Attempt{.number = 0, .group = group_->id};
  for (size_t rank = 0; rank < count; ++rank) {
    round_->attempt->contributions.push_back(
        {.member = rank, .weight = static_cast<double>(round_->members[rank].batch)});
  }
}

void JobMachine::Impl::On(Worker& worker, const Ready& message) {
  if (!round_ || round_->id != message.round || round_->group != message.group) return;
  RoundMember* member = round_->Find(worker.name, worker.incarnation);
  if (member == nullptr || member->ready || member->out) return;
  if (message.steps != round_->length) {
    return RefuseWorker(worker, RefuseReason::kProtocol,
                        fmt::format("Ready after {} steps of round {}, its order has {}",
                                    message.steps, message.round, round_->length));
  }
  member->carries = true;
  if (round_->mode == RoundMode::kParallel) {
    member->finite = message.finite;
    member->loss_sum = message.loss_sum;
    member->loss_steps = message.steps;
    if (!round_->attempt) {  // It is decided: what is left is where the member stands.
      member->stands_at = round_->first_step + round_->length;
      return;
    }
  }
  member->ready = message;
  if (round_->mode != RoundMode::kParallel) return;
  const auto index = static_cast<size_t>(member - round_->members.data());
  round_->attempt->contributions[index].reduced = message.reduced;
}

// Waits until all who can are ready, then for the return of those whose stream broke.
bool JobMachine::Impl::AdvanceTraining() {
  if (AwaitsReturn()) return false;
  std::vector<Member> able;
  std::vector<std::string> working;
  std::vector<Member> all;
  for (const RoundMember& member : round_->members) {
    all.push_back({member.name, member.incarnation, StateNeed::kHolds});
    const Worker* worker = roster_.Find(member.name, member.incarnation);
    if (worker == nullptr || !worker->present() || !member.carries) continue;
    able.push_back(all.back());
    if (!member.ready) working.push_back(member.name);
  }
  if (!working.empty()) {
    round_->missed_at = absl::InfiniteFuture();
    waits_for_.clear();
    if (working.size() < able.size()) {
      waits_for_ = fmt::format("round {} waits for {}", round_->id, fmt::join(working, ", "));
    }
    return false;
  }
  if (round_->missed_at == absl::InfiniteFuture()) round_->missed_at = now_;
  const absl::Time until = AwaitMembers(all, round_->missed_at);
  if (until > now_) {
    WakeAt(until);
    return false;
  }
  if (!able.empty()) {
    without_holder_since_.reset();
    if (group_ && SameMembers(group_->members, able)) return BeginReduce();
    return BeginGroup(Purpose::kRetry, std::move(able));
  }
  // Nobody here carries the round. Who is away may, until it is lost.
  const bool hope = std::any_of(all.begin(), all.end(), [&](const Member& m) {
    const Worker* worker = roster_.Find(m.name, m.incarnation);
    return worker != nullptr && !worker->gone() && !worker->stream;
  });
  if (hope) {
    if (stop_reason_ && !SaveMissing()) return End(EndState::kStopped, *stop_reason_);
    waits_for_ = fmt::format("all members of round {} are away", round_->id);
    return false;  // Each of them comes back or is lost by a limit of CheckStreams.
  }
  bool moved = false;
  if (GoOnFromPartials(&moved)) return moved;
  // While nobody holds the state either, one of the lost may still bring the round back.
  if (committed_.round && !HolderIsHere()) return WithoutHolder();
  VoidRound("none of its members is left");
  return Go(Phase::kBorder);
}

void JobMachine::Impl::VoidRound(const std::string& why) {
  Journal(VoidRecord{round_->id, why});
  Note("round_voided", fmt::format("round {}: {}; its samples return", round_->id, why));
  round_.reset();
  group_.reset();
}

bool JobMachine::Impl::BeginReduce() {
  Attempt attempt{.number = ++round_->attempts, .group = group_->id};
  bool any_finite = false;
  for (const Member& member : group_->members) {
    const RoundMember* m = round_->Find(member.name, member.incarnation);
    const bool finite = m->ready->finite;
    any_finite = any_finite || finite;
    attempt.contributions.push_back(
        {.member = static_cast<size_t>(m - round_->members.data()),
         .weight = finite ? static_cast<double>(m->batch * round_->length) : 0.0});
  }
  if (!any_finite) {
    return Fail(
        fmt::format("in round {} no worker has finite parameters and loss: the job stops at "
                    "step {}; look for NaN or infinite numbers in the inputs and targets, or try "
                    "a smaller learning rate or clip_norm",
                    round_->id, committed_.step));
  }
  attempt.deadline = now_ + CollectiveLimit();
  round_->attempt = std::move(attempt);
  const Reduce reduce = ReduceOf(*round_);
  for (const Member& member : group_->members) Say(*roster_.Find(member.name), reduce);
  return Go(Phase::kReducing);
}

void JobMachine::Impl::On(Worker& worker, const Reduced& message) {
  if (phase_ != Phase::kReducing || round_->id != message.round ||
      round_->attempt->group != message.group || round_->attempt->number != message.attempt) {
    return;
  }
  const RoundMember* member = round_->Find(worker.name, worker.incarnation);
  for (Contribution& c : round_->attempt->contributions) {
    if (&round_->members[c.member] != member || c.reduced || c.failed) continue;
    c.reduced = message.reduced;
    if (!message.finite) worker.debt = Debt::kMoments;
  }
}

void JobMachine::Impl::On(Worker& worker, const Failed& message) {
  const std::string text = fmt::format(
      "{}{}: {}", worker.name, message.peer.empty() ? "" : fmt::format(" (peer {})", message.peer),
      message.text);
  if (assembly_ && assembly_->group.id == message.group && !message.round) {
    assembly_->failure = text;
    if (message.cause == FailureCause::kFile) {
      OnFileFailure({worker.name, worker.incarnation, StateNeed::kFile}, text);
    }
    return;
  }
  if (!round_ || round_->id != message.round) return;
  RoundMember* member = round_->Find(worker.name, worker.incarnation);
  if (round_->mode == RoundMode::kParallel) {
    if (member != nullptr && round_->group == message.group) {
      OnFailedParallel(*member, message, text);
    }
    return;
  }
  if (message.attempt == 0) {
    if (member != nullptr && !member->ready) OnFailedStep(worker, message);
    return;
  }
  if (!round_->attempt || round_->attempt->group != message.group ||
      round_->attempt->number != message.attempt) {
    return;
  }
  for (Contribution& c : round_->attempt->contributions) {
    if (&round_->members[c.member] != member || c.reduced || c.failed) continue;
    c.failed = message;
    c.failed->text = text;
  }
}

// Local steps need no other member: who fails in one would fail again, and so would whoever got its
// samples. Data or a model that does not work ends the job with its cause.
void JobMachine::Impl::OnFailedStep(Worker& worker, const Failed& message) {
  if (message.cause == FailureCause::kAborted) return;  // Its order was withdrawn.
  Fail(fmt::format("step {} of round {} failed at {}: {}; the last commit is at step {}",
                   message.step, message.round, worker.name, message.text, committed_.step));
}

bool JobMachine::Impl::AdvanceReducing() {
  Attempt& attempt = *round_->attempt;
  bool waiting = false;
  bool all_in = true;
  for (const Contribution& c : attempt.contributions) {
    if (c.reduced) continue;
    if (!c.failed) {
      all_in = false;
      const RoundMember& member = round_->members[c.member];
      const Worker* worker = roster_.Find(member.name, member.incarnation);
      if (worker != nullptr && worker->present()) {
        waiting = true;
        continue;
      }
      const absl::Time until =
          worker == nullptr ? absl::InfinitePast()
                            : AwaitedUntil(*worker, phase_since_, config_.limits.return_wait);
      if (until > now_) {
        waiting = true;
        WakeAt(until);
        continue;
      }
    }
    attempt.report_by = std::min(attempt.report_by, now_ + config_.limits.report);
  }
  const absl::Time limit = std::min(attempt.deadline, attempt.report_by);
  if (all_in || !waiting || now_ >= limit) return DecideAttempt();
  WakeAt(limit);
  return false;
}

VoteResult JobMachine::Impl::CountVotes() {
  std::vector<Ballot> ballots;
  for (const Contribution& c : round_->attempt->contributions) {
    const RoundMember& member = round_->members[c.member];
    const Worker* worker = roster_.Find(member.name, member.incarnation);
    Ballot ballot;
    if (c.reduced) ballot.hash = c.reduced->state_hash;
    ballot.present = worker != nullptr && worker->present();
    ballots.push_back(ballot);
  }
  return DecideVote(ballots);
}

bool JobMachine::Impl::DecideAttempt() {
  const VoteResult result = CountVotes();
  return result.hash ? CommitRound(*result.hash) : AbortAttempt(result.split);
}

bool JobMachine::Impl::CommitRound(uint64_t hash) {
  CommitRecord commit = DecideCommit(*round_, hash, now_);
  ResidualsAfter residuals = DecideResiduals(*round_, hash, committed_.residuals);
  commit.residuals = std::move(residuals.kept);
  const bool chosen = FasterOf(history_.trials).has_value();
  Journal(commit);
  TellLost(residuals.lost);
  if (config_.collective.kind == Collective::kAuto && !chosen && FasterOf(history_.trials)) {
    Note(std::string(kCollectiveChosen), TellChoice(config_.collective, history_.trials));
  }
  CreditContributors(commit);
  ReportCommit(commit);
  ExcludeSick();
  round_.reset();
  return Go(Phase::kBorder);
}

// Who holds the result now, who must take it from a peer (rule 8); tells them.
void JobMachine::Impl::CreditContributors(const CommitRecord& commit) {
  const Commit message{commit.group, commit.round, commit.attempt, commit.state_hash,
                       committed_.step};
  for (const RoundMember& member : round_->members) {
    Worker* worker = roster_.Find(member.name, member.incarnation);
    if (worker == nullptr) continue;
    if (worker->debt != Debt::kMoments) worker->debt = Debt::kAll;
    Say(*worker, message);  // Also to who is not in the attempt: its order is over.
  }
  for (const Contribution& c : round_->attempt->contributions) {
    const RoundMember& member = round_->members[c.member];
    const bool finite = IsFinite(member);
    Worker* worker = roster_.Find(member.name, member.incarnation);
    if (worker == nullptr) continue;
    if (c.reduced && c.reduced->state_hash == commit.state_hash) {
      worker->holds = commit.round;
      const bool sick = !finite || worker->debt == Debt::kMoments;
      worker->debt = sick ? Debt::kMoments : Debt::kNone;
    } else if (c.reduced) {
      worker->holds.reset();
      worker->debt = Debt::kAll;
      Note("odd_result",
           fmt::format("{} had hash {:016x} in round {}, the majority {:016x}", member.name,
                       c.reduced->state_hash, commit.round, commit.state_hash),
           member.name);
    } else {
      // Parallel mode: a member that has not done all steps has older moments.
      const bool done = round_->mode == RoundMode::kLocal ||
                        member.stands_at == round_->first_step + round_->length;
      worker->debt = finite && done ? Debt::kValues : Debt::kAll;
    }
  }
}

void JobMachine::Impl::ReportCommit(const CommitRecord& commit) {
  const uint64_t batch = GlobalBatch(commit.members.size());
  if (round_->tail_dropped > 0 && tail_reported_for_ != batch) {
    tail_reported_for_ = batch;
    Note("samples_dropped",
         fmt::format("{} at the end of the epoch: a step takes {}, fewer were left. Every epoch "
                     "may end so (with {} if none return); the status counts all of them",
                     Counted(round_->tail_dropped, "sample"), batch,
                     reference_->train_samples % batch));
  }
  std::vector<bool> took_part(round_->members.size(), false);
  for (const Contribution& c : round_->attempt->contributions) {
    took_part[c.member] = true;
    const RoundMember& member = round_->members[c.member];
    if (IsFinite(member)) continue;
    Note("not_finite",
         fmt::format("{} is not finite in round {}: its samples are dropped ({})", member.name,
                     commit.round, CountSamples(member.runs)),
         member.name);
  }
  for (size_t i = 0; i < took_part.size(); ++i) {
    if (took_part[i]) continue;
    Note("samples_returned",
         fmt::format("{} of {} to be handed out again: it is not in the commit of round {}",
                     Counted(CountSamples(round_->members[i].runs), "sample"),
                     round_->members[i].name, commit.round),
         round_->members[i].name);
  }
}

bool JobMachine::Impl::AbortAttempt(bool split) {
  const Attempt attempt = *std::move(round_->attempt);
  round_->attempt.reset();
  round_->splits += split ? 1 : 0;
  std::vector<std::string> causes;
  for (const Contribution& c : attempt.contributions) {
    const RoundMember& member = round_->members[c.member];
    if (c.failed) causes.push_back(c.failed->text);
    if (!c.failed && !c.reduced) causes.push_back(fmt::format("{} did not report", member.name));
  }
  if (split) causes.push_back("the results differ");
  const std::string why = fmt::format("{}", fmt::join(causes, "; "));
  Note("round_failed", fmt::format("round {}, attempt {}: {}", round_->id, attempt.number, why), "",
       absl::ToDoubleSeconds(now_ - phase_since_));
  for (const Contribution& c : attempt.contributions) {
    const RoundMember& member = round_->members[c.member];
    const Worker* worker = roster_.Find(member.name, member.incarnation);
    if (worker != nullptr) Say(*worker, Abort{attempt.group, round_->id, attempt.number, why});
  }
  group_.reset();
  if (round_->attempts >= config_.limits.attempts_max || round_->splits > 2) {
    return Fail(fmt::format("round {} failed {}; the last time: {}", round_->id,
                            Counted(round_->attempts, "time"), why));
  }
  return Go(Phase::kTraining);
}

}  // namespace rondo::server
