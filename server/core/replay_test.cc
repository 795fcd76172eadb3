// Journals of the real machine come out the same; a change of any decision in one is found.
#include "server/core/replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/time/time.h"
#include "common/ids.h"
#include "server/core/job_machine.h"
#include "server/core/messages.h"
#include "server/core/records.h"
#include "server/core/scripted_interruption.h"
#include "server/core/scripted_round.h"
#include "server/core/scripted_workers.h"
#include "server/core/steady_rounds.h"

namespace rondo::server {
namespace {

using ::testing::HasSubstr;

std::string FirstOf(const ReplayReport& report) {
  if (report.differences.empty()) return "none";
  const Difference& first = report.differences[0];
  return first.where + ": " + first.what + ": " + first.journal + " / " + first.computed;
}

std::vector<Record> Undisturbed() {
  Script script(SmallJob(2, 2));
  script.Join("a");
  script.Join("b");
  script.Run();
  return script.records;
}

// With a loss, returned samples, a retry and a joiner.
std::vector<Record> Troubled() {
  MachineConfig config = SmallJob(1, 3);
  config.batch_global = 9;  // Uneven shares, and a tail.
  Script script(config);
  ScriptedWorker& a = script.Join("a");
  script.Join("b");
  script.Join("c");
  a.mute_ready = true;
  script.Run();
  script.Break(a);
  script.Pass(absl::Seconds(11));
  script.Join("d");
  script.Pass(absl::Seconds(5));
  return script.records;
}

TEST(ReplayTest, AJournalComesOutTheSame) {
  const std::vector<Record> records = Undisturbed();
  const ReplayReport report = Replay(SmallJob(2, 2), records);
  EXPECT_EQ(report.found, 0u) << FirstOf(report);
  EXPECT_EQ(report.records, records.size());
  EXPECT_EQ(report.commits, 8u);
  for (const Record& record : records) {
    const auto* const end = std::get_if<EndRecord>(&record);
    if (end != nullptr) {
      EXPECT_EQ(report.checksum, end->checksum);
    }
  }
}

TEST(ReplayTest, AJournalOfATroubledRunComesOutTheSame) {
  MachineConfig config = SmallJob(1, 3);
  config.batch_global = 9;
  const ReplayReport report = Replay(config, Troubled());
  EXPECT_EQ(report.found, 0u) << FirstOf(report);
}

TEST(ReplayTest, AJournalOfAParallelRunComesOutTheSame) {
  MidRound mid(2, 2, true);
  mid.a->mute_ready = false;
  Ready ready = mid.ReadyOfA();
  ready.reduced.state_hash = mid.b->staged.begin()->second;
  mid.script.Say(*mid.a, ready);
  mid.script.Run();
  ASSERT_TRUE(mid.script.finish);
  const ReplayReport report = Replay(mid.script.config, mid.script.records);
  EXPECT_EQ(report.found, 0u) << FirstOf(report);
}

// The first round, of five parallel steps: c dies in the second one, a and b go on from there.
std::vector<Record> Repaired() {
  Script script(MidRound::Job(1, 3, true));
  for (const char* name : {"a", "b", "c"}) {
    ScriptedWorker& worker = script.Join(name);
    worker.mute_ready = worker.mute_failed = true;
  }
  script.Run();
  script.Break(*script.workers["c"]);
  for (const char* name : {"a", "b"}) {
    ScriptedWorker& worker = *script.workers[name];
    const uint64_t step = name[0] == 'a' ? 1 : 2;  // b has the result that a lacks.
    worker.stands_at = step;
    Failed failed{worker.order->group, worker.order->round, 0, step, false, "",
                  FailureCause::kPeer, "connection reset"};
    failed.loss_sum = static_cast<double>(step);
    script.Say(worker, failed);
    script.Run();
    worker.mute_ready = false;
  }
  script.Pass(absl::Seconds(12));
  EXPECT_TRUE(script.finish);
  EXPECT_TRUE(script.Noted("step_repaired"));
  return script.records;
}

TEST(ReplayTest, AnOrderThatGoesOnWithARoundAfterARepairComesOutTheSame) {
  const std::vector<Record> records = Repaired();
  const ReplayReport report = Replay(MidRound::Job(1, 3, true), records);
  EXPECT_EQ(report.found, 0u) << FirstOf(report);
  EXPECT_FALSE(report.broken_off);
  EXPECT_EQ(report.orders, report.commits + 1);
}

TEST(ReplayTest, AChangeInAnOrderThatGoesOnWithARoundIsFound) {
  using Change = std::function<void(OrderRecord&)>;
  const std::vector<std::pair<std::string, Change>> changes = {
      {"first step", [](OrderRecord& r) { ++r.first_step, --r.length; }},
      {"length", [](OrderRecord& r) { --r.length; }},
      {"samples of rank 0", [](OrderRecord& r) { ++r.runs[0][0].first; }},
      {"rates", [](OrderRecord& r) { ++r.rates_hash; }},
      {"steps before", [](OrderRecord& r) { --r.so_far->steps; }},
      {"samples before", [](OrderRecord& r) { ++r.so_far->samples; }},
      {"contributors",
       [](OrderRecord& r) {
         r.so_far->contributors = {"a", "b"};
       }},
      {"ledger before", [](OrderRecord& r) { ++r.so_far->ledger.position; }},
      {"no past", [](OrderRecord& r) { r.so_far.reset(); }},
  };
  for (const auto& [name, change] : changes) {
    std::vector<Record> records = Repaired();
    bool changed = false;
    for (Record& record : records) {
      auto* const order = std::get_if<OrderRecord>(&record);
      if (order == nullptr || !order->so_far || changed) continue;
      change(*order);
      changed = true;
    }
    ASSERT_TRUE(changed) << name;
    const ReplayReport report = Replay(MidRound::Job(1, 3, true), records);
    ASSERT_GE(report.found, 1u) << name;
    EXPECT_THAT(report.differences[0].where, HasSubstr("order of round 1")) << name;
  }
}

TEST(ReplayTest, ARoundThatGoesOnFromItsPartialsComesOutTheSame) {
  MachineConfig config = SavingJob();
  config.checkpoint_every_steps = 3;
  config.partials = true;
  Interrupted job(4, config);
  job.script.partial_step = 18;
  job.Replace({"a", "b"});
  ASSERT_TRUE(job.script.Noted("round_resumed"));
  const ReplayReport report = Replay(config, job.script.records);
  EXPECT_EQ(report.found, 0u) << FirstOf(report);
  EXPECT_THAT(FindSteadyRounds(job.script.records).ended_by,
              HasSubstr("what its members had saved"));
}

TEST(ReplayTest, NonFiniteSamplesComeOutTheSame) {
  Script script(SmallJob(2, 2));
  script.Join("a");
  script.Join("b").finite = false;
  script.Run();
  const ReplayReport report = Replay(script.config, script.records);
  EXPECT_EQ(report.found, 0u) << FirstOf(report);
}

struct Tampering {
  std::string name;
  std::function<bool(Record&)> change;  // True: it has changed this record.
  std::string where;
  std::string what;
};

class TamperedTest : public testing::TestWithParam<Tampering> {};

TEST_P(TamperedTest, IsFound) {
  std::vector<Record> records = Undisturbed();
  bool changed = false;
  for (Record& record : records) changed = changed || GetParam().change(record);
  ASSERT_TRUE(changed);
  const ReplayReport report = Replay(SmallJob(2, 2), records);
  ASSERT_GE(report.found, 1u);
  EXPECT_THAT(report.differences[0].where, HasSubstr(GetParam().where));
  EXPECT_THAT(report.differences[0].what, HasSubstr(GetParam().what)) << FirstOf(report);
}

// Changes the record of that kind and, for rounds, that number.
template <typename T, typename Change>
std::function<bool(Record&)> In(Change change) {
  return [change](Record& record) {
    T* const found = std::get_if<T>(&record);
    return found != nullptr && change(*found);
  };
}

template <typename T, typename Change>
std::function<bool(Record&)> InRound(uint64_t round, Change change) {
  return In<T>([round, change](T& found) {
    if (found.round != RoundId{round}) return false;
    change(found);
    return true;
  });
}

INSTANTIATE_TEST_SUITE_P(
    Rows, TamperedTest,
    testing::Values(
        Tampering{"Length", InRound<OrderRecord>(3, [](OrderRecord& r) { r.length = 5; }),
                  "order of round 3", "length"},
        Tampering{"Rate", InRound<OrderRecord>(3, [](OrderRecord& r) { r.rate_first = 0.2; }),
                  "order of round 3", "rate"},
        Tampering{"RatesHash", InRound<OrderRecord>(3, [](OrderRecord& r) { ++r.rates_hash; }),
                  "order of round 3", "hash of the rates"},
        Tampering{"Samples", InRound<OrderRecord>(3, [](OrderRecord& r) { ++r.runs[1][0].first; }),
                  "order of round 3", "samples of rank 1"},
        Tampering{"Evaluation",
                  InRound<OrderRecord>(3, [](OrderRecord& r) { r.evaluation_due = true; }),
                  "order of round 3", "evaluation due"},
        Tampering{"Ledger", InRound<CommitRecord>(3, [](CommitRecord& r) { ++r.ledger.position; }),
                  "commit of round 3", "ledger"},
        Tampering{"UsedSamples", InRound<CommitRecord>(3, [](CommitRecord& r) { ++r.samples; }),
                  "commit of round 3", "samples"},
        Tampering{"Contributor",
                  InRound<CommitRecord>(3, [](CommitRecord& r) { r.contributors.pop_back(); }),
                  "commit of round 3", "samples"},
        Tampering{"CommitLength", InRound<CommitRecord>(3, [](CommitRecord& r) { r.length = 3; }),
                  "commit of round 3", "length"},
        Tampering{"CommitStep", InRound<CommitRecord>(3, [](CommitRecord& r) { ++r.first_step; }),
                  "commit of round 3", "its place"},
        Tampering{"RoundNumber", InRound<OrderRecord>(3, [](OrderRecord& r) { r.round = {4}; }),
                  "order of round 4", "number"},
        Tampering{"GroupNumber", In<GroupRecord>([](GroupRecord& r) {
                    r.group = {2};
                    return true;
                  }),
                  "group 2", "number"},
        Tampering{"Term", In<TermRecord>([](TermRecord& r) {
                    r.term = {2};
                    return true;
                  }),
                  "term 2", "number"},
        Tampering{"Steps", In<ReferenceRecord>([](ReferenceRecord& r) {
                    r.total_steps = 31;
                    return true;
                  }),
                  "reference", "steps"},
        Tampering{"Checkpoint", In<CheckpointRecord>([](CheckpointRecord& r) {
                    ++r.state_hash;
                    return true;
                  }),
                  "checkpoint", "state hash"},
        Tampering{"Checksum", In<EndRecord>([](EndRecord& r) {
                    ++r.checksum;
                    return true;
                  }),
                  "the end", "checksum"},
        Tampering{"Syncs", In<EndRecord>([](EndRecord& r) {
                    --r.syncs;
                    return true;
                  }),
                  "the end", "syncs"}),
    [](const testing::TestParamInfo<Tampering>& info) { return info.param.name; });

TEST(TamperedJournalTest, ARecordThatIsMissingIsFound) {
  const std::vector<Record> records = Undisturbed();
  for (size_t missing = 0; missing < records.size(); ++missing) {
    const bool decision = !std::holds_alternative<NoticeRecord>(records[missing]) &&
                          !std::holds_alternative<EvaluationRecord>(records[missing]) &&
                          !std::holds_alternative<CheckpointRecord>(records[missing]) &&
                          !std::holds_alternative<EndRecord>(records[missing]);
    if (!decision) continue;
    std::vector<Record> rest = records;
    rest.erase(rest.begin() + static_cast<ptrdiff_t>(missing));
    EXPECT_GE(Replay(SmallJob(2, 2), rest).found, 1u) << "without record " << missing;
  }
}

TEST(TamperedJournalTest, OtherSettingsAreFound) {
  MachineConfig other = SmallJob(2, 2);
  other.policy.base_steps = 5;
  const ReplayReport report = Replay(other, Undisturbed());
  ASSERT_GE(report.found, 1u);
  EXPECT_EQ(report.differences[0].what, "length");
}

TEST(SteadyRoundsTest, AreAllOfAnUndisturbedRun) {
  const SteadyRounds steady = FindSteadyRounds(Undisturbed());
  EXPECT_EQ(steady.commits.size(), 8u);
  EXPECT_EQ(steady.members.size(), 2u);
  EXPECT_EQ(steady.ended_by, "");
}

TEST(SteadyRoundsTest, EndWhereMomentsBeganAtZero) {
  Script script(SmallJob(1, 1));
  ScriptedWorker& a = script.Join("a");
  for (int i = 0; i < 1000 && script.Records<CommitRecord>().empty(); ++i) script.RunOne();
  a.sick_moments = true;
  script.Run();
  const SteadyRounds steady = FindSteadyRounds(script.records);
  EXPECT_EQ(steady.commits.size(), 2u);
  EXPECT_THAT(steady.ended_by, HasSubstr("moments of a"));
}

TEST(SteadyRoundsTest, EndWithTheFirstChangeOfMembers) {
  const SteadyRounds none = FindSteadyRounds(Troubled());
  EXPECT_TRUE(none.commits.empty());
  EXPECT_NE(none.ended_by, "");
  MidRound mid(1, 2);
  mid.script.Handle(DrainRequested{"a"});
  mid.script.Say(*mid.a, mid.ReadyOfA());
  mid.script.Run();
  const SteadyRounds one = FindSteadyRounds(mid.script.records);
  EXPECT_EQ(one.commits.size(), 1u);
  EXPECT_THAT(one.ended_by, HasSubstr("other members"));
}

}  // namespace
}  // namespace rondo::server
