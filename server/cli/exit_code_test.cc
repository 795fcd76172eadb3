#include "server/cli/exit_code.h"

#include "gtest/gtest.h"

namespace rondo::cli {
namespace {

TEST(RunExitCodeTest, AJobThatIsDoneIsDoneWhateverItsProcessesCameTo) {
  EXPECT_EQ(RunExitCode(kExitDone, v1::JOB_STATE_DONE, false), kExitDone);
  EXPECT_EQ(RunExitCode(kExitFault, v1::JOB_STATE_DONE, false), kExitDone);
  EXPECT_EQ(RunExitCode(kExitLeft, v1::JOB_STATE_DONE, true), kExitDone);
}

TEST(RunExitCodeTest, AStopByTheUserIsLeftAndByAnotherIsWhatTheProcessesCameTo) {
  EXPECT_EQ(RunExitCode(kExitDone, v1::JOB_STATE_STOPPED, true), kExitLeft);
  EXPECT_EQ(RunExitCode(kExitDone, v1::JOB_STATE_STOPPED, false), kExitDone);
  EXPECT_EQ(RunExitCode(kExitRefused, v1::JOB_STATE_STOPPED, false), kExitRefused);
}

TEST(RunExitCodeTest, AFaultStays) {
  EXPECT_EQ(RunExitCode(kExitFault, v1::JOB_STATE_FAILED, false), kExitFault);
  EXPECT_EQ(RunExitCode(kExitFault, v1::JOB_STATE_FAILED, true), kExitFault);
  EXPECT_EQ(RunExitCode(kExitFault, v1::JOB_STATE_RUNNING, false), kExitFault);
}

}  // namespace
}  // namespace rondo::cli
