// Who comes in, and the groups they form.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/core/job_machine.h"
#include "server/core/scripted_workers.h"

namespace rondo::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> NamesOf(const std::vector<Member>& members) {
  std::vector<std::string> names;
  for (const Member& member : members) names.push_back(member.name);
  return names;
}

TEST(ArrivalTest, OneWhoDiffersFromTheFirstIsRefusedByName) {
  Script script(SmallJob(2, 3));
  script.Join("a");
  script.Run();
  ScriptedWorker& b = script.Join("b");
  b.facts.parameters = 8;
  script.Run();
  ASSERT_TRUE(b.refused);
  EXPECT_EQ(b.refused->reason, RefuseReason::kModel);
  EXPECT_THAT(b.refused->text, HasSubstr("number of parameters is 8"));
  ScriptedWorker& c = script.Join("c");
  c.facts.files[0].sha256 = "xyz";
  script.Run();
  ASSERT_TRUE(c.refused);
  EXPECT_EQ(c.refused->reason, RefuseReason::kFiles);
  EXPECT_THAT(c.refused->text, HasSubstr("file train"));
}

TEST(ArrivalTest, ABatchLargerThanTheTrainingSetIsRefused) {
  MachineConfig config = SmallJob(1, 1);
  config.batch_global = 101;
  Script script(config);
  ScriptedWorker& a = script.Join("a");
  script.Run();
  ASSERT_TRUE(a.refused);
  EXPECT_THAT(a.refused->text, HasSubstr("smaller batch"));
}

TEST(ArrivalTest, AnotherProcessUnderALiveNameWaitsAndComesInWhenTheFirstIsGone) {
  Script script(SmallJob(2, 2));
  ScriptedWorker& first = script.Join("a", 1);
  script.Run();
  script.Handle(StreamOpened{{99}});
  Hello hello;
  hello.name = "a";
  hello.incarnation = {2};
  hello.dial = 1;
  hello.protocol = 1;
  hello.torch_version = "2.15.0";
  script.SayAs({99}, {"", {}, hello});
  EXPECT_EQ(script.closed.back(), StreamId{99});
  script.Break(first);
  ScriptedWorker& second = script.Join("a", 2);
  script.Run();
  EXPECT_EQ(second.Heard<Welcome>().size(), 1u);
  EXPECT_TRUE(script.Noted("worker_lost"));
}

TEST(ArrivalTest, ACoordinatorThatSleptLosesNobody) {  // S65
  Script script(SmallJob(2, 2));
  ScriptedWorker& a = script.Join("a");
  ScriptedWorker& b = script.Join("b");
  a.mute_ready = b.mute_ready = true;
  script.Run();
  script.now += absl::Seconds(60);  // Stopped, or its machine was suspended.
  script.Handle(TimerFired{});
  EXPECT_TRUE(script.Noted("coordinator_slept"));
  EXPECT_FALSE(script.Noted("worker_silent"));
  EXPECT_TRUE(a.connected && b.connected);
}

TEST(ArrivalTest, AStreamWithoutHelloIsClosed) {
  Script script(SmallJob(1, 1));
  script.Handle(StreamOpened{{99}});
  script.Pass(absl::Seconds(6));
  EXPECT_THAT(script.closed, ElementsAre(StreamId{99}));
}

TEST(ArrivalTest, AnUnreadableMessageRefusesItsSender) {
  Script script(SmallJob(2, 2));
  ScriptedWorker& a = script.Join("a");
  script.Run();
  script.Handle(Malformed{a.stream, "Ready.steps: is beyond 2^62"});
  script.Run();
  ASSERT_TRUE(a.refused);
  EXPECT_EQ(a.refused->reason, RefuseReason::kProtocol);
}

TEST(ArrivalTest, AStreamEndsWellAfterItsLastWord) {
  Script script(SmallJob(1, 1));
  ScriptedWorker& a = script.Join("a");
  script.Run();
  script.Join("b");  // Told to wait: the only place is taken.
  script.Run();
  script.Pass(absl::Seconds(31));
  ASSERT_EQ(a.exit_code, 0u);
  ASSERT_GE(script.closed.size(), 2u);
  for (const auto& [stream, reason] : script.close_reasons) EXPECT_EQ(reason, "");
  script.Handle(StreamOpened{{99}});
  script.Pass(absl::Seconds(6));
  EXPECT_EQ(script.close_reasons[StreamId{99}], "no Hello in time");
}

TEST(ArrivalTest, TheRosterDoesNotGrowWithThoseThatWereRefused) {  // S66
  JobMachine machine(SmallJob(2, 2));
  const absl::Time now = absl::UnixEpoch();
  machine.Start(now);
  for (uint64_t i = 1; i <= 3'000; ++i) {
    Hello hello;
    hello.name = "w" + std::to_string(i);
    hello.incarnation = {i};
    hello.dial = 1;
    hello.protocol = 1;
    hello.torch_version = "2.15.0";
    machine.Handle(StreamOpened{{i}}, now);
    machine.Handle(Received{{i}, {"", {}, hello}}, now);
    machine.Handle(Malformed{{i}, "unreadable"}, now);
    machine.Handle(StreamClosed{{i}}, now);
  }
  EXPECT_EQ(machine.workers().size(), 1'000u);
}

TEST(ArrivalTest, TheStatusNamesWhoIsMissing) {  // S17
  Script script(SmallJob(2, 2));
  ScriptedWorker& b = script.Join("b");
  script.Run();
  EXPECT_EQ(script.machine.status(script.now).state, JobState::kWaiting);
  EXPECT_THAT(script.machine.status(script.now).reason, HasSubstr("1 of at least 2"));
  b.mute_ready = true;
  script.Join("a");
  script.Run();
  EXPECT_THAT(script.machine.status(script.now).reason, HasSubstr("waits for b"));
}

TEST(GroupTest, OneWithOtherInitialParametersIsRefused) {  // S25
  Script script(SmallJob(2, 3));
  ScriptedWorker& a = script.Join("a");
  ScriptedWorker& b = script.Join("b");
  ScriptedWorker& c = script.Join("c");
  c.wrong_state = 666;
  script.Run();
  ASSERT_TRUE(c.refused);
  EXPECT_EQ(c.refused->reason, RefuseReason::kModel);
  EXPECT_EQ(script.Records<CommitRecord>().size(), 0u);
  script.Pass(absl::Seconds(30));  // Two are enough, once the wait is over.
  EXPECT_EQ(a.exit_code, 0u);
  EXPECT_EQ(b.exit_code, 0u);
  EXPECT_THAT(NamesOf(script.Records<GroupRecord>().back().members), ElementsAre("a", "b"));
}

TEST(GroupTest, AMemberThatDoesNotFormIsLeftBehind) {
  Script script(SmallJob(2, 3));
  script.Join("a");
  script.Join("b");
  script.Join("c").mute_formed = true;
  script.Run();
  script.Pass(absl::Seconds(95));
  const auto groups = script.Records<GroupRecord>();
  ASSERT_GE(groups.size(), 2u);
  EXPECT_THAT(NamesOf(groups[0].members), ElementsAre("a", "b", "c"));
  EXPECT_THAT(NamesOf(groups[1].members), ElementsAre("a", "b"));
  EXPECT_EQ(script.finish->exit_code, 0);
}

TEST(GroupTest, AJoinerComesInAtTheBorderAndTakesTheState) {  // S20, S21
  Script script(SmallJob(1, 2));
  ScriptedWorker& a = script.Join("a");
  script.Run();
  script.Pass(absl::Seconds(29));
  a.mute_ready = true;
  script.Pass(absl::Seconds(2));
  ASSERT_TRUE(a.order);
  ScriptedWorker& b = script.Join("b");
  script.Run();
  EXPECT_TRUE(b.Heard<Assemble>().empty());  // Not in the middle of a round.
  a.mute_ready = false;
  script.Say(a, Ready{a.order->group, a.order->round, 4, 40, 4, true, 1, {}});
  script.Run();
  ASSERT_FALSE(b.Heard<Assemble>().empty());
  const Assemble assemble = b.Heard<Assemble>()[0];
  EXPECT_EQ(assemble.purpose, Purpose::kJoin);
  EXPECT_EQ(assemble.members[0].need, StateNeed::kHolds);
  EXPECT_EQ(assemble.members[1].need, StateNeed::kAll);
  EXPECT_EQ(assemble.giver, 0u);
  EXPECT_EQ(assemble.round, RoundId{1});
  EXPECT_EQ(assemble.state_hash, script.Records<CommitRecord>()[0].state_hash);
  EXPECT_EQ(b.exit_code, 0u);
}

TEST(GroupTest, RatesAreNotRescaledWhenTheGlobalBatchChanges) {  // S37, S26
  MachineConfig config = SmallJob(1, 2);
  config.batch_global = 0;
  config.batch_per_worker = 5;
  config.epochs = 0;
  config.schedule.steps = 12;
  Script script(config);
  ScriptedWorker& a = script.Join("a");
  script.Run();
  a.mute_ready = true;
  script.Pass(absl::Seconds(31));
  script.Join("b");
  script.Run();
  a.mute_ready = false;
  script.Say(a, Ready{a.order->group, a.order->round, 4, 20, 4, true, 1, {}});
  script.Run();
  EXPECT_TRUE(script.Noted("global_batch_changed"));
  const auto commits = script.Records<CommitRecord>();
  ASSERT_EQ(commits.size(), 3u);
  EXPECT_EQ(commits[0].samples, 20u);
  EXPECT_EQ(commits[1].samples, 40u);
  EXPECT_EQ(commits[0].rate_first, commits[1].rate_first);
  const Reduce reduce = a.Heard<Reduce>().back();
  EXPECT_EQ(reduce.contributors[0].weight, reduce.contributors[1].weight);
}

}  // namespace
}  // namespace rondo::server
