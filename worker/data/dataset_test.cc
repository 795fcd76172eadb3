#include "worker/data/dataset.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "common/status_matchers.h"
#include "worker/data/idx.h"
#include "worker/data/npy.h"

namespace rondo {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string Write(const std::string& name, const std::string& bytes) {
  const std::string path = testing::TempDir() + "/" + name;
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

std::string BigEndian(uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16),
          static_cast<char>(value >> 8), static_cast<char>(value)};
}

std::string IdxBytes(const std::vector<uint32_t>& shape, const std::string& data) {
  std::string bytes = BigEndian(0x0800 + static_cast<uint32_t>(shape.size()));
  for (const uint32_t extent : shape) bytes += BigEndian(extent);
  return bytes + data;
}

std::string NpyBytes(int version, const std::string& dict, const std::string& data) {
  std::string bytes = "\x93NUMPY";
  bytes += static_cast<char>(version);
  bytes += '\0';
  const size_t length = dict.size() + 1;
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) bytes += static_cast<char>(length >> (8 * i));
  return bytes + dict + "\n" + data;
}

template <typename T>
std::string Raw(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

const std::string kImages = IdxBytes({2, 1, 2}, {'\x00', '\x08', '\x10', '\x04'});
const std::string kLabels = IdxBytes({2}, {'\x03', '\x01'});

TEST(IdxTest, ScalesPixelsAndGivesLabels) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Dataset> dataset,
                       OpenIdxDataset(Write("i", kImages), Write("l", kLabels), 16));
  EXPECT_EQ(dataset->size(), 2);
  EXPECT_EQ(dataset->input_shape(), (std::vector<int64_t>{1, 1, 2}));
  EXPECT_EQ(dataset->class_count(), 4);
  Batch batch;
  dataset->Load(std::vector<int64_t>{1, 0, 1}, &batch);
  EXPECT_EQ(batch.size, 3);
  EXPECT_EQ(batch.inputs.shape, (std::vector<int64_t>{3, 1, 1, 2}));
  EXPECT_EQ(batch.inputs.floats, (std::vector<float>{1, 0.25, 0, 0.5, 1, 0.25}));
  EXPECT_EQ(batch.targets.ints, (std::vector<int64_t>{1, 3, 1}));
}

TEST(IdxTest, ReadsTheDigits) {
  const std::string folder = "deploy/jobs/digits/";
  ASSERT_OK_AND_ASSIGN(
      const std::unique_ptr<Dataset> dataset,
      OpenIdxDataset(folder + "train-images-idx3-ubyte", folder + "train-labels-idx1-ubyte", 16));
  EXPECT_EQ(dataset->size(), 1500);
  EXPECT_EQ(dataset->class_count(), 10);
}

struct BadPair {
  const char* name;
  std::string images, labels;
  double divisor;
  const char* message;
};
class BadIdxTest : public testing::TestWithParam<BadPair> {};

TEST_P(BadIdxTest, IsRefusedWithItsReason) {
  const std::string images = Write("images", GetParam().images);
  EXPECT_THAT(OpenIdxDataset(images, Write("labels", GetParam().labels), GetParam().divisor),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(GetParam().message)));
}

const BadPair kBadIdx[] = {
    {"Swapped", kLabels, kImages, 1,
     "images is not an IDX file of images: it begins with 0x00000801"},
    {"Empty", "", kLabels, 1, "expected the magic number 0x00000803"},
    {"HeaderCut", kImages.substr(0, 9), kLabels, 1, "truncated"},
    {"DataCut", kImages.substr(0, kImages.size() - 1), kLabels, 1,
     "need 4 bytes of data, it has 3"},
    {"Trailing", kImages, kLabels + "x", 1, "labels has trailing bytes"},
    {"Counts", kImages, IdxBytes({1}, "x"), 1, "2 images, but"},
    {"NoPixels", IdxBytes({2, 0, 2}, ""), kLabels, 1, "at least 1"},
    {"HugeShape", IdxBytes({0xffffffff, 0xffffffff, 0xffffffff}, ""), kLabels, 1, "63 bits"},
    {"ZeroDivisor", kImages, kLabels, 0, "data.divisor"},
};
INSTANTIATE_TEST_SUITE_P(Each, BadIdxTest, testing::ValuesIn(kBadIdx),
                         [](const auto& info) { return info.param.name; });

TEST(IdxTest, AMissingFileIsNamed) {
  EXPECT_THAT(OpenIdxDataset("/nowhere/images", "/nowhere/labels", 1),
              StatusIs(absl::StatusCode::kNotFound, HasSubstr("/nowhere/images")));
  EXPECT_THAT(OpenIdxDataset(testing::TempDir(), "x", 1),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("not a regular file")));
}

std::string Dict(const std::string& descr, const std::string& shape) {
  return "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }";
}

TEST(NpyTest, ReadsEachVersionAndType) {
  const std::vector<float> floats = {1, 2, 3, 4, 5, 6};
  for (const int version : {1, 2, 3}) {
    ASSERT_OK_AND_ASSIGN(
        const std::unique_ptr<Dataset> dataset,
        OpenNpyDataset(Write("in", NpyBytes(version, Dict("<f4", "(2, 3)"), Raw(floats))),
                       Write("out", NpyBytes(version, Dict("<i8", "(2,)"), Raw<int64_t>({7, 5}))),
                       255));
    EXPECT_EQ(dataset->input_shape(), (std::vector<int64_t>{3}));
    EXPECT_TRUE(dataset->target_shape().empty());
    EXPECT_EQ(dataset->class_count(), 8);
    Batch batch;
    dataset->Load(std::vector<int64_t>{1}, &batch);
    EXPECT_EQ(batch.inputs.floats, (std::vector<float>{4, 5, 6}));
    EXPECT_EQ(batch.targets.ints, (std::vector<int64_t>{5}));
  }
}

TEST(NpyTest, BytesAreScaledAsInputsAndCountedAsTargets) {
  const std::string bytes = Write("bytes", NpyBytes(1, Dict("|u1", "(2, 1)"), {'\x05', '\x0a'}));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Dataset> dataset, OpenNpyDataset(bytes, bytes, 10));
  Batch batch;
  dataset->Load(std::vector<int64_t>{0, 1}, &batch);
  EXPECT_EQ(batch.inputs.floats, (std::vector<float>{0.5, 1}));
  EXPECT_EQ(batch.targets.ints, (std::vector<int64_t>{5, 10}));
  EXPECT_EQ(batch.targets.shape, (std::vector<int64_t>{2, 1}));
  EXPECT_EQ(dataset->class_count(), 11);
}

TEST(NpyTest, NamesTheFirstNegativeTarget) {
  const std::string labels =
      Write("labels", NpyBytes(1, Dict("<i8", "(3, 2)"), Raw<int64_t>({1, 2, 0, -1, -5, 3})));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Dataset> dataset, OpenNpyDataset(labels, labels, 1));
  ASSERT_TRUE(dataset->FirstNegativeTarget());
  EXPECT_EQ(dataset->FirstNegativeTarget()->sample, 1);
  EXPECT_EQ(dataset->FirstNegativeTarget()->value, -1);
  const std::string bytes = Write("bytes", NpyBytes(1, Dict("|u1", "(1,)"), {'\xff'}));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Dataset> small, OpenNpyDataset(bytes, bytes, 1));
  EXPECT_FALSE(small->FirstNegativeTarget());
}

TEST(NpyTest, FloatTargetsAndTokenInputsStayAsTheyAre) {
  const std::string tokens =
      Write("tokens", NpyBytes(1, Dict("<i8", "(1, 2)"), Raw<int64_t>({1LL << 40, -1})));
  const std::string values = Write("values", NpyBytes(1, Dict("<f4", "(1,)"), Raw<float>({0.5})));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Dataset> dataset, OpenNpyDataset(tokens, values, 255));
  EXPECT_EQ(dataset->input_type(), ElementType::kInt64);
  EXPECT_EQ(dataset->target_type(), ElementType::kFloat32);
  EXPECT_EQ(dataset->class_count(), 0);
  Batch batch;
  dataset->Load(std::vector<int64_t>{0}, &batch);
  EXPECT_EQ(batch.inputs.ints, (std::vector<int64_t>{1LL << 40, -1}));
  EXPECT_EQ(batch.targets.floats, (std::vector<float>{0.5}));
}

struct BadNpy {
  const char* name;
  std::string bytes;
  const char* message;
};
class BadNpyTest : public testing::TestWithParam<BadNpy> {};

TEST_P(BadNpyTest, IsRefusedWithItsFileAndReason) {
  const std::string path = Write(std::string("bad") + GetParam().name, GetParam().bytes);
  EXPECT_THAT(OpenNpyDataset(path, path, 255),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr(path), HasSubstr(GetParam().message))));
}

const std::string kGoodNpy = NpyBytes(1, Dict("|u1", "(4,)"), "abcd");
const BadNpy kBadNpy[] = {
    {"Magic", "PK\x03\x04 0123456789", "not an npy file"},
    {"Empty", "", "not an npy file"},
    {"Version", NpyBytes(9, Dict("|u1", "(4,)"), "abcd"), "version is 9"},
    {"HeaderCut", kGoodNpy.substr(0, 20), "truncated"},
    {"DataCut", kGoodNpy.substr(0, kGoodNpy.size() - 1), "needs 4 bytes of data, it has 3"},
    {"Trailing", kGoodNpy + "x", "trailing bytes"},
    {"BigEndian", NpyBytes(1, Dict(">f4", "(1,)"), "abcd"), "'>f4'"},
    {"Doubles", NpyBytes(1, Dict("<f8", "(1,)"), "abcdefgh"), "'<f8'"},
    {"Fortran", NpyBytes(1, "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 2)}", "abcd"),
     "Fortran order"},
    {"Scalar", NpyBytes(1, Dict("|u1", "()"), "a"), "single number"},
    {"Records", NpyBytes(1, "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", ""),
     "records"},
    {"NoShape", NpyBytes(1, "{'descr': '|u1', 'fortran_order': False}", ""), "lacks one of"},
    {"NegativeShape", NpyBytes(1, Dict("|u1", "(-4,)"), "abcd"), "extent"},
    {"NoRows", NpyBytes(1, Dict("|u1", "(0, 3)"), ""), "at least 1"},
    {"HugeShape", NpyBytes(1, Dict("<f4", "(4611686018427387904, 4)"), ""), "63 bits"},
    {"Garbage", NpyBytes(1, "{'descr' '|u1'}", ""), "is expected"},
    {"OpenBrace", NpyBytes(1, "{'descr': '|u1',", ""), "is expected"},
};
INSTANTIATE_TEST_SUITE_P(Each, BadNpyTest, testing::ValuesIn(kBadNpy),
                         [](const auto& info) { return info.param.name; });

TEST(NpyTest, InputsAndTargetsMustHaveTheSameRows) {
  const std::string three = Write("three", NpyBytes(1, Dict("|u1", "(3,)"), "abc"));
  EXPECT_THAT(OpenNpyDataset(Write("four", kGoodNpy), three, 255),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("4 rows, but")));
}

TEST(HashDatasetTest, DependsOnContentNotOnTheFolder) {
  const std::string other = testing::TempDir() + "/folder";
  std::filesystem::create_directory(other);
  const auto hash = [](const std::string& folder, const std::string& labels) {
    const auto dataset =
        OpenIdxDataset(Write(folder + "i", kImages), Write(folder + "l", labels), 16);
    return HashDataset(**dataset).value();
  };
  EXPECT_EQ(hash("", kLabels), hash("folder/", kLabels));
  EXPECT_NE(hash("", kLabels), hash("", IdxBytes({2}, {'\x03', '\x02'})));
}

}  // namespace
}  // namespace rondo
