#include "common/checkpoint_files.h"

#include <gtest/gtest.h>

namespace rondo {
namespace {

TEST(CheckpointFilesTest, ASharedFolderIsAbsoluteOrBelowTheFilesAndHasOneFolderAJob) {
  EXPECT_EQ(SharedCheckpointRoot("/data/job", "/mnt/all", "a-0123"), "/mnt/all/a-0123");
  EXPECT_EQ(SharedCheckpointRoot("/data/job", "saved", "a-0123"), "/data/job/saved/a-0123");
  EXPECT_EQ(StepFolder("/mnt/all/a-0123", 40), "/mnt/all/a-0123/step-40");
  EXPECT_EQ(IncomingName("w1", {0xab}), "w1-00000000000000ab");
}

TEST(CheckpointFilesTest, FilesThatAreAMembersOwnHaveItsName) {
  EXPECT_EQ(StateFileName(StateFile::kParameters, "w1"), "params.safetensors");
  EXPECT_EQ(StateFileName(StateFile::kBuffers, "w1"), "buffers.safetensors");
  EXPECT_EQ(StateFileName(StateFile::kLocal, "w1"), "local-w1.safetensors");
  EXPECT_EQ(StateFileName(StateFile::kPartial, "w.1"), "partial-w.1.safetensors");
}

}  // namespace
}  // namespace rondo
