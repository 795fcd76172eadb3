#include "worker/runtime/heartbeat.h"

#include <gtest/gtest.h>

#include "absl/synchronization/notification.h"
#include "common/clock.h"

namespace rondo::worker {
namespace {

const absl::Time kStart = absl::FromUnixSeconds(1000);

TEST(HeartbeatTest, ShowsTheStepTheRateOfSamplesAndHowLongNothingMoved) {
  LoopGauges gauges;
  ProgressReader reader;
  gauges.Begin(Activity::kTraining, kStart);
  gauges.BeginOrder(RoundId{3}, 40);
  EXPECT_EQ(reader.Read(gauges, kStart).samples_per_second, 0);
  gauges.Step(41, 0.5, 64, kStart + absl::Seconds(1));
  gauges.Step(42, 0.25, 64, kStart + absl::Seconds(2));
  const Progress progress = reader.Read(gauges, kStart + absl::Seconds(4));
  EXPECT_EQ(progress.round, RoundId{3});
  EXPECT_EQ(progress.step, 42u);
  EXPECT_EQ(progress.loss, 0.25);
  EXPECT_EQ(progress.samples_per_second, 32);
  EXPECT_EQ(progress.stalled_seconds, 2);
  EXPECT_EQ(progress.activity, Activity::kTraining);
}

TEST(HeartbeatTest, WhoWaitsIsNotStalled) {
  LoopGauges gauges;
  ProgressReader reader;
  for (const Activity activity : {Activity::kWaiting, Activity::kPreparing, Activity::kSaving}) {
    gauges.Begin(activity, kStart);
    EXPECT_EQ(reader.Read(gauges, kStart + absl::Hours(1)).stalled_seconds, 0);
  }
}

TEST(HeartbeatTest, BeatsUntilItIsDestroyed) {
  LoopGauges gauges;
  RealClock clock;
  absl::Notification third;
  int beats = 0;
  const Heartbeat heartbeat({&gauges, &clock, [] { return absl::Milliseconds(1); },
                             [&](const Progress&) {
                               if (++beats == 3) third.Notify();
                             }});
  third.WaitForNotification();
}

TEST(HeartbeatTest, AShorterPeriodHoldsAtOnce) {
  LoopGauges gauges;
  RealClock clock;
  absl::Notification beaten;
  int asked = 0;
  const Heartbeat heartbeat({&gauges, &clock,
                             [&] { return ++asked == 1 ? absl::Hours(1) : absl::Milliseconds(1); },
                             [&](const Progress&) {
                               if (!beaten.HasBeenNotified()) beaten.Notify();
                             }});
  beaten.WaitForNotification();
}

}  // namespace
}  // namespace rondo::worker
