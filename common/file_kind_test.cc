#include "common/file_kind.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace rondo {
namespace {

TEST(FileKindTest, NamesWhatIsNoRegularFile) {
  const std::string dir = testing::TempDir() + "/kinds";
  std::filesystem::remove_all(dir);
  std::filesystem::create_directories(dir);
  std::ofstream(dir + "/file") << "x";
  ASSERT_EQ(mkfifo((dir + "/pipe").c_str(), 0644), 0);
  std::filesystem::create_symlink("pipe", dir + "/link");
  EXPECT_EQ(UnusualFileKind(dir + "/file"), "");
  EXPECT_EQ(UnusualFileKind(dir + "/nothing"), "");
  EXPECT_EQ(UnusualFileKind(dir), "a folder");
  EXPECT_EQ(UnusualFileKind(dir + "/pipe"), "a named pipe (FIFO)");
  EXPECT_EQ(UnusualFileKind(dir + "/link"), "a named pipe (FIFO)");
  EXPECT_EQ(UnusualFileKind("/dev/null"), "a device");
}

}  // namespace
}  // namespace rondo
