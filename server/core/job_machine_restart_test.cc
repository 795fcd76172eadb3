// A later term: what it takes up, whom it waits for, and that a crash at any moment changes nothing
// but numbers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "common/status_matchers.h"
#include "server/core/history.h"
#include "server/core/job_machine.h"
#include "server/core/ledger.h"
#include "server/core/scripted_round.h"
#include "server/core/scripted_workers.h"

namespace rondo::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// What of a commit must be the same whatever happened to the coordinator: not its numbers.
struct Essence {
  uint64_t first_step = 0;
  uint64_t length = 0;
  uint64_t samples = 0;
  std::vector<std::string> contributors;
  uint64_t epoch = 0;
  uint64_t position = 0;
  size_t returned = 0;
  uint64_t used = 0;
  uint64_t dropped = 0;
  bool operator==(const Essence&) const = default;
};

std::vector<Essence> EssenceOf(const Script& script) {
  std::vector<Essence> all;
  for (const CommitRecord& c : script.Records<CommitRecord>()) {
    all.push_back({c.first_step, c.length, c.samples, c.contributors, c.ledger.epoch,
                   c.ledger.position, c.ledger.returned.size(), c.ledger.samples_used,
                   c.ledger.samples_dropped});
  }
  return all;
}

MachineConfig JobOf(bool parallel) {
  MachineConfig config = MidRound::Job(2, 3, parallel);
  config.workers_at_start = 3;
  config.checkpoint_every_steps = 10;
  config.evaluate_every_epochs = 1;
  return config;
}

std::unique_ptr<Script> Begin(bool parallel) {
  auto script = std::make_unique<Script>(JobOf(parallel));
  for (const char* name : {"a", "b", "c"}) script->Join(name);
  return script;
}

enum class Moment { kWritten, kSent, kSentAndLost };

class CrashTest : public testing::TestWithParam<std::tuple<bool, Moment>> {
 protected:
  static bool parallel() { return std::get<0>(GetParam()); }
  static void Arm(Script& script, size_t transactions) {
    const Moment moment = std::get<1>(GetParam());
    script.crash_after = transactions;
    script.crash_in_front = moment != Moment::kWritten;
    script.lose_in_flight = moment == Moment::kSentAndLost;
  }
};

// Every record stays in the journal that CheckNext accepts.
void ExpectSound(const Script& script) {
  History history;
  for (const Record& record : script.records) {
    EXPECT_OK(CheckNext(record, history));
    Apply(record, &history);
  }
}

TEST_P(CrashTest, AtAnyTransactionEndsInTheSameCommitsAndTheSameLedger) {
  auto undisturbed = Begin(parallel());
  undisturbed->Run();
  ASSERT_TRUE(undisturbed->finish);
  for (size_t i = 1; i < undisturbed->transactions; ++i) {
    SCOPED_TRACE(i);
    auto first = Begin(parallel());
    Arm(*first, i);
    first->Run();
    ASSERT_TRUE(first->crashed);
    Script second(*first, i);
    second.Run();
    second.Pass(absl::Seconds(40));  // For members that have heard the end, and those before it.
    ASSERT_TRUE(second.finish);
    EXPECT_EQ(second.finish->exit_code, 0);
    ExpectSound(second);
    EXPECT_EQ(EssenceOf(second), EssenceOf(*undisturbed));
    EXPECT_EQ(second.Records<EvaluationRecord>().size(),
              undisturbed->Records<EvaluationRecord>().size());
    const EndRecord end = second.Records<EndRecord>().back();
    const EndRecord expected = undisturbed->Records<EndRecord>().back();
    EXPECT_EQ(end.state, EndState::kDone);
    EXPECT_EQ(end.checksum, expected.checksum);
    EXPECT_EQ(end.syncs, expected.syncs);
    for (const auto& [name, worker] : second.workers) EXPECT_EQ(worker->exit_code, 0u) << name;
    EXPECT_FALSE(second.Noted("worker_lost"));
    EXPECT_FALSE(second.Noted("samples_returned"));
  }
}

TEST_P(CrashTest, OfEveryTermEndsTheJobAllTheSame) {
  auto undisturbed = Begin(parallel());
  undisturbed->Run();
  std::unique_ptr<Script> script = Begin(parallel());
  Arm(*script, 6);
  script->Run();
  int terms = 1;
  while (!script->finish) {
    ASSERT_LT(++terms, 60);
    auto next = std::make_unique<Script>(*script, terms);
    Arm(*next, 4);
    next->Run();
    if (!next->crashed) next->Pass(absl::Seconds(40));
    script = std::move(next);
  }
  EXPECT_GT(terms, 5);
  ExpectSound(*script);
  EXPECT_EQ(EssenceOf(*script), EssenceOf(*undisturbed));
}

std::string NameOfCrash(const testing::TestParamInfo<std::tuple<bool, Moment>>& info) {
  const auto [parallel, moment] = info.param;
  const std::string mode = parallel ? "Parallel" : "Local";
  if (moment == Moment::kWritten) return mode + "Written";
  return mode + (moment == Moment::kSent ? "Sent" : "SentAndLost");
}

INSTANTIATE_TEST_SUITE_P(ModeAndMoment, CrashTest,
                         testing::Combine(testing::Bool(),
                                          testing::Values(Moment::kWritten, Moment::kSent,
                                                          Moment::kSentAndLost)),
                         NameOfCrash);

// The coordinator of `mid` is gone; workers keep what they have.
void Crash(MidRound& mid) { mid.script.crashed = true; }

TEST(RestartTest, RenewsTheOpenOrderWithoutSendingItAgain) {
  MidRound mid;
  const GroupId old_group = mid.script.Records<GroupRecord>().back().group;
  Crash(mid);
  Script second(mid.script, 2);
  ScriptedWorker& a = *second.workers["a"];
  a.heard.clear();
  second.Run();
  EXPECT_EQ(second.config.term, Term{2});
  EXPECT_EQ(second.Records<TermRecord>().back().term, Term{2});
  EXPECT_TRUE(second.Noted("term_began"));
  ASSERT_EQ(a.Heard<Welcome>().size(), 1u);
  EXPECT_EQ(a.Heard<Welcome>()[0].order_fate, OrderFate::kRenewed);
  EXPECT_THAT(a.Heard<Order>(), IsEmpty());
  EXPECT_EQ(second.machine.status(second.now).open_round, RoundId{1});
  EXPECT_THAT(second.Records<CommitRecord>(), IsEmpty());  // a still trains.
  a.mute_ready = false;
  second.Say(a, mid.ReadyOfA());
  second.Run();
  const CommitRecord commit = second.Records<CommitRecord>().front();
  EXPECT_EQ(commit.round, RoundId{1});
  EXPECT_GT(commit.group, old_group);  // What the old group may have begun is not gone on with.
  EXPECT_THAT(commit.contributors, ElementsAre("a", "b"));
}

// Rule 7: whose moments are not finite says so itself; no journal does.
TEST(RestartTest, AHolderWhoseMomentsAreNotFiniteTakesThemFromAPeerInANewTermToo) {
  MidRound mid;
  mid.b->sick_moments = true;
  mid.b->mute_endpoint = true;  // So that the group that heals it is not formed.
  mid.script.Say(*mid.a, mid.ReadyOfA());
  mid.script.Run();
  ASSERT_EQ(mid.script.Records<GroupRecord>().size(), 2u);
  EXPECT_EQ(mid.script.Records<GroupRecord>()[1].members[1].need, StateNeed::kMoments);
  Crash(mid);
  Script second(mid.script, 2);
  second.workers["b"]->mute_endpoint = false;
  second.workers["a"]->mute_ready = false;
  second.Run();
  const auto groups = second.Records<GroupRecord>();
  ASSERT_GE(groups.size(), 3u);
  EXPECT_EQ(groups[2].members[0].need, StateNeed::kHolds);
  EXPECT_EQ(groups[2].members[1].need, StateNeed::kMoments);
  ASSERT_TRUE(second.finish);
  EXPECT_EQ(second.finish->exit_code, 0);
}

TEST(RestartTest, WaitsForAMemberUntilItIsLostAndReturnsItsSamples) {
  MidRound mid;
  Crash(mid);
  mid.script.workers.erase("a");
  Script second(mid.script, 2);
  second.Run();
  second.Pass(absl::Seconds(9));
  EXPECT_THAT(second.Records<CommitRecord>(), IsEmpty());
  EXPECT_THAT(second.machine.status(second.now).reason, HasSubstr("waits for a"));
  second.Pass(absl::Seconds(2));
  ASSERT_FALSE(second.Records<CommitRecord>().empty());
  const CommitRecord commit = second.Records<CommitRecord>().front();
  EXPECT_THAT(commit.contributors, ElementsAre("b"));
  EXPECT_EQ(commit.samples, 20u);
  EXPECT_EQ(CountSamples(commit.ledger.returned), 20u);
  EXPECT_TRUE(second.Noted("worker_lost"));
}

TEST(RestartTest, GroupsNobodyAnewBeforeTheJournaledMembersAreBackOrLost) {
  MidRound mid;
  Crash(mid);
  auto b = std::move(mid.script.workers["b"]);
  mid.script.workers.erase("b");
  Script second(mid.script, 2);
  second.workers["a"]->mute_ready = false;
  second.workers["a"]->ready = mid.ReadyOfA();
  const size_t groups = second.Records<GroupRecord>().size();
  second.Run();
  second.Say(*second.workers["a"], mid.ReadyOfA());
  second.Run();
  second.Pass(absl::Seconds(5));
  EXPECT_EQ(second.Records<GroupRecord>().size(), groups);
  second.workers["b"] = std::move(b);
  second.workers["b"]->returning = second.workers["b"]->Describe();
  second.Redial(*second.workers["b"]);
  second.Run();
  ASSERT_FALSE(second.Records<CommitRecord>().empty());
  EXPECT_THAT(second.Records<CommitRecord>().front().contributors, ElementsAre("a", "b"));
}

TEST(RestartTest, ANewProcessUnderAMembersNameIsNoReturn) {
  MidRound mid;
  Crash(mid);
  mid.script.workers.erase("a");
  Script second(mid.script, 2);
  second.Join("a", 99);
  second.Run();
  EXPECT_TRUE(second.Noted("worker_lost"));
  ASSERT_FALSE(second.Records<CommitRecord>().empty());
  EXPECT_THAT(second.Records<CommitRecord>().front().contributors, ElementsAre("b"));
  EXPECT_THAT(second.Records<CommitRecord>()[1].contributors, ElementsAre("a", "b"));
}

TEST(RestartTest, AStagedResultThatTheJournalDoesNotKnowIsAborted) {
  MidRound mid;
  mid.a->mute_ready = false;
  mid.b->mute_reduced = true;  // The attempt stays open.
  mid.script.Say(*mid.a, mid.ReadyOfA());
  mid.script.Run();
  ASSERT_FALSE(mid.a->staged.empty());
  const StagedKey key = mid.a->staged.begin()->first;
  mid.a->ready = mid.ReadyOfA();
  Crash(mid);
  mid.b->mute_reduced = false;
  Script second(mid.script, 2);
  second.Run();
  const Welcome welcome = second.workers["a"]->Heard<Welcome>().back();
  ASSERT_EQ(welcome.fates.size(), 1u);
  EXPECT_EQ(welcome.fates[0].fate, Fate::kAborted);
  ASSERT_FALSE(second.Records<CommitRecord>().empty());
  EXPECT_GT(second.Records<CommitRecord>().front().group, key.group);
}

TEST(RestartTest, AMessageOfTheOldTermIsDropped) {
  MidRound mid;
  Crash(mid);
  Script second(mid.script, 2);
  second.Run();
  ScriptedWorker& a = *second.workers["a"];
  second.SayAs(a.stream, {second.config.job_id, {1}, mid.ReadyOfA()});
  second.Run();
  EXPECT_THAT(second.Records<CommitRecord>(), IsEmpty());
}

TEST(RestartTest, VoidsARoundThatNobodyCarriesWhileAHolderIsThere) {
  auto first = Begin(false);
  // In front of the transaction after the first commit and the second order, all of whose messages
  // are lost; then only one who was not in the group holds the commit.
  first->crash_after = 1;
  while (first->Records<CommitRecord>().empty()) {
    auto again = Begin(false);
    again->crash_after = *first->crash_after + 1;
    first = std::move(again);
    first->Run();
  }
  ASSERT_EQ(first->Records<OrderRecord>().size(), 2u);
  for (auto& [name, worker] : first->workers) {
    worker->order.reset();
    worker->round = {1};
    worker->state = first->Records<CommitRecord>()[0].state_hash;
    worker->staged.clear();
    worker->incarnation = {worker->incarnation.value + 100};  // Unknown to the journal.
  }
  first->workers.erase("b");
  first->workers.erase("c");
  Script second(*first, 2);
  second.Join("b", 500);
  second.Run();
  second.Pass(absl::Seconds(12));
  ASSERT_EQ(second.Records<VoidRecord>().size(), 1u);
  EXPECT_EQ(second.Records<VoidRecord>()[0].round, RoundId{2});
  ASSERT_GE(second.Records<OrderRecord>().size(), 3u);
  EXPECT_EQ(second.Records<OrderRecord>()[2].round, RoundId{3});
  EXPECT_EQ(second.Records<OrderRecord>()[2].first_step, 4u);
  ExpectSound(second);
}

TEST(RestartTest, AJobThatWasStoppedGoesOnFromItsLastCheckpointWithNewWorkers) {
  auto undisturbed = Begin(false);
  undisturbed->Run();
  auto first = Begin(false);
  first->workers["a"]->mute_ready = true;
  first->Run();
  first->Handle(StopRequested{"a user asked"});
  first->Say(*first->workers["a"], Ready{{1}, {1}, 4, 0, 4, true, 1, {}});
  first->Run();
  ASSERT_TRUE(first->finish);
  ASSERT_EQ(first->Records<EndRecord>().back().state, EndState::kStopped);
  ASSERT_EQ(first->Records<CommitRecord>().size(), 1u);
  Script second(*first, 2);
  for (const char* name : {"a", "b", "c"}) second.Join(name, 77);
  second.Run();
  ASSERT_TRUE(second.finish);  // At once: nobody is waited for.
  EXPECT_EQ(second.Records<EndRecord>().back().state, EndState::kDone);
  EXPECT_EQ(EssenceOf(second), EssenceOf(*undisturbed));
  ExpectSound(second);
}

TEST(RestartTest, AJobThatHasFailedInTheMiddleOfARoundGoesOn) {
  auto undisturbed = Begin(false);
  undisturbed->Run();
  auto first = Begin(false);
  first->workers["a"]->mute_ready = true;
  first->Run();
  first->Say(*first->workers["a"], Failed{{1}, {1}, 0, 2, false, "", FailureCause::kInternal, "x"});
  first->Run();
  ASSERT_TRUE(first->finish);
  ASSERT_EQ(first->Records<EndRecord>().back().state, EndState::kFailed);
  Script second(*first, 2);
  for (const char* name : {"a", "b", "c"}) second.Join(name, 77);
  second.Run();
  ASSERT_TRUE(second.finish);
  EXPECT_EQ(second.Records<EndRecord>().back().state, EndState::kDone);
  EXPECT_EQ(EssenceOf(second), EssenceOf(*undisturbed));
  ExpectSound(second);
}

TEST(RestartTest, TellsWhoComesBackAfterTheEndAndJournalsNothing) {
  auto first = Begin(false);
  first->Run();
  ASSERT_TRUE(first->finish);
  auto again = Begin(false);
  again->crash_after = first->transactions;  // The end is written, nobody has heard of it.
  again->Run();
  ASSERT_FALSE(again->Records<EndRecord>().empty());
  const size_t records = again->records.size();
  again->workers.erase("c");
  Script second(*again, 2);
  second.Run();
  EXPECT_EQ(second.workers["a"]->exit_code, 0u);
  EXPECT_FALSE(second.finish);  // c may come.
  second.Pass(absl::Seconds(11));
  ASSERT_TRUE(second.finish);
  EXPECT_EQ(second.finish->exit_code, 0);
  for (size_t i = records; i < second.records.size(); ++i) {
    EXPECT_TRUE(std::holds_alternative<NoticeRecord>(second.records[i]));
  }
}

TEST(RestartTest, OtherRatesThanTheOpenOrdersAreRefused) {
  MidRound mid;
  History history;
  for (const Record& record : mid.script.records) Apply(record, &history);
  MachineConfig config = mid.script.config;
  EXPECT_OK(CheckHistory(config, history));
  config.schedule.peak = 0.2;
  EXPECT_THAT(CheckHistory(config, history),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("other learning rates")));
  history.open.reset();
  EXPECT_OK(CheckHistory(config, history));
}

}  // namespace
}  // namespace rondo::server
