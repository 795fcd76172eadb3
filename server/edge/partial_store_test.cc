#include "server/edge/partial_store.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "common/sha256.h"
#include "common/status_matchers.h"

namespace rondo::server {
namespace {

namespace fs = std::filesystem;

class PartialStoreTest : public testing::Test {
 protected:
  PartialStoreTest()
      : root_(testing::TempDir() + "/" +
              testing::UnitTest::GetInstance()->current_test_info()->name()),
        store_(root_, "digits-1") {
    fs::remove_all(root_);
  }
  absl::Status Put(uint64_t round, uint64_t step, const std::string& worker,
                   const std::string& bytes = "bytes") {
    auto upload = store_.Begin({{round}, step, worker, 2}, bytes.size(), Sha256Hex(bytes));
    if (!upload.ok()) return upload.status();
    EXPECT_OK((*upload)->Append(bytes));
    return (*upload)->Finish().status();
  }
  std::optional<uint64_t> Newest(uint64_t round) const {
    return store_.NewestOf({round}, {"w0", "w1"});
  }

  const std::string root_;
  PartialStore store_;
};

TEST_F(PartialStoreTest, TheNewestStepThatAllHaveCounts) {
  EXPECT_EQ(Newest(3), std::nullopt);
  EXPECT_OK(Put(3, 10, "w0"));
  EXPECT_EQ(Newest(3), std::nullopt);
  EXPECT_OK(Put(3, 20, "w0"));
  EXPECT_OK(Put(3, 10, "w1"));
  EXPECT_EQ(Newest(3), 10u);
  EXPECT_OK(Put(3, 20, "w1", "more"));
  EXPECT_EQ(Newest(3), 20u);
  EXPECT_EQ(store_.NewestOf({3}, {"w0", "w2"}), std::nullopt);
  ASSERT_OK_AND_ASSIGN(const StoredFile file, store_.Find(20, "w1"));
  EXPECT_EQ(file.size, 4u);
  EXPECT_EQ(file.sha256, Sha256Hex("more"));
}

TEST_F(PartialStoreTest, WhatANewerOneReplacesIsDeleted) {
  for (const char* worker : {"w0", "w1"}) EXPECT_OK(Put(3, 10, worker));
  EXPECT_OK(Put(3, 20, "w0"));
  EXPECT_OK(store_.Find(10, "w0").status()) << "it is all there is";
  EXPECT_OK(Put(3, 20, "w1"));
  EXPECT_THAT(store_.Find(10, "w0"), StatusIs(absl::StatusCode::kNotFound));
  EXPECT_OK(Put(4, 30, "w0"));
  EXPECT_EQ(Newest(3), std::nullopt);
  EXPECT_OK(store_.Find(30, "w0").status());
  store_.DropThrough({4});
  EXPECT_THAT(store_.Find(30, "w0"), StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(PartialStoreTest, AFileWithoutItsHashIsNotThere) {  // S84
  EXPECT_OK(Put(3, 10, "w0"));
  EXPECT_OK(Put(3, 10, "w1"));
  const std::string hash = root_ + "/partials/round-3/step-10/partial-w1.sha256";
  std::ofstream(hash) << "x";
  EXPECT_THAT(store_.Find(10, "w1"), StatusIs(absl::StatusCode::kDataLoss));
  fs::remove(hash);
  EXPECT_EQ(Newest(3), std::nullopt);
}

TEST_F(PartialStoreTest, AFolderUnderAnotherNameIsNotBelieved) {
  for (const char* worker : {"w0", "w1"}) EXPECT_OK(Put(3, 10, worker));
  const std::string partials = root_ + "/partials/";
  fs::copy(partials + "round-3", partials + "round-4", fs::copy_options::recursive);
  fs::copy(partials + "round-3/step-10", partials + "round-3/step-20");
  fs::rename(partials + "round-4", partials + "round-05");
  EXPECT_EQ(Newest(3), 10u);
  EXPECT_EQ(Newest(5), std::nullopt);
  EXPECT_THAT(store_.Find(20, "w0"), StatusIs(absl::StatusCode::kDataLoss));
  fs::rename(partials + "round-05", partials + "round-4");
  EXPECT_EQ(Newest(4), std::nullopt);
  EXPECT_EQ(PartialStore(root_, "digits-2").NewestOf({3}, {"w0", "w1"}), std::nullopt);
}

TEST_F(PartialStoreTest, RefusesWhatNamesNoPartial) {
  EXPECT_THAT(Put(3, 10, "../x"), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(Put(0, 10, "w0"), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(Put(3, 0, "w0"), StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(store_.Find(10, "../x"), StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace rondo::server
