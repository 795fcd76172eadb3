#include "common/checkpoint_files.h"

#include <gtest/gtest.h>

namespace rondo {
namespace {

TEST(CheckpointFilesTest, ASharedFolderIsAbsoluteOrBelowTheFilesAndHasOneFolderAJob) {
  EXPECT_EQ(SharedCheckpointRoot("/data/job", "/mnt/all", "a-0123"), "/mnt/all/a-0123");
  EXPECT_EQ(SharedCheckpointRoot("/data/job", "saved", "a-0123"), "/data/job/saved/a-0123");
  EXPECT_EQ(StepFolder("/mnt/all/a-0123", 40), "/mnt/all/a-0123/step-40");
  EXPECT_EQ(LocalStateFile("w1"), "local-w1.safetensors");
  EXPECT_EQ(IncomingName("w1", {0xab}), "w1-00000000000000ab");
}

}  // namespace
}  // namespace rondo
