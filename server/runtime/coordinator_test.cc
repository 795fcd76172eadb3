#include "server/runtime/coordinator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "server/runtime/fakes.h"

namespace rondo::server {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// The job id serves as the message's text.
Effect Say(uint64_t stream, const std::string& text) {
  CoordinatorMessage message;
  message.job_id = text;
  message.body = Goodbye{};
  return Send{{stream}, message};
}

Record Note(const std::string& text) { return NoticeRecord{absl::UnixEpoch(), "note", text}; }

CommitRecord CommitOf(uint64_t round) {
  CommitRecord commit;
  commit.round = {round};
  return commit;
}

// StreamOpened{1}: a message without records; StreamClosed{n}: n messages that need a record;
// StopRequested: the end.
Effects Script(const Event& event, absl::Time) {
  Effects effects;
  if (const auto* opened = std::get_if<StreamOpened>(&event)) {
    effects.effects.push_back(Say(opened->stream.value, "free"));
  } else if (const auto* closed = std::get_if<StreamClosed>(&event)) {
    effects.records.push_back(Note("closed"));
    effects.records.push_back(CommitOf(closed->stream.value));
    effects.effects.push_back(Say(closed->stream.value, "recorded"));
  } else if (std::holds_alternative<StopRequested>(event)) {
    effects.records.push_back(Note("end"));
    effects.effects.push_back(CloseStream{{1}, "bye"});
    effects.effects.push_back(Finish{3, "asked"});
  }
  return effects;
}

// Answers a drain; journals it if the name is not "free".
Effects Steered(const Event& event, absl::Time now) {
  const auto* drain = std::get_if<DrainRequested>(&event);
  if (drain == nullptr) return Script(event, now);
  Effects effects;
  if (drain->worker != "free") effects.records.push_back(Note("drain"));
  effects.answer = SteerAnswer{true, 7, drain->worker};
  return effects;
}

class CoordinatorTest : public testing::Test {
 protected:
  void Begin(FakeMachine::Answer answer = Script, Effects first = {},
             std::vector<NumberedNotice> notices = {}) {
    coordinator_ = std::make_unique<Coordinator>(
        std::make_unique<FakeMachine>(std::move(answer), std::move(first)), &journal_, &clock_,
        CoordinatorOptions{.run_timers = false,
                           .journal_retry = absl::Milliseconds(1),
                           .notices = std::move(notices)});
    coordinator_->Start(&streams_, &checkpoints_);
  }

  FakeClock clock_;
  FakeJournal journal_;
  FakeStreams streams_;
  NoCheckpoints checkpoints_;
  std::unique_ptr<Coordinator> coordinator_;
};

TEST_F(CoordinatorTest, SendsAtOnceWhatNeedsNoRecord) {
  Begin();
  coordinator_->Submit(StreamOpened{{1}});
  EXPECT_THAT(streams_.lines(), ElementsAre("send 1 free"));
}

TEST_F(CoordinatorTest, HoldsMessagesUntilTheirRecordsAreOnDisk) {
  Begin();
  journal_.Hold();
  coordinator_->Submit(StreamClosed{{1}});
  journal_.WaitForAttempts(1);
  EXPECT_THAT(streams_.lines(), IsEmpty());
  journal_.Release();
  streams_.WaitForLines(1);
  EXPECT_THAT(streams_.lines(), ElementsAre("send 1 recorded"));
  EXPECT_THAT(journal_.records(), SizeIs(2));
}

TEST_F(CoordinatorTest, HoldsMessagesWithoutRecordsBehindEarlierRecords) {
  Begin();
  journal_.Hold();
  coordinator_->Submit(StreamClosed{{1}});
  coordinator_->Submit(StreamOpened{{2}});
  coordinator_->Submit(StreamClosed{{3}});
  coordinator_->Submit(StreamOpened{{4}});
  journal_.WaitForAttempts(1);
  EXPECT_THAT(streams_.lines(), IsEmpty());
  journal_.Release();
  streams_.WaitForLines(4);
  EXPECT_THAT(streams_.lines(),
              ElementsAre("send 1 recorded", "send 2 free", "send 3 recorded", "send 4 free"));
}

TEST_F(CoordinatorTest, HoldsMessagesBehindRecordsThatHaveNoMessage) {
  Begin([](const Event& event, absl::Time) {
    Effects effects;
    if (std::holds_alternative<StreamOpened>(event)) effects.effects.push_back(Say(1, "later"));
    if (std::holds_alternative<StreamClosed>(event)) effects.records.push_back(Note("alone"));
    return effects;
  });
  journal_.Hold();
  coordinator_->Submit(StreamClosed{{1}});
  coordinator_->Submit(StreamOpened{{1}});
  journal_.WaitForAttempts(1);
  EXPECT_THAT(streams_.lines(), IsEmpty());
  journal_.Release();
  streams_.WaitForLines(1);
}

// An answer that may come later, from another thread.
class Reply {
 public:
  Coordinator::Answered Fill() {
    return [this](const absl::StatusOr<SteerAnswer>& answer) {
      answer_ = answer;
      given_.Notify();
    };
  }
  bool given() const { return given_.HasBeenNotified(); }
  const absl::StatusOr<SteerAnswer>& Wait() {
    given_.WaitForNotification();
    return answer_;
  }

 private:
  absl::StatusOr<SteerAnswer> answer_;
  absl::Notification given_;
};

TEST_F(CoordinatorTest, AnswersAUserOnceTheRequestIsOnDisk) {
  Begin(Steered);
  journal_.Hold();
  Reply drain;
  Reply behind;
  coordinator_->Ask(DrainRequested{"w0"}, drain.Fill());
  coordinator_->Ask(DrainRequested{"free"}, behind.Fill());
  journal_.WaitForAttempts(1);
  EXPECT_FALSE(drain.given());
  EXPECT_FALSE(behind.given());
  journal_.Release();
  EXPECT_EQ(drain.Wait()->text, "w0");
  EXPECT_EQ(behind.Wait()->text, "free");
}

TEST_F(CoordinatorTest, AUserHearsAtOnceThatTheDiskIsFull) {
  Begin(Steered);
  journal_.SetVerdict(absl::ResourceExhaustedError("disk full"));
  Reply first;
  Reply second;
  coordinator_->Ask(DrainRequested{"w0"}, first.Fill());
  EXPECT_EQ(first.Wait().status().code(), absl::StatusCode::kUnavailable);
  coordinator_->Ask(DrainRequested{"w0"}, second.Fill());
  EXPECT_EQ(second.Wait().status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(CoordinatorTest, AUserHearsThatTheJournalFailedOrTheCoordinatorEnds) {
  Begin(Steered);
  journal_.SetVerdict(absl::UnavailableError("bad sector"));
  Reply first;
  coordinator_->Ask(DrainRequested{"w0"}, first.Fill());
  EXPECT_EQ(first.Wait().status().code(), absl::StatusCode::kUnavailable);
  coordinator_->Stop();
  Reply second;
  coordinator_->Ask(DrainRequested{"w0"}, second.Fill());
  EXPECT_EQ(second.Wait().status().code(), absl::StatusCode::kUnavailable);
}

TEST_F(CoordinatorTest, WritesTheFirstRecordsAtTheStart) {
  Effects first;
  first.records.push_back(TermRecord{{1}, absl::UnixEpoch()});
  Begin(Script, first);
  coordinator_->Submit(StreamClosed{{1}});
  streams_.WaitForLines(1);
  ASSERT_THAT(journal_.records(), SizeIs(3));
  EXPECT_TRUE(std::holds_alternative<TermRecord>(journal_.records()[0]));
}

TEST_F(CoordinatorTest, GoesOnWithTheNoticesOfEarlierTerms) {
  Begin(Script, {}, {{41, {absl::UnixEpoch(), "began", "long ago"}}});
  coordinator_->Submit(StreamClosed{{1}});
  streams_.WaitForLines(1);
  const CoordinatorStatus status = coordinator_->Status();
  ASSERT_THAT(status.notices, SizeIs(2));
  EXPECT_EQ(status.notices[0].notice.kind, "began");
  EXPECT_EQ(status.notices[1].number, 42u);
}

TEST_F(CoordinatorTest, IsBlockedWhileTheDiskIsFullAndGoesOnWhenThereIsRoom) {
  Begin();
  journal_.SetVerdict(absl::ResourceExhaustedError("disk full"));
  coordinator_->Submit(StreamClosed{{1}});
  journal_.WaitForAttempts(3);
  const CoordinatorStatus status = coordinator_->Status();
  EXPECT_TRUE(status.blocked);
  EXPECT_THAT(status.blocked_text, HasSubstr("disk full"));
  EXPECT_THAT(streams_.lines(), IsEmpty());
  journal_.SetVerdict(absl::OkStatus());
  streams_.WaitForLines(1);
  EXPECT_FALSE(coordinator_->Status().blocked);
  EXPECT_THAT(journal_.records(), SizeIs(2));
}

TEST_F(CoordinatorTest, TheStatusIsWhatIsOnDisk) {  // S74
  Begin();
  coordinator_->Submit(StreamClosed{{1}});
  streams_.WaitForLines(1);
  EXPECT_EQ(coordinator_->Status().view.step, 1u);
  journal_.SetVerdict(absl::ResourceExhaustedError("disk full"));
  coordinator_->Submit(StreamClosed{{2}});
  coordinator_->Submit(StreamClosed{{3}});
  EXPECT_EQ(coordinator_->Status().view.step, 1u);
  journal_.SetVerdict(absl::OkStatus());
  streams_.WaitForLines(3);
  EXPECT_EQ(coordinator_->Status().view.step, 3u);
}

TEST_F(CoordinatorTest, StopsWith70AndSendsNothingWhenTheOutcomeOfAWriteIsUnknown) {
  Begin();
  journal_.SetVerdict(absl::InternalError("commit failed"));
  coordinator_->Submit(StreamClosed{{1}});
  const Outcome outcome = coordinator_->WaitUntilFinished();
  EXPECT_EQ(outcome.exit_code, 70);
  EXPECT_THAT(outcome.reason, HasSubstr("commit failed"));
  coordinator_->Submit(StreamOpened{{2}});
  EXPECT_THAT(streams_.lines(), IsEmpty());
}

TEST_F(CoordinatorTest, StopsWith70WhenTheJournalIsAnothersByNow) {
  Begin();
  journal_.SetVerdict(absl::AbortedError("another coordinator has written"));
  coordinator_->Submit(StreamClosed{{1}});
  const Outcome outcome = coordinator_->WaitUntilFinished();
  EXPECT_EQ(outcome.exit_code, 70);
  EXPECT_THAT(outcome.reason, HasSubstr("this coordinator ends"));
  EXPECT_THAT(streams_.lines(), IsEmpty());
}

TEST_F(CoordinatorTest, EndsAfterTheLastRecordsAndMessages) {
  Begin();
  journal_.Hold();
  coordinator_->Submit(StopRequested{"test"});
  journal_.WaitForAttempts(1);
  journal_.Release();
  const Outcome outcome = coordinator_->WaitUntilFinished();
  EXPECT_EQ(outcome.exit_code, 3);
  EXPECT_EQ(outcome.reason, "asked");
  EXPECT_THAT(streams_.lines(), ElementsAre("close 1 bye"));
}

TEST_F(CoordinatorTest, KeepsTheNewest20NoticesWithTheirNumbers) {
  Begin();
  for (uint64_t i = 1; i <= 25; ++i) coordinator_->Submit(StreamClosed{{i}});
  streams_.WaitForLines(25);
  const std::vector<NumberedNotice> notices = coordinator_->Status().notices;
  ASSERT_THAT(notices, SizeIs(20));
  EXPECT_EQ(notices.front().number, 6u);
  EXPECT_EQ(notices.back().number, 25u);
}

TEST_F(CoordinatorTest, FiresTheTimerWhenItsTimeHasComeAndNotBefore) {
  int fired = 0;
  Effects first;
  first.wake_at = absl::UnixEpoch() + absl::Seconds(5);
  Begin(
      [&fired](const Event& event, absl::Time) {
        if (std::holds_alternative<TimerFired>(event)) ++fired;
        return Effects{};
      },
      first);
  coordinator_->FireDueTimer();
  clock_.Advance(absl::Seconds(4));
  coordinator_->FireDueTimer();
  EXPECT_EQ(fired, 0);
  clock_.Advance(absl::Seconds(1));
  coordinator_->FireDueTimer();
  EXPECT_EQ(fired, 1);
  coordinator_->FireDueTimer();  // The new wish is "none".
  EXPECT_EQ(fired, 1);
}

TEST_F(CoordinatorTest, ItsOwnThreadFiresTimersOnTheRealClock) {
  RealClock clock;
  absl::Notification fired;
  Effects first;
  first.wake_at = clock.Now();
  Coordinator coordinator(std::make_unique<FakeMachine>(
                              [&fired](const Event& event, absl::Time) {
                                if (std::holds_alternative<TimerFired>(event)) fired.Notify();
                                return Effects{};
                              },
                              first),
                          &journal_, &clock);
  coordinator.Start(&streams_, &checkpoints_);
  fired.WaitForNotification();
}

class FakeWatcher final : public RoundWatcher {
 public:
  void OnRound(const CommitRecord& commit) override { rounds.push_back(commit.round.value); }
  void OnEnd() override { ended = true; }
  std::vector<uint64_t> rounds;
  bool ended = false;
};

TEST_F(CoordinatorTest, TellsWatchersOfCommitsThatAreOnDisk) {
  Begin();
  FakeWatcher watcher;
  FakeWatcher late;
  coordinator_->AddWatcher(&watcher);
  journal_.Hold();
  coordinator_->Submit(StreamClosed{{7}});
  journal_.WaitForAttempts(1);
  EXPECT_THAT(watcher.rounds, IsEmpty());
  journal_.Release();
  streams_.WaitForLines(1);
  coordinator_->Submit(StopRequested{"test"});
  coordinator_->WaitUntilFinished();
  coordinator_->AddWatcher(&late);
  coordinator_->RemoveWatcher(&watcher);
  coordinator_->RemoveWatcher(&late);
  EXPECT_THAT(watcher.rounds, ElementsAre(7u));
  EXPECT_TRUE(watcher.ended);
  EXPECT_TRUE(late.ended);
}

TEST_F(CoordinatorTest, WritesWhatWasDecidedBeforeItStops) {
  Begin();
  journal_.Hold();
  coordinator_->Submit(StreamClosed{{1}});
  journal_.WaitForAttempts(1);
  journal_.Release();
  coordinator_->Stop();
  EXPECT_THAT(journal_.records(), SizeIs(2));
  coordinator_->Submit(StreamOpened{{2}});
  EXPECT_THAT(streams_.lines(), ElementsAre("send 1 recorded"));
}

}  // namespace
}  // namespace rondo::server
