#include "common/safetensors.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "common/status_matchers.h"

namespace rondo {
namespace {

std::string Path(const std::string& name) { return testing::TempDir() + "/" + name; }

std::string WriteRaw(const std::string& name, const std::string& header, const std::string& data) {
  uint64_t length = header.size();
  std::ofstream out(Path(name), std::ios::binary);
  out.write(reinterpret_cast<const char*>(&length), sizeof length);
  out << header << data;
  return Path(name);
}

TEST(SafetensorsTest, ReadsWhatItWrote) {
  const std::vector<float> weights = {1, 2, 3, 4, 5, 6};
  const std::vector<int64_t> counts = {1LL << 40};
  const std::vector<double> doubles = {0.1};
  const SafetensorsTensor tensors[] = {{"w", SafetensorsType::kF32, {2, 3}, weights.data()},
                                       {"n", SafetensorsType::kI64, {}, counts.data()},
                                       {"none", SafetensorsType::kU8, {0, 4}, nullptr},
                                       {"d", SafetensorsType::kF64, {1}, doubles.data()}};
  const std::string path = Path("round_trip.safetensors");
  ASSERT_OK(WriteSafetensors(path, tensors, {{"step", "12"}}));
  ASSERT_OK_AND_ASSIGN(const SafetensorsHeader header, ReadSafetensorsHeader(path));
  ASSERT_EQ(header.entries.size(), 4u);
  EXPECT_EQ(header.metadata.at("step"), "12");
  EXPECT_EQ(header.data_start % 8, 0);
  EXPECT_EQ(header.entries[0].name, "w");
  EXPECT_EQ(header.entries[0].shape, (std::vector<int64_t>{2, 3}));
  std::vector<float> back(6);
  ASSERT_OK(
      ReadSafetensorsData(path, header, header.entries[0], SafetensorsType::kF32, back.data()));
  EXPECT_EQ(back, weights);
  int64_t count = 0;
  ASSERT_OK(ReadSafetensorsData(path, header, header.entries[1], SafetensorsType::kI64, &count));
  EXPECT_EQ(count, counts[0]);
  EXPECT_THAT(
      ReadSafetensorsData(path, header, header.entries[1], SafetensorsType::kF32, &count),
      StatusIs(absl::StatusCode::kInvalidArgument, testing::HasSubstr("'n' has dtype I64")));
}

TEST(SafetensorsTest, LeavesNoTemporaryFileAndReplacesTheOld) {
  const float one = 1;
  const SafetensorsTensor tensor[] = {{"x", SafetensorsType::kF32, {1}, &one}};
  const std::string folder = Path("atomic");
  std::filesystem::create_directory(folder);
  for (int i = 0; i < 2; ++i) ASSERT_OK(WriteSafetensors(folder + "/a", tensor));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);
}

TEST(SafetensorsTest, RefusesToWriteANameTwiceOrIntoNoFolder) {
  const float one = 1;
  const SafetensorsTensor twice[] = {{"x", SafetensorsType::kF32, {1}, &one},
                                     {"x", SafetensorsType::kF32, {1}, &one}};
  EXPECT_THAT(WriteSafetensors(Path("twice"), twice), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(WriteSafetensors("/nowhere/x", {}),
              StatusIs(absl::StatusCode::kUnavailable, testing::HasSubstr("/nowhere/x")));
}

struct BadFile {
  std::string name, header, data, message;
};
class BadSafetensorsTest : public testing::TestWithParam<BadFile> {};

TEST_P(BadSafetensorsTest, IsRefusedWithItsFileAndReason) {
  const std::string path = WriteRaw(GetParam().name, GetParam().header, GetParam().data);
  EXPECT_THAT(
      ReadSafetensorsHeader(path),
      StatusIs(absl::StatusCode::kInvalidArgument,
               testing::AllOf(testing::HasSubstr(path), testing::HasSubstr(GetParam().message))));
}

const BadFile kBad[] = {
    {"NotJson", "{x", "", "not a JSON object"},
    {"NotAnObject", "[]", "", "not a JSON object"},
    {"UnknownType", R"({"a":{"dtype":"Q4","shape":[1],"data_offsets":[0,1]}})", "x", "'Q4'"},
    {"MissingKey", R"({"a":{"dtype":"U8","shape":[1]}})", "x", "data_offsets"},
    {"NegativeShape", R"({"a":{"dtype":"U8","shape":[-1],"data_offsets":[0,1]}})", "x", "shape"},
    {"HugeShape", R"({"a":{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,4]}})",
     "xxxx", "impossible shape"},
    {"HugeBytes", R"({"a":{"dtype":"F64","shape":[9223372036854775807],"data_offsets":[0,8]}})",
     "xxxxxxxx", "does not fill"},
    {"SizeMismatch", R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", "xxxx",
     "does not fill"},
    {"Hole", R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})", "xx", "holes"},
    {"Overlap",
     R"({"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
     R"("b":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})",
     "xx", "overlap"},
    {"Truncated", R"({"a":{"dtype":"U8","shape":[3],"data_offsets":[0,3]}})", "xx", "truncated"},
    {"Trailing", R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})", "xx", "trailing"},
    {"Twice",
     R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},)"
     R"("a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
     "x", "'a' twice"},
};
INSTANTIATE_TEST_SUITE_P(Each, BadSafetensorsTest, testing::ValuesIn(kBad),
                         [](const auto& info) { return info.param.name; });

TEST(SafetensorsTest, RefusesAHeaderLengthBeyondTheFileOrTheLimit) {
  for (const uint64_t length : {uint64_t{1000}, uint64_t{200'000'000}, ~uint64_t{0}}) {
    std::ofstream(Path("length"), std::ios::binary)
        .write(reinterpret_cast<const char*>(&length), sizeof length);
    EXPECT_THAT(ReadSafetensorsHeader(Path("length")),
                StatusIs(absl::StatusCode::kInvalidArgument));
  }
  std::ofstream(Path("short"), std::ios::binary) << "abc";
  EXPECT_THAT(ReadSafetensorsHeader(Path("short")),
              StatusIs(absl::StatusCode::kInvalidArgument, testing::HasSubstr("at least 8")));
}

TEST(SafetensorsTest, AMissingFileIsNotFound) {
  EXPECT_THAT(ReadSafetensorsHeader("/nowhere/x"), StatusIs(absl::StatusCode::kNotFound));
}

}  // namespace
}  // namespace rondo
