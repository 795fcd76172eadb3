// What users are promised while no worker that is here holds the job's state.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/status_matchers.h"
#include "server/core/job_machine.h"
#include "server/core/messages.h"
#include "server/core/records.h"
#include "server/core/scripted_interruption.h"
#include "server/core/scripted_workers.h"

namespace rondo::server {
namespace {

using absl::StatusCode;
using ::testing::AllOf;
using ::testing::HasSubstr;

// a and b have a checkpoint of step 12 and are paused at step 16.
struct Paused {
  Paused() : job(3) {
    EXPECT_OK(script().Ask(PauseRequested{""}));
    for (auto& [name, worker] : script().workers) {
      script().Say(*worker,
                   Ready{worker->order->group, worker->order->round, 4, 20, 4, true, 1, {}});
    }
    script().Run();
    EXPECT_EQ(view().state, JobState::kPaused);
    EXPECT_EQ(view().step, 16u);
    EXPECT_EQ(view().checkpoint_step, 12u);
  }
  Script& script() { return job.script; }
  StatusView view() { return script().machine.status(script().now); }
  void LoseAll(absl::Duration since = absl::Seconds(11)) {
    job.BreakAll();
    script().Pass(since);
  }

  Interrupted job;
};

TEST(DoubtTest, AStateThatNobodyHereHoldsCannotBeSaved) {
  Paused paused;
  paused.LoseAll();
  EXPECT_THAT(paused.script().Ask(CheckpointRequested{}),
              StatusIs(StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("step 16 cannot be saved now"), HasSubstr("a and b"),
                             HasSubstr("checkpoint step-12 is kept"))));
  EXPECT_EQ(paused.script().Records<RequestRecord>().size(), 1u) << "the pause alone";
}

TEST(DoubtTest, WhoComesBackSavesIt) {
  Paused paused;
  paused.LoseAll();
  ScriptedWorker& a = *paused.script().workers["a"];
  a.returning = a.Describe();
  paused.script().Redial(a);
  paused.script().Pass(absl::Seconds(1));
  ASSERT_OK(paused.script().Ask(CheckpointRequested{}));
  EXPECT_EQ(paused.view().checkpoint_step, 16u);
}

TEST(DoubtTest, AStopPromisesNoMoreThanTheNewestCheckpoint) {
  Paused paused;
  paused.LoseAll(absl::Seconds(2));
  ASSERT_OK_AND_ASSIGN(const SteerAnswer answer, paused.script().Ask(StopRequested{"enough"}));
  EXPECT_FALSE(answer.done);
  EXPECT_EQ(answer.step, 12u);
  EXPECT_THAT(answer.text, HasSubstr("at step 16 if it can, else at step 12"));
  paused.script().Pass(absl::Seconds(20));
  ASSERT_TRUE(paused.script().finish);
  const EndRecord end = paused.script().Records<EndRecord>().back();
  EXPECT_EQ(end.step, 12u);
  EXPECT_EQ(end.state, EndState::kStopped);
}

TEST(DoubtTest, AStopThatWaitsForNobodyAnyMoreEndsTheJobOnceItsCheckpointWasLookedAt) {
  Paused paused;
  paused.LoseAll();  // For longer than the 10 s that a stop waits.
  ASSERT_OK_AND_ASSIGN(const SteerAnswer answer, paused.script().Ask(StopRequested{"enough"}));
  EXPECT_FALSE(answer.done);
  EXPECT_EQ(answer.step, 12u);
  EXPECT_THAT(answer.text, HasSubstr("what was trained after it is lost"));
  ASSERT_TRUE(paused.script().finish);
  EXPECT_EQ(paused.script().Records<EndRecord>().back().step, 12u);
}

TEST(DoubtTest, PauseAndResumeSayIt) {
  Paused paused;
  paused.LoseAll();
  for (const Event& request : {Event(PauseRequested{""}), Event(ResumeRequested{})}) {
    ASSERT_OK_AND_ASSIGN(const SteerAnswer answer, paused.script().Ask(request));
    EXPECT_THAT(answer.text, HasSubstr("no worker that is here holds the state of step 16"));
  }
}

TEST(DoubtTest, WhatIsSavedIsNotInDoubt) {
  Paused paused;
  ASSERT_OK(paused.script().Ask(CheckpointRequested{}));
  paused.LoseAll();
  ASSERT_OK_AND_ASSIGN(const SteerAnswer saved, paused.script().Ask(CheckpointRequested{}));
  EXPECT_TRUE(saved.done);
  EXPECT_EQ(saved.step, 16u);
  ASSERT_OK_AND_ASSIGN(const SteerAnswer stop, paused.script().Ask(StopRequested{""}));
  EXPECT_EQ(stop.step, 16u);
  ASSERT_TRUE(paused.script().finish);
  EXPECT_EQ(paused.script().Records<EndRecord>().back().step, 16u);
}

TEST(DoubtTest, AnOpenRoundWithoutWorkersIsPromisedWithTheReservation) {
  Interrupted job(3);
  job.BreakAll();
  ASSERT_OK_AND_ASSIGN(const SteerAnswer save, job.script.Ask(CheckpointRequested{}));
  EXPECT_THAT(save.text, AllOf(HasSubstr("checkpoint step-16"), HasSubstr("only a and b")));
  ASSERT_OK_AND_ASSIGN(const SteerAnswer stop, job.script.Ask(StopRequested{""}));
  EXPECT_EQ(stop.step, 12u);
}

}  // namespace
}  // namespace rondo::server
