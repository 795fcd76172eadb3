#include "server/cli/parameter_count.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "common/safetensors.h"
#include "common/status_matchers.h"

namespace rondo::cli {
namespace {

TEST(ParameterCountTest, CountsWeightsAndBiasesOfAnMlp) {
  v1::Job job;
  for (int64_t width : {64, 128, 64, 10}) job.mutable_model()->mutable_mlp()->add_layers(width);
  ASSERT_OK_AND_ASSIGN(const auto count, CountParameters(job, ""));
  EXPECT_EQ(count, 128 * 64 + 128 + 64 * 128 + 64 + 10 * 64 + 10);
}

TEST(ParameterCountTest, AConvnetNeedsTheShapeOfASample) {
  v1::Job job;
  job.mutable_model()->mutable_convnet();
  ASSERT_OK_AND_ASSIGN(const auto unknown, CountParameters(job, ""));
  EXPECT_EQ(unknown, std::nullopt);
  job.mutable_resolved()->add_sample_shape(8);
  job.mutable_resolved()->add_sample_shape(8);
  ASSERT_OK_AND_ASSIGN(const auto count, CountParameters(job, ""));
  EXPECT_EQ(count, 16 * 9 + 16 + 32 * 16 * 9 + 32 + 10 * 128 + 10);
}

TEST(ParameterCountTest, ATorchScriptModelIsCountedByItsInitFile) {
  v1::Job job;
  job.mutable_model()->mutable_torchscript()->set_path("m.pt");
  ASSERT_OK_AND_ASSIGN(const auto unknown, CountParameters(job, testing::TempDir()));
  EXPECT_EQ(unknown, std::nullopt);
  const std::vector<float> values(6);
  const SafetensorsTensor tensors[] = {{.name = "w", .shape = {2, 2}, .data = values.data()},
                                       {.name = "b", .shape = {2}, .data = values.data()}};
  ASSERT_OK(WriteSafetensors(testing::TempDir() + "/init.safetensors", tensors));
  job.mutable_model()->set_init("init.safetensors");
  ASSERT_OK_AND_ASSIGN(const auto count, CountParameters(job, testing::TempDir()));
  EXPECT_EQ(count, 6);
  job.mutable_model()->set_init("missing.safetensors");
  EXPECT_THAT(CountParameters(job, testing::TempDir()), StatusIs(absl::StatusCode::kNotFound));
}

}  // namespace
}  // namespace rondo::cli
