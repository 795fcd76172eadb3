#include "server/core/replay.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "absl/status/statusor.h"
#include "server/core/collective.h"
#include "server/core/continuation.h"
#include "server/core/due.h"
#include "server/core/ledger.h"
#include "server/core/round.h"

namespace rondo::server {
namespace {

// What a record is called in a difference.
struct WhereOf {
  std::string operator()(const TermRecord& r) { return fmt::format("term {}", r.term); }
  std::string operator()(const ReferenceRecord&) { return "the reference"; }
  std::string operator()(const GroupRecord& r) { return fmt::format("group {}", r.group); }
  std::string operator()(const OrderRecord& r) {
    return fmt::format("the order of round {}", r.round);
  }
  std::string operator()(const CommitRecord& r) {
    return fmt::format("the commit of round {}", r.round);
  }
  std::string operator()(const VoidRecord& r) {
    return fmt::format("the end of round {}", r.round);
  }
  std::string operator()(const EvaluationRecord& r) {
    return fmt::format("the evaluation after round {}", r.round);
  }
  std::string operator()(const CheckpointRecord& r) {
    return fmt::format("the checkpoint of step {}", r.step);
  }
  std::string operator()(const NoticeRecord& r) { return fmt::format("the notice {}", r.kind); }
  std::string operator()(const EndRecord&) { return "the end"; }
  std::string operator()(const RewindRecord& r) {
    return fmt::format("the rewind to step {}", r.to_step);
  }
  std::string operator()(const RequestRecord&) { return "a user's request"; }
};

std::string TextOf(const SampleRun& run) {
  return fmt::format("epoch {} from {}, {} x {} a step, {} steps by {}{}", run.epoch, run.first,
                     run.count, run.stride, run.steps, run.advance,
                     run.same_steps ? ", same steps" : "");
}

std::string TextOf(const std::vector<SampleRun>& runs) {
  std::vector<std::string> texts;
  for (const SampleRun& run : runs) texts.push_back(TextOf(run));
  return fmt::format("[{}]", fmt::join(texts, "; "));
}

std::string TextOf(Collective collective) { return NameOf(collective); }

std::string TextOf(RoundMode mode) { return mode == RoundMode::kParallel ? "parallel" : "local"; }

std::string TextOf(const std::vector<std::string>& names) {
  return fmt::format("[{}]", fmt::join(names, ", "));
}

std::string TextOf(const std::vector<uint64_t>& counts) {
  return fmt::format("[{}]", fmt::join(counts, ", "));
}

template <typename T>
std::string TextOf(const T& value) {
  return fmt::format("{}", value);
}

bool Contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// The open round as it stood before `commit`: who took part in its attempt, and who was finite.
Round RoundBefore(const OrderRecord& order, const std::vector<Member>& members,
                  const GroupRecord& reduced, const CommitRecord& commit, const LedgerState& ledger,
                  const ScheduleConfig& schedule) {
  Round round = AdoptRound(order, members, ledger, schedule);
  round.attempt = Attempt{.number = commit.attempt, .group = commit.group};
  for (size_t i = 0; i < round.members.size(); ++i) {
    RoundMember& member = round.members[i];
    const auto in =
        std::any_of(reduced.members.begin(), reduced.members.end(), [&](const Member& m) {
          return m.name == member.name && m.incarnation == member.incarnation;
        });
    if (!in) continue;
    round.attempt->contributions.push_back({.member = i});
    member.ready = Ready{};
    member.ready->finite = Contains(commit.contributors, member.name);
  }
  return round;
}

}  // namespace

Replayer::Replayer(MachineConfig config) : config_(std::move(config)) {}

void Replayer::See(const Record& record) {
  if (report_.broken_off) return;
  ++report_.records;
  where_ = std::visit(WhereOf(), record);
  if (const absl::Status fits = CheckNext(record, history_); !fits.ok()) {
    Expect("its place", std::string(fits.message()), "a record that can follow those before it");
    report_.broken_off = true;
    return;
  }
  std::visit([this](const auto& r) { Check(r); }, record);
  Apply(record, &history_);
  report_.checksum = history_.committed.checksum.value();
}

void Replayer::Expect(const std::string& what, const std::string& journal,
                      const std::string& computed) {
  if (journal == computed) return;
  if (report_.differences.size() < kDifferencesKept) {
    report_.differences.push_back({report_.records, where_, what, journal, computed});
  }
  ++report_.found;
}

template <typename T>
void Replayer::ExpectSame(const std::string& what, const T& journal, const T& computed) {
  Expect(what, TextOf(journal), TextOf(computed));
}

void Replayer::ExpectLedger(const LedgerState& journal, const LedgerState& computed) {
  ExpectSame("ledger: epoch", journal.epoch, computed.epoch);
  ExpectSame("ledger: position", journal.position, computed.position);
  ExpectSame("ledger: returned samples", journal.returned, computed.returned);
  ExpectSame("ledger: samples used", journal.samples_used, computed.samples_used);
  ExpectSame("ledger: samples dropped", journal.samples_dropped, computed.samples_dropped);
}

uint64_t Replayer::GlobalBatch(size_t members) const {
  return config_.batch_global != 0 ? config_.batch_global : config_.batch_per_worker * members;
}

void Replayer::Check(const TermRecord& record) {
  ++report_.terms;
  if (record.beyond) return;  // Beyond what a worker has seen, which no journal knows.
  ExpectSame("number", record.term, history_.term.Next());
}

void Replayer::Check(const ReferenceRecord& record) {
  auto steps = static_cast<uint64_t>(config_.schedule.steps);
  const uint64_t largest = GlobalBatch(config_.workers_max);
  if (config_.epochs != 0 && largest != 0) {
    steps = config_.epochs * (record.facts.train_samples / largest);
  }
  ExpectSame("steps of the run", record.total_steps, steps);
  config_.schedule.steps = static_cast<int64_t>(record.total_steps);
}

void Replayer::Check(const GroupRecord& record) {
  ++report_.groups;
  CheckTold();
  ExpectSame("number", record.group, history_.last_group.Next());
  std::vector<std::string> names;
  for (const Member& member : record.members) names.push_back(member.name);
  std::vector<std::string> sorted = names;
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  ExpectSame("members in the order of their names", names, sorted);
  if (names.size() > config_.workers_max) {
    Expect("members", fmt::to_string(names.size()), fmt::format("at most {}", config_.workers_max));
  }
  if (!history_.open) groups_.clear();
  groups_[record.group] = record;
}

void Replayer::ExpectSameOrder(const OrderRecord& journal, const OrderRecord& computed) {
  ExpectSame("mode", journal.mode, computed.mode);
  ExpectSame("first step", journal.first_step, computed.first_step);
  ExpectSame("length", journal.length, computed.length);
  ExpectSame("rate of the first step", journal.rate_first, computed.rate_first);
  Expect("hash of the state that it starts from", fmt::format("{:016x}", journal.base_hash),
         fmt::format("{:016x}", computed.base_hash));
  Expect("hash of the rates", fmt::format("{:016x}", journal.rates_hash),
         fmt::format("{:016x}", computed.rates_hash));
  ExpectSame("collective", journal.collective, computed.collective);
  ExpectSame("density", journal.density, computed.density);
  ExpectSame("members", journal.runs.size(), computed.runs.size());
  for (size_t rank = 0; rank < std::min(journal.runs.size(), computed.runs.size()); ++rank) {
    ExpectSame(fmt::format("samples of rank {}", rank), journal.runs[rank], computed.runs[rank]);
  }
  ExpectSame("samples of a step by rank", journal.batches, computed.batches);
  ExpectSame("dropped tail", journal.tail_dropped, computed.tail_dropped);
  ExpectLedger(journal.after, computed.after);
  ExpectSame("evaluation due", journal.evaluation_due, computed.evaluation_due);
  ExpectSame("checkpoint due", journal.save_due, computed.save_due);
}

// An order that goes on with a parallel round after a failed step. Who was finite in the steps
// before it, and their loss, are measurements: they are taken from the record.
void Replayer::CheckContinuation(const OrderRecord& record) {
  Round open = AdoptRound(*history_.open, history_.open_members, history_.committed.ledger,
                          config_.schedule);
  if (!record.so_far || record.first_step < open.first_step ||
      record.first_step > open.first_step + open.length) {
    return Expect("its place", fmt::format("from step {}", record.first_step),
                  "within the open round, and with what came before it");
  }
  for (RoundMember& member : open.members) {
    member.finite =
        record.first_step == open.first_step || Contains(record.so_far->contributors, member.name);
  }
  const std::vector<Member>& members = history_.group->members;
  absl::StatusOr<Round> round =
      DecideContinuation(open, config_.schedule,
                         {.group = history_.group->group,
                          .members = members,
                          .step = record.first_step,
                          .train_samples = history_.reference->facts.train_samples,
                          .global_batch = GlobalBatch(members.size())});
  if (!round.ok()) {
    return Expect("samples", "an order", std::string(round.status().message()));
  }
  ExpectSame("steps done before it", record.so_far->steps, round->so_far.steps);
  ExpectSame("samples before it", record.so_far->samples, round->so_far.samples);
  ExpectSame("contributors before it", record.so_far->contributors, round->so_far.contributors);
  ExpectLedger(record.so_far->ledger, round->so_far.ledger);
  ExpectSameOrder(record, RecordOf(*round, record.at));
}

void Replayer::Check(const OrderRecord& record) {
  ++report_.orders;
  CheckTold();
  if (history_.open && history_.open->round == record.round) {
    // A local round is given again, as it was, to those who go on from its partials.
    return record.mode == RoundMode::kLocal ? ExpectSameOrder(record, *history_.open)
                                            : CheckContinuation(record);
  }
  ExpectSame("number", record.round, history_.last_round.Next());
  if (!history_.reference) {
    return Expect("its place", "before any worker was prepared", "after the reference");
  }
  if (history_.committed.step >= static_cast<uint64_t>(config_.schedule.steps)) {
    return Expect("its place", "after the last step", "before it");
  }
  const std::vector<Member>& members = history_.group->members;
  const uint64_t samples = history_.reference->facts.train_samples;
  const CollectiveDecision collective = DecideCollective(config_.collective, history_.trials,
                                                         members.size(), history_.committed.step);
  absl::StatusOr<Round> round = DecideOrder(config_.policy, config_.schedule,
                                            {.round = history_.last_round.Next(),
                                             .group = history_.group->group,
                                             .members = members,
                                             .step = history_.committed.step,
                                             .collective = collective.collective,
                                             .density = collective.density,
                                             .train_samples = samples,
                                             .global_batch = GlobalBatch(members.size()),
                                             .ledger = history_.committed.ledger});
  if (!round.ok()) {
    return Expect("samples", "an order", std::string(round.status().message()));
  }
  const uint64_t next = round->first_step + round->length;
  const DuePolicy policy = {.has_test_set = config_.has_test_set,
                            .evaluate_every_steps = config_.evaluate_every_steps,
                            .evaluate_every_epochs = config_.evaluate_every_epochs,
                            .checkpoint_every_steps = config_.checkpoint_every_steps,
                            .total_steps = static_cast<uint64_t>(config_.schedule.steps),
                            .train_samples = samples,
                            .global_batch = GlobalBatch(members.size())};
  const Due due =
      DecideDue(policy, round->first_step, next, history_.committed.ledger, round->after);
  round->base_hash = history_.committed.round ? history_.committed.state_hash : record.base_hash;
  round->evaluation_due = due.evaluation;
  round->save_due = due.save;
  ExpectSameOrder(record, RecordOf(*round, record.at));
  const Residuals& residuals = history_.committed.residuals;
  if (history_.rewound) ExpectTold(LostWithFiles(round->members, residuals));
  ExpectTold(LostWithMode(history_.committed.mode, round->mode, residuals));
}

void Replayer::Check(const CommitRecord& record) {
  ++report_.commits;
  CheckTold();
  const OrderRecord& order = *history_.open;
  const auto reduced = groups_.find(record.group);
  if (reduced == groups_.end()) {
    return Expect("group", fmt::format("group {}, which the journal does not know", record.group),
                  "the order's group, or one made for a further attempt");
  }
  const Round round = RoundBefore(order, history_.open_members, reduced->second, record,
                                  history_.committed.ledger, config_.schedule);
  const CommitRecord computed = DecideCommit(round, record.state_hash, record.at);
  ExpectSame("mode", record.mode, computed.mode);
  ExpectSame("first step", record.first_step, computed.first_step);
  ExpectSame("length", record.length, computed.length);
  ExpectSame("rate of the first step", record.rate_first, computed.rate_first);
  ExpectSame("members", record.members, computed.members);
  ExpectSame("contributors", record.contributors, computed.contributors);
  ExpectSame("samples", record.samples, computed.samples);
  ExpectLedger(record.ledger, computed.ledger);
  ExpectSame("collective", record.collective, computed.collective);
  ExpectSame("density", record.density, computed.density);
  // 0: by a version that did not count them.
  if (record.reductions > 0) ExpectSame("reductions", record.reductions, computed.reductions);
  for (const ResidualNorm& residual : record.residuals) {
    const auto in =
        std::any_of(reduced->second.members.begin(), reduced->second.members.end(),
                    [&](const Member& member) { return member.name == residual.worker; });
    if (!in) Expect("residuals", residual.worker, "only those of who took part");
  }
  before_commit_ = history_.committed.residuals;
  ExpectTold(DecideResiduals(round, record.state_hash, before_commit_).lost);
}

void Replayer::ExpectTold(const std::vector<LostResidual>& lost) {
  for (const LostResidual& residual : lost) untold_[residual.worker] = residual.norm_squared;
}

// An event names each residual that was lost, before anything else is decided.
void Replayer::CheckTold() {
  for (const auto& [worker, norm] : std::exchange(untold_, {})) {
    Expect(fmt::format("residual of {}", worker), "lost, and no event says so",
           fmt::format("an event {}, squared norm {}", kResidualZeroed, norm));
  }
}

void Replayer::Check(const NoticeRecord& record) {
  if (record.kind != kResidualZeroed) return;
  const Residuals& held = history_.committed.residuals;
  const auto untold = untold_.find(record.worker);
  const auto kept = held.find(record.worker);
  const auto was = before_commit_.find(record.worker);  // Its report of the commit said so.
  if (untold == untold_.end() && kept == held.end() && was == before_commit_.end()) {
    return Expect("residual", record.worker, "of a worker that has one");
  }
  const double norm = untold != untold_.end() ? untold->second
                      : kept != held.end()    ? kept->second
                                              : was->second;
  ExpectSame("squared norm", record.residual_norm_squared, norm);
  untold_.erase(record.worker);
  before_commit_.erase(record.worker);
}

void Replayer::Check(const EvaluationRecord& record) {
  ExpectSame("round", record.round, history_.committed.round);
  ExpectSame("step", record.step, history_.committed.step);
}

void Replayer::Check(const CheckpointRecord& record) {
  ExpectSame("round", record.round, history_.committed.round);
  ExpectSame("step", record.step, history_.committed.step);
  Expect("state hash", fmt::format("{:016x}", record.state_hash),
         fmt::format("{:016x}", history_.committed.state_hash));
}

void Replayer::Check(const RewindRecord& record) {
  ++report_.rewinds;
  const auto kept = history_.checkpoints.find(record.to_round);
  const uint64_t step = kept == history_.checkpoints.end() ? 0 : kept->second.state.step;
  ExpectSame("step", record.to_step, step);
}

void Replayer::Check(const EndRecord& record) {
  const CommittedState& committed = history_.committed;
  CheckTold();
  ExpectSame("step", record.step, committed.step);
  ExpectSame("syncs", record.syncs, committed.syncs);
  ExpectSame("checksum", record.checksum, committed.checksum.value());
  const uint64_t samples = history_.reference ? history_.reference->facts.train_samples : 0;
  ExpectSame("samples not used", record.samples_unused, UnusedSamples(committed.ledger, samples));
  ExpectSame("residuals not delivered", record.residuals_undelivered,
             committed.residuals_lost + committed.residuals.size());
  const bool all =
      history_.reference && committed.step == static_cast<uint64_t>(config_.schedule.steps);
  if (record.state == EndState::kDone && !all) {
    Expect("state", "done",
           fmt::format("stopped or failed: {} of {} steps are done", committed.step,
                       config_.schedule.steps));
  }
}

ReplayReport Replay(const MachineConfig& config, std::span<const Record> records) {
  Replayer replayer(config);
  for (const Record& record : records) replayer.See(record);
  return replayer.report();
}

}  // namespace rondo::server
