// Checkpoints, and SIGTERM: the worker says that it wants to leave, and goes on with what it has in
// hand until the coordinator lets it go or its grace is over (rule 16).
#include <gtest/gtest.h>

#include "absl/time/time.h"
#include "common/ids.h"
#include "worker/core/actions.h"
#include "worker/core/machine.h"
#include "worker/core/messages.h"
#include "worker/core/scripted_coordinator.h"

namespace rondo::worker {
namespace {

constexpr GroupId kGroup{5};

void Begin(ScriptedCoordinator& c) {
  c.Welcome();
  c.Prepare();
  c.Form(kGroup, {});
}

TEST(MachineLeaveTest, SaysLeaveAgainAndGoesWhenTheGraceIsOver) {
  ScriptedCoordinator c;
  Begin(c);
  c.Happen(LeaveRequested{absl::Seconds(30), 12, "SIGTERM"});
  ASSERT_NE(c.LastSaid<Leave>(), nullptr);
  EXPECT_EQ(c.LastSaid<Leave>()->grace_seconds, 30);
  c.LoseStream();
  c.Pass(absl::Seconds(4));
  c.Forget();
  c.Welcome();
  ASSERT_NE(c.LastSaid<Leave>(), nullptr);
  EXPECT_EQ(c.LastSaid<Leave>()->grace_seconds, 26);
  c.Pass(absl::Seconds(26));
  ASSERT_NE(c.LastCommand<Exit>(), nullptr);
  EXPECT_EQ(c.LastCommand<Exit>()->code, kExitLeft);
}

// In the middle of a checkpoint.
void BeginSave(ScriptedCoordinator& c) {
  Begin(c);
  c.Hear(SaveNow{kGroup, {}, 8, {StateFile::kLocal}});
  ASSERT_EQ(c.Count<Save>(), 1);
  c.Happen(LeaveRequested{absl::Seconds(30), 8, "SIGTERM"});
  ASSERT_NE(c.LastSaid<Leave>(), nullptr);
}

TEST(MachineLeaveTest, ASaveGoesOnToItsEndAndThenItLeaves) {  // S75
  ScriptedCoordinator c;
  BeginSave(c);
  EXPECT_EQ(c.Count<LeaveGroup>(), 0);
  c.Pass(absl::Seconds(20));
  EXPECT_EQ(c.LastCommand<Exit>(), nullptr);
  c.Happen(SaveDone{Saved{kGroup, {}, 8, {{StateFile::kLocal, 10, "hash"}}}});
  ASSERT_NE(c.LastSaid<Saved>(), nullptr);
  c.Hear(Goodbye{GoodbyeReason::kLeft, "left on its own request", 5});
  ASSERT_NE(c.LastCommand<Exit>(), nullptr);
  EXPECT_EQ(c.LastCommand<Exit>()->code, kExitLeft);
}

TEST(MachineLeaveTest, ASaveThatOutlastsTheGraceIsLeft) {  // S75
  ScriptedCoordinator c;
  BeginSave(c);
  c.Pass(absl::Seconds(29));
  EXPECT_EQ(c.LastCommand<Exit>(), nullptr);
  c.Pass(absl::Seconds(1));
  ASSERT_NE(c.LastCommand<Exit>(), nullptr);
  EXPECT_EQ(c.LastCommand<Exit>()->code, kExitLeft);
}

TEST(MachineSaveTest, ASaveThatIsAskedForAgainIsSaidAgainOrTriedAgain) {
  const SaveNow save{kGroup, {}, 8, {StateFile::kLocal}};
  ScriptedCoordinator c;
  Begin(c);
  c.Hear(save);
  c.Hear(save);
  EXPECT_EQ(c.Count<Save>(), 1);
  c.Happen(SaveStopped{SaveFailed{kGroup, {}, 8, "no room"}});
  c.Hear(save);
  EXPECT_EQ(c.Count<Save>(), 2);
  c.Happen(SaveDone{Saved{kGroup, {}, 8, {{StateFile::kLocal, 10, "hash"}}}});
  c.Forget();
  c.Hear(save);
  EXPECT_EQ(c.Count<Save>(), 0);
  EXPECT_NE(c.LastSaid<Saved>(), nullptr);
}

}  // namespace
}  // namespace rondo::worker
