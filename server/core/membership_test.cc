#include "server/core/membership.h"

#include <gtest/gtest.h>

namespace rondo::server {
namespace {

constexpr absl::Time kNow = absl::UnixEpoch();

HelloPolicy Policy() {
  HelloPolicy policy;
  policy.job_id = "job-1";
  policy.workers_max = 2;
  return policy;
}

Hello HelloOf(const std::string& name, uint64_t incarnation, uint64_t dial = 1) {
  Hello hello;
  hello.name = name;
  hello.incarnation = {incarnation};
  hello.dial = dial;
  hello.protocol = kProtocolVersion;
  hello.torch_version = "2.15.0";
  return hello;
}

// Worker a, incarnation 1, on stream 1 with dial 3.
Roster WithA(Standing standing = Standing::kPrepared, bool connected = true) {
  Roster roster;
  Worker& a = roster.Enter(HelloOf("a", 1), kNow);
  a.dial = 3;
  a.stream = {connected ? 1u : 0u};
  a.standing = standing;
  return roster;
}

TEST(DecideHelloTest, WelcomesANewWorker) {
  EXPECT_EQ(DecideHello(Policy(), Roster(), "", HelloOf("a", 1)).verdict, HelloVerdict::kWelcome);
}

TEST(DecideHelloTest, ANewerDialReplacesAnOlderOneAndNeverTheReverse) {
  EXPECT_EQ(DecideHello(Policy(), WithA(), "job-1", HelloOf("a", 1, 4)).verdict,
            HelloVerdict::kWelcome);
  EXPECT_EQ(DecideHello(Policy(), WithA(), "job-1", HelloOf("a", 1, 2)).verdict,
            HelloVerdict::kStale);
}

TEST(DecideHelloTest, ANameWithALiveProcessWaits) {  // S12: the answer says wait, and why.
  const HelloDecision decision = DecideHello(Policy(), WithA(), "", HelloOf("a", 2));
  EXPECT_EQ(decision.verdict, HelloVerdict::kWait);
  EXPECT_EQ(decision.wait, WaitReason::kNameInUse);
  EXPECT_FALSE(decision.text.empty());
}

TEST(DecideHelloTest, ANewProcessReplacesOneWhoseStreamIsClosed) {
  EXPECT_EQ(DecideHello(Policy(), WithA(Standing::kPrepared, false), "", HelloOf("a", 2)).verdict,
            HelloVerdict::kReplaces);
}

TEST(DecideHelloTest, WaitsWhenAllPlacesAreTaken) {
  HelloPolicy policy = Policy();
  policy.workers_max = 1;
  const HelloDecision decision = DecideHello(policy, WithA(), "", HelloOf("b", 2));
  EXPECT_EQ(decision.verdict, HelloVerdict::kWait);
  EXPECT_EQ(decision.wait, WaitReason::kFull);
  // A worker that is away keeps its place; one that is lost does not (S09).
  EXPECT_EQ(DecideHello(policy, WithA(Standing::kPrepared, false), "", HelloOf("b", 2)).verdict,
            HelloVerdict::kWait);
  EXPECT_EQ(DecideHello(policy, WithA(Standing::kLost, false), "", HelloOf("b", 2)).verdict,
            HelloVerdict::kWelcome);
}

TEST(DecideHelloTest, OneThatWasLetGoIsToldAgain) {
  EXPECT_EQ(DecideHello(Policy(), WithA(Standing::kLeft, false), "", HelloOf("a", 1, 9)).verdict,
            HelloVerdict::kLeft);
}

TEST(DecideHelloTest, OneThatWasLostComesBackUnderItsName) {
  EXPECT_EQ(DecideHello(Policy(), WithA(Standing::kLost, false), "", HelloOf("a", 1, 9)).verdict,
            HelloVerdict::kWelcome);
}

struct Wrong {
  std::string name;
  std::string job_id;
  void (*change)(Hello&);
  RefuseReason reason;
};

const Wrong kWrongs[] = {
    {"OtherJob", "job-2", [](Hello&) {}, RefuseReason::kOtherJob},
    {"OtherProtocol", "", [](Hello& h) { h.protocol = 2; }, RefuseReason::kVersion},
    {"OtherTorch", "", [](Hello& h) { h.torch_version = "2.14.0"; }, RefuseReason::kVersion},
    {"OtherNccl", "", [](Hello& h) { h.nccl_version = 1; }, RefuseReason::kVersion},  // S86
    {"OtherDevice", "", [](Hello& h) { h.device = Device::kCuda; }, RefuseReason::kDevice},
    {"BadName", "", [](Hello& h) { h.name = "a b"; }, RefuseReason::kName},
    {"NoName", "", [](Hello& h) { h.name = ""; }, RefuseReason::kName},
};

class WrongHelloTest : public testing::TestWithParam<Wrong> {};

TEST_P(WrongHelloTest, IsRefusedForGood) {
  HelloPolicy policy = Policy();
  policy.torch_version = "2.15.0";
  Hello hello = HelloOf("b", 2);
  GetParam().change(hello);
  const HelloDecision decision = DecideHello(policy, WithA(), GetParam().job_id, hello);
  EXPECT_EQ(decision.verdict, HelloVerdict::kRefuse);
  EXPECT_EQ(decision.refuse, GetParam().reason);
}

INSTANTIATE_TEST_SUITE_P(Rules, WrongHelloTest, testing::ValuesIn(kWrongs),
                         [](const auto& info) { return info.param.name; });

TEST(DecideHelloTest, AfterTheEndNewcomersAreToldSo) {
  HelloPolicy policy = Policy();
  policy.ended = true;
  const HelloDecision decision = DecideHello(policy, WithA(), "", HelloOf("b", 2));
  EXPECT_EQ(decision.verdict, HelloVerdict::kOver);
}

TEST(AwaitedUntilTest, ABrokenStreamIsNotYetDeath) {  // Rule 12.
  Worker worker;
  worker.broke = kNow;
  const absl::Duration wait = absl::Milliseconds(500);
  EXPECT_EQ(AwaitedUntil(worker, kNow - absl::Seconds(9), wait), kNow + wait);
  EXPECT_EQ(AwaitedUntil(worker, kNow + absl::Seconds(1), wait), kNow + absl::Seconds(1) + wait);
  worker.fell_silent = true;
  EXPECT_EQ(AwaitedUntil(worker, kNow, wait), absl::InfinitePast());
  worker.fell_silent = false;
  worker.standing = Standing::kLost;
  EXPECT_EQ(AwaitedUntil(worker, kNow, wait), absl::InfinitePast());
}

// S66: processes come and go for weeks, each under another name.
TEST(RosterTest, RemembersTheLastThatAreGoneAndAllThatAreThere) {
  Roster roster = WithA();
  const auto needed = [](const Worker& worker) { return worker.name == "w-3"; };
  for (int i = 0; i < 100'000; ++i) {
    const absl::Time now = kNow + absl::Milliseconds(10 * i);
    Worker& worker = roster.Enter(HelloOf("w-" + std::to_string(i), 1), now);
    worker.standing = i % 2 == 0 ? Standing::kLost : Standing::kRefused;
    worker.gone_since = now;
    roster.Forget(now, needed);
    ASSERT_LE(roster.workers().size(), kGoneKept + 2);
  }
  EXPECT_EQ(roster.workers().size(), kGoneKept + 2);
  EXPECT_NE(roster.Find("a"), nullptr);
  EXPECT_NE(roster.Find("w-3"), nullptr);
  EXPECT_NE(roster.Find("w-99000"), nullptr);
  EXPECT_EQ(roster.Find("w-98999"), nullptr);
}

TEST(RosterTest, WhoIsGoneForAnHourIsForgotten) {
  Roster roster = WithA(Standing::kLeft, /*connected=*/false);
  roster.Find("a")->gone_since = kNow;
  const auto none = [](const Worker&) { return false; };
  roster.Forget(kNow + kGoneKeptFor, none);
  EXPECT_NE(roster.Find("a"), nullptr);
  roster.Forget(kNow + kGoneKeptFor + absl::Seconds(1), none);
  EXPECT_EQ(roster.Find("a"), nullptr);
}

}  // namespace
}  // namespace rondo::server
