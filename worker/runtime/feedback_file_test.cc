#include "worker/runtime/feedback_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/safetensors.h"
#include "common/status_matchers.h"
#include "worker/collectives/sparse/sparse_agreed.h"
#include "worker/core/messages.h"
#include "worker/runtime/error_feedback.h"

namespace rondo::worker {
namespace {

constexpr int64_t kSize = 3;
const ErrorFeedback::Saved kSaved{
    .mode = Mode::kLocal,
    .k = 2,
    .agreed = {.cuts = {0, 1, kSize}, .global_key = 9, .local_key = 4, .steps = 5}};

struct File {
  std::vector<SafetensorsTensor> tensors;
  std::map<std::string, std::string> metadata;

  absl::Status ReadInto(ErrorFeedback* feedback) const {
    const std::string path =
        (std::filesystem::path(testing::TempDir()) / "feedback.safetensors").string();
    EXPECT_OK(WriteSafetensors(path, tensors, metadata));
    return ReadFeedback(path, ReadSafetensorsHeader(path).value(), feedback);
  }
};

ErrorFeedback Filled() {
  ErrorFeedback feedback(kSize, {});
  EXPECT_OK(feedback.Restore(kSaved));
  for (int64_t i = 0; i < kSize; ++i) feedback.residual().data[i] = 0.5f - static_cast<float>(i);
  return feedback;
}

TEST(FeedbackFileTest, BringsBackResidualModeAndWhatWasAgreed) {
  ErrorFeedback saved = Filled();
  const FeedbackTensors tensors(&saved);
  File file;
  tensors.AddTo(&file.tensors, &file.metadata);
  ErrorFeedback read(kSize, {});
  ASSERT_OK(file.ReadInto(&read));
  const auto described = read.Describe();
  ASSERT_TRUE(described.has_value());
  EXPECT_EQ(described->mode, kSaved.mode);
  EXPECT_EQ(described->k, kSaved.k);
  EXPECT_EQ(described->agreed, kSaved.agreed);
  for (int64_t i = 0; i < kSize; ++i) {
    EXPECT_EQ(read.residual().data[i], saved.residual().data[i]);
  }
}

TEST(FeedbackFileTest, WithoutAResidualNothingIsWrittenAndNothingIsThere) {
  ErrorFeedback empty(kSize, {});
  File file;
  FeedbackTensors(&empty).AddTo(&file.tensors, &file.metadata);
  EXPECT_TRUE(file.tensors.empty());
  EXPECT_TRUE(file.metadata.empty());
  ErrorFeedback read = Filled();
  ASSERT_OK(file.ReadInto(&read));
  EXPECT_FALSE(read.Describe().has_value());
}

TEST(FeedbackFileTest, ThresholdsOfAnotherVersionAreLeftOut) {
  ErrorFeedback saved = Filled();
  const FeedbackTensors tensors(&saved);
  File file;
  tensors.AddTo(&file.tensors, &file.metadata);
  const std::vector<int64_t> other = {99, 1, 2, 3};
  file.tensors[1].shape = {4};
  file.tensors[1].data = other.data();
  ErrorFeedback read(kSize, {});
  ASSERT_OK(file.ReadInto(&read));
  EXPECT_EQ(read.Describe()->agreed, SparseAgreed{});
  EXPECT_EQ(read.residual().data[0], 0.5f);
}

TEST(FeedbackFileTest, AResidualThatIsNotFiniteIsZero) {  // Rule 15.
  ErrorFeedback saved = Filled();
  saved.residual().data[1] = std::numeric_limits<float>::infinity();
  const FeedbackTensors tensors(&saved);
  File file;
  tensors.AddTo(&file.tensors, &file.metadata);
  ErrorFeedback read(kSize, {});
  ASSERT_OK(file.ReadInto(&read));
  EXPECT_FALSE(read.Describe().has_value());
}

TEST(FeedbackFileTest, WhatDoesNotFitIsRefused) {  // S43
  ErrorFeedback saved = Filled();
  const FeedbackTensors tensors(&saved);
  File good;
  tensors.AddTo(&good.tensors, &good.metadata);
  File shorter = good;
  shorter.tensors[0].shape = {kSize - 1};
  File without_mode = good;
  without_mode.metadata.erase("residual_mode");
  File without_k = good;
  without_k.metadata["residual_k"] = "0";
  for (const File& file : {shorter, without_mode, without_k}) {
    ErrorFeedback read(kSize, {});
    EXPECT_THAT(file.ReadInto(&read), StatusIs(absl::StatusCode::kDataLoss));
  }
}

}  // namespace
}  // namespace rondo::worker
