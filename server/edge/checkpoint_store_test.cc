#include "server/edge/checkpoint_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "common/sha256.h"
#include "common/status_matchers.h"
#include "server/core/job_machine.h"
#include "server/core/messages.h"

namespace rondo::server {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string ReadAll(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

class CheckpointStoreTest : public testing::Test {
 protected:
  CheckpointStoreTest()
      : root_(testing::TempDir() + "/" +
              testing::UnitTest::GetInstance()->current_test_info()->name()),
        store_(root_, "digits-1", 2) {
    fs::remove_all(root_);
  }

  absl::StatusOr<StoredFile> Put(const StateFileId& id, std::string_view bytes) {
    auto upload = store_.Begin(id, bytes.size(), Sha256Hex(bytes));
    if (!upload.ok()) return upload.status();
    // In two pieces.
    EXPECT_OK((*upload)->Append(bytes.substr(0, bytes.size() / 2)));
    EXPECT_OK((*upload)->Append(bytes.substr(bytes.size() / 2)));
    return (*upload)->Finish();
  }

  // A checkpoint of parameters and of w1's local file.
  static CompleteCheckpoint RequestFor(uint64_t step) {
    CompleteCheckpoint request;
    request.round = {step / 10};
    request.step = step;
    request.state_hash = 0xabc;
    request.parts = {{"w0", {StateFile::kParameters, 6, Sha256Hex("params")}},
                     {"w1", {StateFile::kLocal, 5, Sha256Hex("local")}}};
    return request;
  }

  void PutAll(uint64_t step) {
    ASSERT_OK(Put({step, StateFile::kParameters, "w0"}, "params"));
    ASSERT_OK(Put({step, StateFile::kLocal, "w1"}, "local"));
  }

  const std::string root_;
  CheckpointStore store_;
};

TEST_F(CheckpointStoreTest, AFileIsThereOnceItsHashIsRight) {
  ASSERT_OK_AND_ASSIGN(const StoredFile file, Put({10, StateFile::kLocal, "w.1_-"}, "content"));
  EXPECT_EQ(file.path, root_ + "/step-10/local-w.1_-.safetensors");
  EXPECT_EQ(ReadAll(file.path), "content");
}

TEST_F(CheckpointStoreTest, CheckpointsThatTheJournalCannotKnowAreNoReasonToBegin) {
  EXPECT_OK(store_.CheckBelong({0}));
  PutAll(20);
  ASSERT_OK(store_.Complete(RequestFor(20)));
  EXPECT_OK(store_.CheckBelong({2}));
  EXPECT_OK(store_.CheckBelong({3}));
  EXPECT_THAT(store_.CheckBelong({1}), StatusIs(absl::StatusCode::kFailedPrecondition,
                                                HasSubstr("step-20 was made after round 2")));
  const CheckpointStore of_another_job(root_, "digits-2", 2);
  EXPECT_THAT(of_another_job.CheckBelong({3}), StatusIs(absl::StatusCode::kFailedPrecondition,
                                                        HasSubstr("of another job, digits-1")));
  std::ofstream(root_ + "/step-20/manifest.json") << "{";
  EXPECT_OK(store_.CheckBelong({1}));
}

TEST_F(CheckpointStoreTest, AnEmptyFileIsAFile) {
  ASSERT_OK_AND_ASSIGN(const StoredFile file, Put({10, StateFile::kBuffers, ""}, ""));
  EXPECT_TRUE(fs::exists(file.path));
}

TEST_F(CheckpointStoreTest, LeavesNothingOfAFileWithAWrongHashOrSize) {
  {
    ASSERT_OK_AND_ASSIGN(const auto wrong_hash,
                         store_.Begin({10, StateFile::kParameters, ""}, 7, Sha256Hex("other")));
    ASSERT_OK(wrong_hash->Append("content"));
    EXPECT_THAT(wrong_hash->Finish(), StatusIs(absl::StatusCode::kDataLoss));
    ASSERT_OK_AND_ASSIGN(const auto too_short,
                         store_.Begin({10, StateFile::kParameters, ""}, 8, Sha256Hex("content")));
    ASSERT_OK(too_short->Append("content"));
    EXPECT_THAT(too_short->Finish(), StatusIs(absl::StatusCode::kDataLoss));
    ASSERT_OK_AND_ASSIGN(const auto too_long,
                         store_.Begin({10, StateFile::kParameters, ""}, 6, Sha256Hex("content")));
    EXPECT_THAT(too_long->Append("content"), StatusIs(absl::StatusCode::kInvalidArgument));
    ASSERT_OK_AND_ASSIGN(const auto dropped,
                         store_.Begin({10, StateFile::kParameters, ""}, 7, Sha256Hex("content")));
    ASSERT_OK(dropped->Append("con"));
  }
  EXPECT_TRUE(fs::is_empty(root_ + "/step-10"));
}

TEST_F(CheckpointStoreTest, NeverWritesOutsideItsFolder) {
  for (const char* name : {"../x", "/etc/x", "a/b", "", "..\\x", "x\ny"}) {
    EXPECT_THAT(Put({10, StateFile::kLocal, name}, "content"),
                StatusIs(absl::StatusCode::kInvalidArgument))
        << name;
  }
  // Legal names that look bad stay inside.
  ASSERT_OK_AND_ASSIGN(const StoredFile file, Put({10, StateFile::kLocal, ".."}, "content"));
  EXPECT_EQ(fs::path(file.path).parent_path(), root_ + "/step-10");
  // The name of a file that belongs to nobody is not used.
  ASSERT_OK_AND_ASSIGN(const StoredFile shared,
                       Put({10, StateFile::kParameters, "../../x"}, "content"));
  EXPECT_EQ(shared.path, root_ + "/step-10/params.safetensors");
}

TEST_F(CheckpointStoreTest, RefusesAHashThatIsNone) {
  EXPECT_THAT(store_.Begin({10, StateFile::kParameters, ""}, 7, "abc"),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(store_.Begin({10, StateFile::kParameters, ""}, 7, std::string(64, 'G')),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST_F(CheckpointStoreTest, IsChosenOnlyOnceItIsComplete) {
  PutAll(10);
  EXPECT_THAT(store_.CompleteSteps(), IsEmpty());
  EXPECT_THAT(store_.Find({0, StateFile::kParameters, ""}), StatusIs(absl::StatusCode::kNotFound));
  ASSERT_OK(store_.Complete(RequestFor(10)));
  EXPECT_THAT(store_.CompleteSteps(), ElementsAre(10u));
  ASSERT_OK_AND_ASSIGN(const StoredFile file, store_.Find({0, StateFile::kLocal, "w1"}));
  EXPECT_EQ(file.sha256, Sha256Hex("local"));
  EXPECT_EQ(file.size, 5u);
  const auto manifest = nlohmann::json::parse(ReadAll(root_ + "/step-10/manifest.json"));
  EXPECT_EQ(manifest.at("job"), "digits-1");
  EXPECT_EQ(manifest.at("files").size(), 2u);
  EXPECT_EQ(manifest.at("state_hash"), "0000000000000abc");
}

TEST_F(CheckpointStoreTest, IsNotCompleteWithoutAPartOrWithAnotherPart) {
  ASSERT_OK(Put({10, StateFile::kParameters, "w0"}, "params"));
  EXPECT_THAT(store_.Complete(RequestFor(10)),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("local-w1")));
  ASSERT_OK(Put({10, StateFile::kLocal, "w1"}, "lucal"));
  EXPECT_THAT(store_.Complete(RequestFor(10)), StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(store_.CompleteSteps(), IsEmpty());
}

TEST_F(CheckpointStoreTest, ACompleteOneDoesNotChangeAnyMore) {
  PutAll(10);
  ASSERT_OK(store_.Complete(RequestFor(10)));
  EXPECT_THAT(Put({10, StateFile::kParameters, "w0"}, "PARAMS"),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(Put({10, StateFile::kLocal, "w9"}, "new"),
              StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_OK(Put({10, StateFile::kParameters, "w0"}, "params"));  // The same again: harmless.
}

TEST_F(CheckpointStoreTest, KeepsTheNewestAndDropsOlderOnes) {
  ASSERT_OK(Put({5, StateFile::kParameters, "w0"}, "abandoned"));
  for (const uint64_t step : {10, 20, 30}) {
    PutAll(step);
    ASSERT_OK(Put({40, StateFile::kParameters, "w0"}, "on its way"));
    ASSERT_OK(store_.Complete(RequestFor(step)));
    EXPECT_TRUE(fs::exists(root_ + "/step-10")) << "the journal does not know a newer one yet";
  }
  store_.Trim(30);
  EXPECT_THAT(store_.CompleteSteps(), ElementsAre(20u, 30u));
  EXPECT_FALSE(fs::exists(root_ + "/step-5"));
  EXPECT_FALSE(fs::exists(root_ + "/step-10"));
  EXPECT_TRUE(fs::exists(root_ + "/step-40"));
  EXPECT_THAT(store_.Find({10, StateFile::kParameters, ""}),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("20, 30")));
}

TEST_F(CheckpointStoreTest, WhatTheJournalDoesNotKnowIsDroppedAndCanBeSavedAnew) {  // Rule 21
  for (const uint64_t step : {10, 20, 30}) {
    PutAll(step);
    ASSERT_OK(store_.Complete(RequestFor(step)));
  }
  store_.Trim(10);
  EXPECT_THAT(store_.CompleteSteps(), ElementsAre(10u));
  EXPECT_OK(Put({20, StateFile::kParameters, "w0"}, "another state of that step"));
  store_.Trim(0);
  EXPECT_THAT(store_.CompleteSteps(), IsEmpty());
}

TEST_F(CheckpointStoreTest, ReadsWhatWorkersWroteThemselvesBeforeItIsComplete) {
  fs::create_directories(root_ + "/step-10");
  std::ofstream(root_ + "/step-10/params.safetensors") << "params";
  EXPECT_THAT(store_.Complete(RequestFor(10)),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("local-w1")));
  std::ofstream(root_ + "/step-10/local-w1.safetensors") << "lucal";
  EXPECT_THAT(store_.Complete(RequestFor(10)), StatusIs(absl::StatusCode::kFailedPrecondition));
  EXPECT_THAT(store_.CompleteSteps(), IsEmpty());
  std::ofstream(root_ + "/step-10/local-w1.safetensors") << "local";
  EXPECT_OK(store_.Complete(RequestFor(10)));
  EXPECT_THAT(store_.CompleteSteps(), ElementsAre(10u));
}

TEST_F(CheckpointStoreTest, DropsWhatDeadWorkersLeftOnTheWayAndNothingOfTheLiving) {
  const std::string incoming = root_ + "/incoming/";
  const std::vector<std::string> folders = {"w1-00000000000000ab", "w1-00000000000000ac",
                                            "w2-00000000000000ab"};
  for (const std::string& name : folders) {
    fs::create_directories(incoming + name);
    std::ofstream(incoming + name + "/params.safetensors") << "half a fi";
  }
  store_.DropLeftovers({{"w1", {0xac}}, {"w3", {1}}});
  EXPECT_FALSE(fs::exists(incoming + folders[0]));
  EXPECT_TRUE(fs::exists(incoming + folders[1] + "/params.safetensors"));
  EXPECT_FALSE(fs::exists(incoming + folders[2]));
}

TEST_F(CheckpointStoreTest, ANewCoordinatorDropsWhatTheLastOneWasWriting) {
  PutAll(10);
  ASSERT_OK(store_.Complete(RequestFor(10)));
  std::ofstream(root_ + "/step-10/params.safetensors.tmp.77.3") << "half a fi";
  const CheckpointStore next(root_, "digits-1", 2);
  EXPECT_FALSE(fs::exists(root_ + "/step-10/params.safetensors.tmp.77.3"));
  EXPECT_OK(next.Find({10, StateFile::kParameters, ""}));
}

TEST_F(CheckpointStoreTest, NamesADamagedManifest) {
  PutAll(10);
  ASSERT_OK(store_.Complete(RequestFor(10)));
  std::ofstream(root_ + "/step-10/manifest.json") << "{]";
  EXPECT_THAT(store_.Find({10, StateFile::kParameters, ""}),
              StatusIs(absl::StatusCode::kDataLoss, HasSubstr("manifest.json")));
}

}  // namespace
}  // namespace rondo::server
