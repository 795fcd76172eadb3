// The border between rounds: who goes on, and the group that they form.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "server/core/job_machine_impl.h"
#include "server/core/start.h"
#include "server/core/words.h"

namespace rondo::server {
namespace {

bool Reads(StateNeed need) { return need == StateNeed::kFile || need == StateNeed::kPartial; }

}  // namespace

bool JobMachine::Impl::Finishing() const {
  return stop_reason_.has_value() ||
         (committed_.round && committed_.step >= static_cast<uint64_t>(config_.schedule.steps));
}

bool JobMachine::Impl::IsMember(const Worker& worker) const {
  const Group* group = assembly_ ? &assembly_->group : group_ ? &*group_ : nullptr;
  return group != nullptr && group->RankOf(worker.name, worker.incarnation).has_value();
}

absl::Time JobMachine::Impl::AwaitMembers(const std::vector<Member>& members, absl::Time since) {
  absl::Time until = absl::InfinitePast();
  for (const Member& member : members) {
    const Worker* worker = roster_.Find(member.name, member.incarnation);
    if (worker == nullptr) continue;
    until = std::max(until, AwaitedUntil(*worker, since, config_.limits.return_wait));
  }
  return until > now_ ? until : absl::InfinitePast();
}

bool JobMachine::Impl::AdvanceBorder() {
  if (AwaitsReturn()) return false;
  if (group_) {
    const absl::Time until = AwaitMembers(group_->members, phase_since_);
    if (until > now_) {
      WakeAt(until);
      return false;
    }
  }
  if (!HolderIsHere()) {
    if (Finishing() && !EvaluationMissing() && !SaveMissing()) return EndFinished();
    return committed_.round && !history_.rewound ? WithoutHolder() : BeginFirstGroup();
  }
  without_holder_since_.reset();
  inspections_.clear();
  no_checkpoint_since_.reset();
  if (LetLeaversGo()) return true;
  const bool finishing = Finishing();
  if (finishing) {
    evaluation_pending_ = EvaluationMissing();
    save_pending_ = SaveMissing();
    if (!evaluation_pending_ && !save_pending_) return EndFinished();
  }
  const std::vector<Worker*> chosen = ChooseMembers();
  const std::vector<Member> members = NeedsOf(chosen);
  // Moments that are not finite end with the group: forming the next one replaces them.
  const bool complete = std::all_of(chosen.begin(), chosen.end(), [this](const Worker* w) {
    return Holds(*w) && w->debt != Debt::kMoments;
  });
  if (group_ && complete && SameMembers(group_->members, members)) {
    if (evaluation_pending_) return BeginEvaluation();
    // Nothing is trained yet if the first round was voided: what was asked for follows the next.
    if (save_pending_ && committed_.round) return BeginSave();
    if (Resting()) return false;
    if (BelowMinimum(members.size())) return phase_ != Phase::kBorder;
    return SaveBeforeLongRound() ? BeginSave() : BeginRound();
  }
  const bool needs_minimum = !finishing && !history_.pause && !HandingOver();
  if (needs_minimum && BelowMinimum(members.size())) return phase_ != Phase::kBorder;
  return BeginGroup(Purpose::kJoin, members);
}

// Waits (true) while too few are there; ends the job when that has lasted for too long.
bool JobMachine::Impl::BelowMinimum(size_t count) {
  if (count >= config_.workers_min) {
    below_minimum_since_.reset();
    return false;
  }
  if (!below_minimum_since_) {
    below_minimum_since_ = now_;
    Note("waiting", fmt::format("{} {} there, workers.min is {}", Counted(count, "worker"),
                                count == 1 ? "is" : "are", config_.workers_min));
  }
  std::vector<std::string> preparing;
  for (const auto& [name, worker] : roster_.workers()) {
    if (worker.standing == Standing::kPreparing) preparing.push_back(name);
  }
  waits_for_ = fmt::format("{} of at least {} {} ready", count,
                           Counted(config_.workers_min, "worker"), count == 1 ? "is" : "are");
  if (!preparing.empty()) {
    waits_for_ += fmt::format("; {} still {}", Listed(preparing),
                              preparing.size() == 1 ? "prepares" : "prepare");
  }
  if (const std::string cooling = CoolingDown(); !cooling.empty()) waits_for_ += "; " + cooling;
  if (config_.limits.give_up > absl::ZeroDuration()) {
    const absl::Time until = *below_minimum_since_ + config_.limits.give_up;
    if (now_ >= until) {
      Fail(fmt::format("fewer than workers.min = {} for {} (workers.give_up_seconds)",
                       config_.workers_min, absl::FormatDuration(config_.limits.give_up)));
    } else {
      WakeAt(until);
    }
  }
  return true;
}

bool JobMachine::Impl::BeginFirstGroup() {
  if (stop_reason_) return End(EndState::kStopped, *stop_reason_);
  group_.reset();
  if (Resting()) return false;
  std::vector<Candidate> candidates;
  for (const auto& [name, worker] : roster_.workers()) {
    if (worker.present() && worker.prepared() && !Parting(worker)) {
      candidates.push_back({name, worker.candidate_since});
    }
  }
  StartPolicy policy = {config_.workers_min, config_.workers_max, config_.wait};
  if (config_.workers_at_start != 0 && !grouped_) {
    policy.workers_min = policy.workers_max = config_.workers_at_start;
  } else if (config_.workers_at_start != 0 && candidates.size() >= config_.workers_at_start) {
    policy.wait = absl::ZeroDuration();  // After a rewind as many are there as at first.
  }
  const StartDecision start = DecideStart(policy, candidates, now_);
  switch (start.verdict) {
    case StartVerdict::kTooFew:
      BelowMinimum(candidates.size());
      return phase_ != Phase::kBorder;
    case StartVerdict::kWaiting:
      below_minimum_since_.reset();
      waits_for_ = fmt::format(
          "{} {} ready; up to {} may join until {}", Counted(candidates.size(), "worker"),
          candidates.size() == 1 ? "is" : "are", config_.workers_max, InUtc(start.at));
      WakeAt(start.at);
      return false;
    case StartVerdict::kStart:
      break;
  }
  below_minimum_since_.reset();
  std::vector<Member> members = NeedsAtStart(start.members);
  const bool any_source = std::any_of(members.begin(), members.end(),
                                      [](const Member& m) { return m.need != StateNeed::kAll; });
  if (!any_source) return GoFurtherBack();
  if (committed_.round) {
    const auto condition = Inspect(history_.checkpoints.at(committed_.round).state, false);
    if (!condition) return phase_ != Phase::kBorder;
    if (*condition == CheckpointCondition::kDamaged) return GoFurtherBack();
    inspections_.erase(committed_.step);  // The next group that reads it looks anew.
  }
  return BeginGroup(Purpose::kStart, std::move(members));
}

// Who makes up the next group: holders first, then joiners by their arrival, in name order.
std::vector<Worker*> JobMachine::Impl::ChooseMembers() {
  std::vector<Worker*> chosen;
  for (auto& [name, worker] : roster_.workers()) {
    if (!worker.present() || !worker.prepared()) continue;
    if (Finishing() && !Holds(worker)) continue;
    if (Parting(worker) && !Holds(worker)) continue;
    chosen.push_back(&worker);
  }
  std::stable_sort(chosen.begin(), chosen.end(), [&](const Worker* a, const Worker* b) {
    return std::make_tuple(!Holds(*a), a->candidate_since) <
           std::make_tuple(!Holds(*b), b->candidate_since);
  });
  if (chosen.size() > config_.workers_max) chosen.resize(config_.workers_max);
  std::sort(chosen.begin(), chosen.end(),
            [](const Worker* a, const Worker* b) { return a->name < b->name; });
  return chosen;
}

// Rule 15: who has no good moments takes those of the lowest rank that has; if there is none it
// keeps its need kHolds and zeroes them itself.
std::vector<Member> JobMachine::Impl::NeedsOf(const std::vector<Worker*>& members) const {
  const bool any_good = std::any_of(members.begin(), members.end(), [&](const Worker* w) {
    return Holds(*w) && w->debt != Debt::kMoments;
  });
  std::vector<Member> result;
  for (const Worker* worker : members) {
    StateNeed need = StateNeed::kHolds;
    if (!Holds(*worker)) {
      need = worker->debt == Debt::kValues ? StateNeed::kValues : StateNeed::kAll;
    } else if (worker->debt == Debt::kMoments && any_good) {
      need = StateNeed::kMoments;
    }
    result.push_back({worker->name, worker->incarnation, need});
  }
  return result;
}

bool JobMachine::Impl::BeginGroup(Purpose purpose, std::vector<Member> members,
                                  std::optional<uint64_t> step) {
  Assemble message;
  message.purpose = purpose;
  message.group = history_.last_group.Next();
  message.members = std::move(members);
  for (uint32_t rank = 0; rank < message.members.size(); ++rank) {
    const StateNeed need = message.members[rank].need;
    const bool has_it = need == StateNeed::kHolds || need == StateNeed::kInitial || Reads(need);
    if (!has_it) continue;
    message.giver = rank;
    break;
  }
  message.round = committed_.round;
  message.state_hash = committed_.state_hash;
  message.step = step.value_or(committed_.step);
  const bool partial = message.members.front().need == StateNeed::kPartial;
  if (partial) message.step = *partials_->step;
  Journal(GroupRecord{message.group, purpose, message.members, now_});
  group_.reset();
  grouped_ = true;
  // Files of any size may have to come first.
  const bool reads = std::any_of(message.members.begin(), message.members.end(),
                                 [](const Member& m) { return Reads(m.need); });
  const MachineLimits& limits = config_.limits;
  assembly_ = BeginAssembly(std::move(message), now_,
                            reads ? std::max(limits.assemble, limits.save) : limits.assemble);
  for (const Member& member : assembly_->group.members) {
    Say(*roster_.Find(member.name), assembly_->message);
  }
  return Go(Phase::kAssembling);
}

void JobMachine::Impl::On(Worker& worker, const Endpoint& message) {
  if (!assembly_ || assembly_->group.id != message.group || assembly_->meshed) return;
  const auto rank = assembly_->group.RankOf(worker.name, worker.incarnation);
  if (!rank) return;
  assembly_->blobs[*rank] = message.blob;
  if (!assembly_->AllEndpoints()) return;
  assembly_->meshed = true;
  const Mesh mesh = MeshOf(*assembly_, config_.token_seed);
  for (const Member& member : assembly_->group.members) {
    if (const Worker* w = roster_.Find(member.name, member.incarnation)) Say(*w, mesh);
  }
}

void JobMachine::Impl::On(Worker& worker, const Formed& message) {
  if (!assembly_ || assembly_->group.id != message.group || !assembly_->meshed) return;
  const auto rank = assembly_->group.RankOf(worker.name, worker.incarnation);
  if (!rank || assembly_->formed[*rank]) return;
  assembly_->formed[*rank] = message.state_hash;
  assembly_->stand_at[*rank] = message.step;
  assembly_->residuals[*rank] = message.residual_norm_squared;
  if (!message.moments_zeroed) return;
  Note(std::string(kMomentsZeroed),
       fmt::format("the optimizer's moments of {} were not finite and nobody in group {} had good "
                   "ones: they and its step count begin at zero",
                   worker.name, message.group),
       worker.name);
}

bool JobMachine::Impl::AdvanceAssembling() {
  Assembly& assembly = *assembly_;
  if (assembly.failure) return EndAssembly(*assembly.failure);
  std::vector<std::string> missing;
  for (size_t rank = 0; rank < assembly.group.members.size(); ++rank) {
    const Member& member = assembly.group.members[rank];
    const Worker* worker = roster_.Find(member.name, member.incarnation);
    const bool here = worker != nullptr && worker->present();
    const absl::Time until =
        worker == nullptr ? absl::InfinitePast()
                          : AwaitedUntil(*worker, assembly.began, config_.limits.return_wait);
    if (!here && until <= now_) {
      --assembly_failures_;  // Not the group's fault: the next one is formed without it.
      return EndAssembly(fmt::format("{} dropped out", member.name));
    }
    if (!here) WakeAt(until);
    if (!assembly.formed[rank]) missing.push_back(member.name);
  }
  if (missing.empty() && assembly.message.purpose == Purpose::kRepair) return FormedRepair();
  if (missing.empty()) return CheckFormed() ? FormedGroup() : true;
  waits_for_ = fmt::format("group {} waits for {}", assembly.group.id, fmt::join(missing, ", "));
  if (now_ < assembly.deadline) {
    WakeAt(assembly.deadline);
    return false;
  }
  for (const std::string& name : missing) {
    Worker* worker = roster_.Find(name);
    if (worker == nullptr || !worker->stream) continue;
    Note("worker_away",
         fmt::format("{}: its connection was closed, it had not formed group {} within {}", name,
                     assembly.group.id, absl::FormatDuration(assembly.deadline - assembly.began)),
         name);
    DropStream(*worker, "did not form its group in time");
  }
  return EndAssembly(fmt::format("not formed within {}: {}",
                                 absl::FormatDuration(assembly.deadline - assembly.began),
                                 fmt::join(missing, ", ")));
}

// Every member must have the same state (S25). False: the assembly has been ended.
bool JobMachine::Impl::CheckFormed() {
  if (assembly_->message.purpose == Purpose::kRetry) return true;  // They are in mid-round.
  const uint64_t expected = *ExpectedHash(*assembly_);
  bool good = true;
  for (size_t rank = 0; rank < assembly_->group.members.size(); ++rank) {
    if (*assembly_->formed[rank] == expected) continue;
    good = false;
    const Member& member = assembly_->group.members[rank];
    Worker& worker = *roster_.Find(member.name);
    worker.holds.reset();
    worker.debt = Debt::kAll;
    // One who thought it held the state may take it from a peer, once.
    if (member.need == StateNeed::kHolds && worker.form_mismatches++ == 0) continue;
    RefuseWorker(worker, RefuseReason::kModel,
                 fmt::format("its state has hash {:016x} in group {}, the job's is {:016x}",
                             *assembly_->formed[rank], assembly_->group.id, expected));
  }
  if (!good) EndAssembly("members have different states");
  return good;
}

// Always true: the phase has changed.
bool JobMachine::Impl::FormedGroup() {
  group_ = assembly_->group;
  const bool retry = assembly_->message.purpose == Purpose::kRetry;
  const bool resumes = assembly_->message.members.front().need == StateNeed::kPartial;
  TellLostInForming();
  if (!retry) {
    if (!committed_.round) committed_.state_hash = *ExpectedHash(*assembly_);
    for (const Member& member : group_->members) {
      Worker& worker = *roster_.Find(member.name);
      worker.holds = committed_.round;
      worker.debt = Debt::kNone;
    }
  }
  std::vector<std::string> names;
  for (const Member& member : group_->members) names.push_back(member.name);
  Note("group_formed", fmt::format("group {}: {}", group_->id, fmt::join(names, ", ")), "",
       absl::ToDoubleSeconds(now_ - assembly_->began));
  assembly_.reset();
  assembly_failures_ = 0;
  unreadable_for_.clear();
  unread_since_.reset();
  if (resumes) return GiveOrderAgain();
  return Go(round_ ? Phase::kTraining : Phase::kBorder);
}

void JobMachine::Impl::ReportGlobalBatch(size_t members) {
  const uint64_t batch = GlobalBatch(members);
  if (batch == reported_batch_) return;
  if (reported_batch_ != 0) {
    Note("global_batch_changed",
         fmt::format("a step takes {} now, {} before; rates stay as scheduled",
                     Counted(batch, "sample"), reported_batch_));
  }
  reported_batch_ = batch;
}

bool JobMachine::Impl::EndAssembly(std::string failure) {
  const GroupId id = assembly_->group.id;
  Note("group_failed", fmt::format("group {}: {}", id, failure), "",
       absl::ToDoubleSeconds(now_ - assembly_->began));
  for (const Member& member : assembly_->group.members) {
    Worker* worker = roster_.Find(member.name, member.incarnation);
    if (worker != nullptr) Say(*worker, Abort{id, {}, 0, failure});
  }
  assembly_.reset();
  if (++assembly_failures_ > static_cast<int>(config_.limits.attempts_max)) {
    return Fail(fmt::format("{} groups in a row could not be formed; the last one: {}",
                            assembly_failures_, failure));
  }
  return Go(round_ ? Phase::kTraining : Phase::kBorder);
}

}  // namespace rondo::server
