// A checkpoint's files on their way out, and what ends a save.
#include <gtest/gtest.h>

#include "worker/runtime/test_workers.h"

namespace rondo::worker {
namespace {

TEST(SaveTest, SavesTheFilesAskedForAndSaysWhyItCannot) {
  TestWorkers workers(1, {});
  workers.Start();
  const SaveNow save{{1}, {0}, 5, {StateFile::kParameters, StateFile::kBuffers, StateFile::kLocal}};
  workers[0].Do(Save{save});
  const Saved saved = workers[0].Await<SaveDone>().saved;
  ASSERT_EQ(saved.files.size(), 3u);
  EXPECT_GT(saved.files[0].size, kWidth * sizeof(float));
  workers[0].store().fails = true;
  workers[0].Do(Save{save});
  EXPECT_EQ(workers[0].Await<SaveStopped>().failed.text, "no room");
}

// The next order says that nobody waits for the save any more.
TEST(SaveTest, AnOrderEndsASaveThatIsTriedAgainAndAgain) {
  TestWorkers workers(1, {});
  workers.Start();
  workers[0].store().waits = true;
  workers[0].Do(Save{SaveNow{{1}, {0}, 5, {StateFile::kLocal}}});
  workers[0].store().waiting.WaitForNotification();
  workers[0].Do(Train{workers.MakeOrder(1, 1, Mode::kLocal, 0, 3, 0)});
  workers[0].Await<SaveDone>();
  EXPECT_EQ(workers[0].Await<StepsDone>().ready.steps, 3u);
}

TEST(SaveTest, LeavingTheGroupEndsASaveThatIsTriedAgainAndAgain) {
  TestWorkers workers(1, {});
  workers.Start();
  workers[0].store().waits = true;
  workers[0].Do(Save{SaveNow{{1}, {0}, 5, {StateFile::kLocal}}});
  workers[0].store().waiting.WaitForNotification();
  workers[0].Do(LeaveGroup{{1}});
  workers[0].Await<SaveDone>();
}

}  // namespace
}  // namespace rondo::worker
