// Stories of rounds, told from the records that the real machine wrote.
#include "server/core/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/ids.h"
#include "common/status_matchers.h"
#include "server/core/explain_length.h"
#include "server/core/job_machine.h"
#include "server/core/messages.h"
#include "server/core/records.h"
#include "server/core/scripted_round.h"
#include "server/core/scripted_workers.h"

namespace rondo::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

absl::StatusOr<RoundStory> Explain(const Script& script, uint64_t round) {
  ExplainConfig config{script.config.policy, script.config.schedule};
  for (const ReferenceRecord& reference : script.Records<ReferenceRecord>()) {
    config.schedule.steps = static_cast<int64_t>(reference.total_steps);
  }
  return ExplainRound(config, script.records, {round});
}

// By worker and kind, as "a joined".
std::vector<std::string> ChangesOf(const RoundStory& story) {
  std::vector<std::string> changes;
  for (const MemberChange& change : story.changes) {
    const char* const kinds[] = {"joined", "took over", "gone", "dropped"};
    changes.push_back(change.worker + " " + kinds[static_cast<int>(change.kind)]);
  }
  return changes;
}

TEST(ExplainTest, TellsAnUndisturbedRound) {
  Script script(SmallJob(2, 2));
  script.Join("a");
  script.Join("b");
  script.Run();
  ASSERT_OK_AND_ASSIGN(const RoundStory first, Explain(script, 1));
  EXPECT_EQ(first.fate, RoundFate::kCommitted);
  EXPECT_EQ(first.length.length, 4);
  EXPECT_EQ(first.length.reason, LengthReason::kBaseSteps);
  EXPECT_THAT(first.members, ElementsAre("a", "b"));
  EXPECT_THAT(first.contributors, ElementsAre("a", "b"));
  EXPECT_THAT(ChangesOf(first), ElementsAre("a joined", "b joined"));
  EXPECT_THAT(first.changes[1].text, HasSubstr("from a"));
  EXPECT_EQ(first.samples.used, 40u);
  EXPECT_EQ(first.attempts, 1u);
  EXPECT_THAT(first.repeats, IsEmpty());
  ASSERT_OK_AND_ASSIGN(const RoundStory last, Explain(script, 8));
  EXPECT_EQ(last.first_step, 28u);
  EXPECT_EQ(last.length.reason, LengthReason::kEnd);
  EXPECT_THAT(ChangesOf(last), IsEmpty());
}

TEST(ExplainTest, TellsWhoWasLostAndWhatReturned) {
  MidRound mid(1, 2);
  mid.b->mute_ready = true;
  mid.script.Break(*mid.a);
  mid.script.Pass(absl::Seconds(11));
  ASSERT_OK_AND_ASSIGN(const RoundStory round, Explain(mid.script, 1));
  EXPECT_THAT(round.contributors, ElementsAre("b"));
  ASSERT_THAT(ChangesOf(round), testing::Contains("a dropped"));
  EXPECT_EQ(round.samples.returned.at(0).worker, "a");
  EXPECT_EQ(round.samples.returned.at(0).count, 20u);
  ASSERT_OK_AND_ASSIGN(const RoundStory open, Explain(mid.script, 2));
  EXPECT_EQ(open.fate, RoundFate::kOpen);
  EXPECT_THAT(open.members, ElementsAre("b"));
  ASSERT_THAT(ChangesOf(open), ElementsAre("a gone"));
  EXPECT_THAT(open.changes[0].text, HasSubstr("; away for 10s"));
  EXPECT_EQ(open.cost.total, 0);
}

// The round's first change of this kind.
MemberChange ChangeOf(const RoundStory& story, ChangeKind kind) {
  for (const MemberChange& change : story.changes) {
    if (change.kind == kind) return change;
  }
  ADD_FAILURE() << "no such change";
  return {};
}

TEST(ExplainTest, TellsWhenAndWhyAConnectionBroke) {
  MidRound mid(1, 2);
  mid.b->mute_ready = true;
  mid.script.Pass(absl::Seconds(3));
  const absl::Time broke_at = mid.script.now;
  mid.a->connected = false;
  mid.script.Handle(StreamClosed{mid.a->stream, "reset by peer"});
  mid.script.Pass(absl::Seconds(1));
  ASSERT_OK_AND_ASSIGN(const RoundStory first, Explain(mid.script, 1));
  const MemberChange dropped = ChangeOf(first, ChangeKind::kDropped);
  EXPECT_EQ(dropped.text, "its connection broke (reset by peer)");
  EXPECT_EQ(dropped.at, broke_at);
  mid.script.Pass(absl::Seconds(11));  // It is lost meanwhile.
  ASSERT_OK_AND_ASSIGN(const RoundStory second, Explain(mid.script, 2));
  const MemberChange gone = ChangeOf(second, ChangeKind::kGone);
  EXPECT_EQ(gone.text, "its connection broke (reset by peer); away for 10s");
  EXPECT_EQ(gone.at, broke_at);
}

TEST(ExplainTest, AReturnEndsTheStoryOfAnAbsence) {
  const auto at = [](int second) { return absl::UnixEpoch() + absl::Seconds(second); };
  OrderRecord order;
  order.round = {1};
  order.group = {1};
  CommitRecord commit;
  commit.round = {1};
  commit.contributors = {"b"};
  const std::vector<Record> records = {
      TermRecord{{1}, at(0)},
      GroupRecord{{1}, Purpose::kStart, {{"a", {1}}, {"b", {2}}}, at(0)},
      order,
      NoticeRecord{at(1), "worker_away", "a: its connection broke", {1}, "a"},
      NoticeRecord{at(2), "worker_returned", "a is back", {1}, "a"},
      TermRecord{{2}, at(3)},
      NoticeRecord{at(13), "worker_lost", "a: away for 10s", {1}, "a"},
      commit};
  ExplainConfig config;
  config.schedule.steps = 10;
  ASSERT_OK_AND_ASSIGN(const RoundStory story, ExplainRound(config, records, {1}));
  const MemberChange dropped = ChangeOf(story, ChangeKind::kDropped);
  EXPECT_EQ(dropped.text, "away for 10s");
  EXPECT_EQ(dropped.at, at(13));
}

struct Departure {
  const char* name;
  void (*happens)(MidRound&);  // To a, in the middle of round 1.
  const char* text;
};

class DepartureTest : public testing::TestWithParam<Departure> {};

TEST_P(DepartureTest, IsToldWithItsReasonAndTime) {
  MidRound mid(1, 2);
  mid.script.Pass(absl::Seconds(2));
  const absl::Time before = mid.script.now;
  GetParam().happens(mid);
  mid.script.Pass(absl::Seconds(8));
  ASSERT_OK_AND_ASSIGN(const RoundStory story, Explain(mid.script, 1));
  const MemberChange dropped = ChangeOf(story, ChangeKind::kDropped);
  EXPECT_EQ(dropped.worker, "a");
  EXPECT_THAT(dropped.text, HasSubstr(GetParam().text));
  EXPECT_GE(dropped.at, before);
}

INSTANTIATE_TEST_SUITE_P(
    Ways, DepartureTest,
    testing::Values(Departure{"BrokenStream", [](MidRound& mid) { mid.script.Break(*mid.a); },
                              "its connection broke"},
                    Departure{"Silent", [](MidRound& mid) { mid.a->connected = false; },
                              "has sent nothing for 5s"},
                    Departure{
                        "Stalled",
                        [](MidRound& mid) {
                          mid.script.Say(*mid.a, Progress{{1}, 1, 0, 0, 100, Activity::kTraining});
                        },
                        "has stood still for 100 s"},
                    Departure{"Left",
                              [](MidRound& mid) {
                                mid.script.Say(*mid.a, Leave{{1}, 0, 0.1, "SIGTERM"});
                              },
                              "leaves at once"},
                    Departure{"Refused",
                              [](MidRound& mid) {
                                mid.script.Handle(Malformed{mid.a->stream, "no message"});
                              },
                              "no message"}),
    [](const auto& info) { return std::string(info.param.name); });

TEST(ExplainTest, TellsWhatWasRepeatedAndHowLongThatTook) {
  MidRound mid;
  mid.b->mute_reduced = true;
  mid.a->mute_reduced = true;
  mid.a->mute_ready = false;
  mid.script.Say(*mid.a, mid.ReadyOfA());
  mid.script.Run();
  mid.script.Break(*mid.a);
  mid.b->mute_reduced = false;
  mid.script.Say(*mid.b, Failed{{1}, {1}, 1, 0, false, "a", FailureCause::kPeer, "reset"});
  mid.script.Pass(absl::Seconds(2));
  ASSERT_OK_AND_ASSIGN(const RoundStory story, Explain(mid.script, 1));
  EXPECT_EQ(story.attempts, 2u);
  ASSERT_EQ(story.repeats.size(), 1u);
  EXPECT_EQ(story.repeats[0].kind, "round_failed");
  EXPECT_THAT(story.repeats[0].text, HasSubstr("reset"));
  EXPECT_GT(story.repeats[0].seconds, 0.4);
  EXPECT_GT(story.cost.total, 0.4);
}

TEST(ExplainTest, TellsWhoseResultWasNotFinite) {
  Script script(SmallJob(2, 2));
  script.Join("a");
  script.Join("b").finite = false;
  script.Run();
  ASSERT_OK_AND_ASSIGN(const RoundStory first, Explain(script, 1));
  EXPECT_EQ(first.samples.not_finite.at(0).worker, "b");
  EXPECT_EQ(first.samples.not_finite.at(0).count, 20u);
  EXPECT_EQ(first.samples.used, 20u);
  ASSERT_OK_AND_ASSIGN(const RoundStory second, Explain(script, 2));
  ASSERT_THAT(ChangesOf(second), ElementsAre("b took over", "b dropped"));
  EXPECT_THAT(second.changes[1].text, HasSubstr("not finite"));
  EXPECT_THAT(second.changes[0].text, HasSubstr("moments from a"));
}

TEST(ExplainTest, TellsWhoWasDrained) {
  MidRound mid(1, 2);
  mid.script.Handle(DrainRequested{"a"});
  mid.script.Say(*mid.a, mid.ReadyOfA());
  mid.script.Run();
  ASSERT_OK_AND_ASSIGN(const RoundStory story, Explain(mid.script, 2));
  ASSERT_THAT(ChangesOf(story), ElementsAre("a gone"));
  EXPECT_THAT(story.changes[0].text, HasSubstr("a user asked for it"));
}

TEST(ExplainTest, TellsThatARoundWasGivenUp) {
  OrderRecord order;
  order.round = {1};
  order.group = {1};
  order.length = 4;
  const std::vector<Record> records = {
      TermRecord{{1}, absl::UnixEpoch()},
      GroupRecord{{1}, Purpose::kStart, {{"a", {1}, StateNeed::kInitial}}, absl::UnixEpoch()},
      order, VoidRecord{{1}, "none of its members is left"}};
  ExplainConfig config;
  config.schedule.steps = 10;
  ASSERT_OK_AND_ASSIGN(const RoundStory story, ExplainRound(config, records, {1}));
  EXPECT_EQ(story.fate, RoundFate::kVoided);
  EXPECT_EQ(story.fate_text, "none of its members is left");
}

TEST(ExplainTest, TellsThatARoundWasUndone) {
  Script script(SmallJob(1, 1));
  script.Join("a");
  script.Run();
  script.records.push_back(RewindRecord{{3}, 12, {4}, "no holder was left", absl::UnixEpoch()});
  ASSERT_OK_AND_ASSIGN(const RoundStory kept, Explain(script, 3));
  EXPECT_EQ(kept.fate, RoundFate::kCommitted);
  ASSERT_OK_AND_ASSIGN(const RoundStory undone, Explain(script, 4));
  EXPECT_EQ(undone.fate, RoundFate::kUndone);
  EXPECT_EQ(undone.fate_text, "no holder was left");
}

TEST(ExplainTest, ARoundThatWasNeverOrderedIsNotFound) {
  MidRound mid;
  EXPECT_THAT(Explain(mid.script, 2), StatusIs(absl::StatusCode::kNotFound));
}

}  // namespace
}  // namespace rondo::server
