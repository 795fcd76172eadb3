#include "worker/edge/scratch_folder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

namespace rondo::worker {
namespace {

namespace fs = std::filesystem;

class ScratchFolderTest : public testing::Test {
 protected:
  ScratchFolderTest()
      : parent_(testing::TempDir() + "/" +
                testing::UnitTest::GetInstance()->current_test_info()->name()) {
    fs::remove_all(parent_);
    fs::create_directories(parent_);
  }
  // As a killed process leaves it.
  std::string Leave(const std::string& name) {
    const std::string path = parent_ + "/" + name;
    fs::create_directories(path);
    std::ofstream(path + "/file") << "x";
    return path;
  }
  const std::string parent_;
};

TEST_F(ScratchFolderTest, GoesWithItsFiles) {
  std::string path;
  {
    const ScratchFolder folder(parent_, "w-", "w-1");
    path = folder.path();
    std::ofstream(path + "/file") << "x";
    EXPECT_TRUE(fs::exists(path + "/file"));
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(ScratchFolderTest, TheNextOneRemovesWhatKilledProcessesLeft) {
  const std::string old = Leave("w-1");
  const std::string other = Leave("v-1");
  const ScratchFolder folder(parent_, "w-", "w-2");
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(other)) << "another program's";
  EXPECT_TRUE(fs::exists(folder.path()));
}

TEST_F(ScratchFolderTest, WhatAnotherHoldsStays) {
  std::optional<ScratchFolder> first;
  first.emplace(parent_, "w-", "w-1");
  const ScratchFolder second(parent_, "w-", "w-2");
  EXPECT_TRUE(fs::exists(first->path()));
  first->Remove();
  EXPECT_FALSE(fs::exists(first->path()));
}

TEST_F(ScratchFolderTest, AParentThatIsNotThereIsNoFault) {
  const ScratchFolder folder("/proc/nowhere", "w-", "w-1");
  EXPECT_EQ(folder.path(), "/proc/nowhere/w-1");
}

}  // namespace
}  // namespace rondo::worker
