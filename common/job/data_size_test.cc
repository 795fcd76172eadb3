#include "common/job/data_size.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

#include "common/status_matchers.h"

namespace rondo {
namespace {

using absl::StatusCode;

std::string Write(const std::string& name, const std::string& bytes) {
  const std::string path = testing::TempDir() + "/" + name;
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

std::string BigEndian(uint32_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift);
  return bytes;
}

std::string Idx(const std::vector<uint32_t>& dimensions, size_t values) {
  std::string bytes = {0, 0, 8, static_cast<char>(dimensions.size())};
  for (uint32_t d : dimensions) bytes += BigEndian(d);
  return bytes + std::string(values, 'x');
}

std::string Npy(const std::string& header, size_t bytes) {
  std::string text = std::string("\x93NUMPY\x01", 7) + '\0';
  text += static_cast<char>(header.size() & 255);
  text += static_cast<char>(header.size() >> 8);
  return text + header + std::string(bytes, 'x');
}

TEST(DataSizeTest, ReadsTheHeaderOfImagesAndLabels) {
  ASSERT_OK_AND_ASSIGN(const DataSize images,
                       ReadDataSize(v1::DATA_FORMAT_IDX, Write("i", Idx({5, 2, 3}, 30))));
  EXPECT_EQ(images.samples, 5);
  EXPECT_EQ(images.shape, (std::vector<int64_t>{2, 3}));
  ASSERT_OK_AND_ASSIGN(const DataSize labels,
                       ReadDataSize(v1::DATA_FORMAT_IDX, Write("l", Idx({5}, 5))));
  EXPECT_EQ(labels.samples, 5);
  EXPECT_TRUE(labels.shape.empty());
}

TEST(DataSizeTest, ReadsTheHeaderOfNumpyFiles) {
  const std::string path =
      Write("n", Npy("{'descr': '<f4', 'fortran_order': False, 'shape': (5, 3), }   \n", 60));
  ASSERT_OK_AND_ASSIGN(const DataSize size, ReadDataSize(v1::DATA_FORMAT_NPY, path));
  EXPECT_EQ(size.samples, 5);
  EXPECT_EQ(size.shape, std::vector<int64_t>{3});
  const std::string flat =
      Write("m", Npy("{'descr': '<i8', 'fortran_order': False, 'shape': (4,), }", 32));
  ASSERT_OK_AND_ASSIGN(const DataSize labels, ReadDataSize(v1::DATA_FORMAT_NPY, flat));
  EXPECT_EQ(labels.samples, 4);
}

TEST(DataSizeTest, RefusesWhatIsNoIdx) {
  const std::string cases[] = {
      "",
      "hello, world",
      std::string("\0\0\x0d\x01", 4) + BigEndian(1) + "xxxx",
      Idx({5, 2, 3}, 29),
      Idx({5, 2, 3}, 31),
      Idx({0, 2, 3}, 0),
      Idx({5, 2, 3}, 30).substr(0, 9),
      Idx({0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF}, 3),
      Idx(std::vector<uint32_t>(33, 1), 1),
      Idx({}, 0),
  };
  for (const std::string& bytes : cases) {
    EXPECT_THAT(ReadDataSize(v1::DATA_FORMAT_IDX, Write("bad", bytes)),
                StatusIs(StatusCode::kInvalidArgument));
  }
}

TEST(DataSizeTest, RefusesWhatIsNoNumpyFileOfAKnownType) {
  const std::string cases[] = {
      "",
      "\x93NUMPY",
      Idx({5, 2, 3}, 30),
      Npy("{'descr': '<f8', 'fortran_order': False, 'shape': (5,), }", 40),
      Npy("{'descr': '>f4', 'fortran_order': False, 'shape': (5,), }", 20),
      Npy("{'descr': '<f4', 'fortran_order': True, 'shape': (5,), }", 20),
      Npy("{'descr': '<f4', 'fortran_order': False, 'shape': (5,), }", 19),
      Npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-5,), }", 20),
      Npy("{'descr': '<f4', 'fortran_order': False, 'shape': (5, x), }", 20),
      Npy("{'descr': '<f4', 'fortran_order': False, 'shape': 5, }", 20),
      Npy("{'descr': '<f4', 'fortran_order': False, 'shape': (), }", 4),
      Npy("{'descr': '<f4', 'fortran_order': False", 4),
      Npy("{'shape':", 4),
      Npy("", 4),
  };
  for (const std::string& bytes : cases) {
    EXPECT_THAT(ReadDataSize(v1::DATA_FORMAT_NPY, Write("bad", bytes)),
                StatusIs(StatusCode::kInvalidArgument));
  }
}

TEST(DataSizeTest, AMissingFileIsNamed) {
  EXPECT_THAT(ReadDataSize(v1::DATA_FORMAT_IDX, testing::TempDir() + "/nothing-here"),
              StatusIs(StatusCode::kNotFound, testing::HasSubstr("nothing-here")));
}

v1::Data DataOf(const char* train, const char* labels, const char* test) {
  v1::Data data;
  data.set_format(v1::DATA_FORMAT_IDX);
  data.mutable_train()->set_inputs(train);
  data.mutable_train()->set_targets(labels);
  data.mutable_test()->set_inputs(test);
  data.mutable_test()->set_targets(labels);
  return data;
}

TEST(DataSizesTest, SetsMustFitTogether) {
  Write("train5", Idx({5, 2, 3}, 30));
  Write("train4", Idx({4, 2, 3}, 24));
  Write("test5", Idx({5, 3, 3}, 45));
  Write("labels5", Idx({5}, 5));
  ASSERT_OK_AND_ASSIGN(const DataSizes sizes,
                       ReadDataSizes(DataOf("train5", "labels5", "train5"), testing::TempDir()));
  EXPECT_EQ(sizes.train.samples, 5);
  EXPECT_EQ(sizes.test.samples, 5);
  EXPECT_THAT(ReadDataSizes(DataOf("train4", "labels5", "train5"), testing::TempDir()),
              StatusIs(StatusCode::kInvalidArgument));
  EXPECT_THAT(ReadDataSizes(DataOf("train5", "labels5", "test5"), testing::TempDir()),
              StatusIs(StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace rondo
