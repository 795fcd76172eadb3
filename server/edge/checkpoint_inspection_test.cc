#include "server/edge/checkpoint_inspection.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>

#include "common/sha256.h"
#include "common/status_matchers.h"
#include "server/core/job_machine.h"
#include "server/core/messages.h"
#include "server/edge/checkpoint_store.h"

namespace rondo::server {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// Checkpoints of steps 10 and 20.
class CheckpointInspectionTest : public testing::Test {
 protected:
  CheckpointInspectionTest()
      : root_(testing::TempDir() + "/" +
              testing::UnitTest::GetInstance()->current_test_info()->name()) {
    fs::remove_all(root_);
    CheckpointStore store(root_, "digits-1", 5);
    for (const uint64_t step : {10, 20}) {
      const std::string_view bytes = "params";
      auto upload = store.Begin({step, StateFile::kParameters, ""}, bytes.size(), Sha256Hex(bytes));
      EXPECT_OK(upload.status());
      EXPECT_OK((*upload)->Append(bytes));
      EXPECT_OK((*upload)->Finish().status());
      CompleteCheckpoint request{{step / 10}, step, 0xabc, {}, {}};
      request.parts = {{"w0", {StateFile::kParameters, bytes.size(), Sha256Hex(bytes)}}};
      EXPECT_OK(store.Complete(request));
    }
  }
  CheckpointFound Look(bool whole = false) const {
    return InspectCheckpoint(root_, "digits-1", {20, {2}, 0xabc, whole});
  }
  void Expect(CheckpointCondition condition, const std::string& text, bool whole = false) const {
    const CheckpointFound found = Look(whole);
    EXPECT_EQ(found.step, 20u);
    EXPECT_EQ(found.condition, condition) << found.text;
    EXPECT_THAT(found.text, HasSubstr(text));
  }

  const std::string root_;
};

TEST_F(CheckpointInspectionTest, FindsAWholeOneGood) {
  for (const bool whole : {false, true}) Expect(CheckpointCondition::kGood, "", whole);
}

TEST_F(CheckpointInspectionTest, WhatIsMissingOrOfAnotherSizeIsDamaged) {
  std::ofstream(root_ + "/step-20/params.safetensors") << "params and more";
  Expect(CheckpointCondition::kDamaged, "15 bytes");
  fs::remove(root_ + "/step-20/params.safetensors");
  Expect(CheckpointCondition::kDamaged, "params.safetensors is missing");
  fs::remove(root_ + "/step-20/manifest.json");
  Expect(CheckpointCondition::kDamaged, "incomplete");
  fs::remove_all(root_ + "/step-20");
  Expect(CheckpointCondition::kDamaged, "incomplete");
}

TEST_F(CheckpointInspectionTest, OtherBytesAreSeenOnlyByWhoReadsThem) {
  std::ofstream(root_ + "/step-20/params.safetensors") << "PARAMS";
  Expect(CheckpointCondition::kGood, "");
  Expect(CheckpointCondition::kDamaged, "SHA-256", /*whole=*/true);
}

TEST_F(CheckpointInspectionTest, OneOfAnotherStateOrJobIsDamaged) {
  const LookForCheckpoint other_round{20, {3}, 0xabc, false};
  EXPECT_EQ(InspectCheckpoint(root_, "digits-1", other_round).condition,
            CheckpointCondition::kDamaged);
  const LookForCheckpoint other_state{20, {2}, 0xabd, false};
  EXPECT_EQ(InspectCheckpoint(root_, "digits-1", other_state).condition,
            CheckpointCondition::kDamaged);
  EXPECT_EQ(InspectCheckpoint(root_, "digits-2", {20, {2}, 0xabc, false}).condition,
            CheckpointCondition::kDamaged);
  std::ofstream(root_ + "/step-20/manifest.json") << "{]";
  Expect(CheckpointCondition::kDamaged, "manifest.json");
}

TEST_F(CheckpointInspectionTest, AFolderThatIsNotThereOrEmptyIsAway) {
  fs::rename(root_, root_ + ".elsewhere");
  Expect(CheckpointCondition::kAway, "No such file");
  fs::create_directory(root_);  // The mount point.
  Expect(CheckpointCondition::kAway, "mounted there?");
  fs::remove(root_);
  std::ofstream(root_) << "x";
  Expect(CheckpointCondition::kAway, "Not a directory");
  fs::remove(root_);
  fs::rename(root_ + ".elsewhere", root_);
  Expect(CheckpointCondition::kGood, "");
}

// A link in a circle cannot be followed, whoever looks.
TEST_F(CheckpointInspectionTest, AnErrorOtherThanAbsenceSaysNothingAboutTheCheckpoint) {
  const std::string manifest = root_ + "/step-20/manifest.json";
  fs::rename(manifest, manifest + ".kept");
  fs::create_symlink(manifest, manifest);
  Expect(CheckpointCondition::kAway, "symbolic links");
  CheckpointStore(root_, "digits-1", 1).Trim(10);
  EXPECT_TRUE(fs::exists(root_ + "/step-20/params.safetensors"));
  fs::remove(manifest);
  fs::rename(manifest + ".kept", manifest);
  Expect(CheckpointCondition::kGood, "");
}

}  // namespace
}  // namespace rondo::server
