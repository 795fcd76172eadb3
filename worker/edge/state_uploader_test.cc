#include "worker/edge/state_uploader.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/sha256.h"
#include "common/status_matchers.h"
#include "proto/rondo/v1/training.grpc.pb.h"

namespace rondo::worker {
namespace {

// Keeps what arrives, and may damage or refuse it.
class FakeStore final : public v1::Training::Service {
 public:
  FakeStore() {
    grpc::ServerBuilder builder;
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  std::shared_ptr<grpc::Channel> Channel() {
    return server_->InProcessChannel(grpc::ChannelArguments());
  }
  grpc::Status PutState(grpc::ServerContext*, grpc::ServerReader<v1::StateChunk>* reader,
                        v1::PutStateReply* reply) override {
    ++tries;
    if (unready > 0) {
      --unready;
      return {grpc::StatusCode::UNAVAILABLE, "not here"};
    }
    v1::StateChunk chunk;
    reader->Read(&chunk);
    header = chunk.header();
    if (refuses) return {grpc::StatusCode::INTERNAL, "the disk is full"};
    while (reader->Read(&chunk)) {
      EXPECT_LE(chunk.data().size(), size_t{1} << 20);
      bytes += chunk.data();
    }
    reply->set_size(bytes.size());
    reply->set_sha256(damages ? Sha256Hex("other") : Sha256Hex(bytes));
    return grpc::Status::OK;
  }
  v1::StateHeader header;
  std::string bytes;
  int tries = 0;
  int unready = 0;  // So many calls find nobody.
  bool refuses = false;
  bool damages = false;

 private:
  std::unique_ptr<grpc::Server> server_;
};

class StateUploaderTest : public testing::Test {
 protected:
  StateUploaderTest()
      : uploader_({.worker = "w1",
                   .incarnation = {9},
                   .temporary_dir = testing::TempDir() + "/uploads",
                   .channel = [this] { return store_.Channel(); },
                   .job_id = [] { return std::string("job"); },
                   .term = [] { return Term{4}; },
                   .retry = {.sleep = [this](absl::Duration time) { slept_ += time; }}}),
        path_(uploader_.TemporaryPath(StateFile::kLocal)) {
    std::ofstream(path_, std::ios::binary) << std::string((3 << 20) + 17, 'x');
  }

  absl::StatusOr<SavedFile> Put(StopCheck stop = [] { return false; }) {
    return uploader_.Put(30, StateFile::kLocal, path_, stop);
  }

  FakeStore store_;
  absl::Duration slept_;
  StateUploader uploader_;
  const std::string path_;
};

TEST_F(StateUploaderTest, SendsTheWholeFileAndRemovesIt) {
  ASSERT_OK_AND_ASSIGN(const SavedFile saved, Put());
  EXPECT_EQ(saved.size, (size_t{3} << 20) + 17);
  EXPECT_EQ(saved.sha256, Sha256Hex(store_.bytes));
  EXPECT_EQ(store_.header.worker(), "w1");
  EXPECT_EQ(store_.header.step(), 30u);
  EXPECT_EQ(store_.header.term(), 4u);
  EXPECT_EQ(store_.header.file(), v1::STATE_FILE_LOCAL);
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(StateUploaderTest, SaysWhyTheCoordinatorDidNotTakeIt) {
  store_.refuses = true;
  EXPECT_THAT(Put(), StatusIs(absl::StatusCode::kInternal, testing::HasSubstr("the disk is full")));
  EXPECT_EQ(store_.tries, 1);
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(StateUploaderTest, TriesAgainWithGrowingPausesUntilTheCoordinatorIsThere) {
  store_.unready = 8;
  ASSERT_OK(Put());
  EXPECT_EQ(store_.tries, 9);
  EXPECT_EQ(Sha256Hex(store_.bytes), store_.header.sha256());
  // 0.1, 0.2, ..., 3.2, 5, 5 s, each at least half of it.
  EXPECT_GE(slept_, absl::Seconds(8.15));
  EXPECT_LE(slept_, absl::Seconds(16.3));
}

TEST_F(StateUploaderTest, StopsWhenTheOrderToSaveIsWithdrawn) {
  store_.unready = 1'000'000;
  EXPECT_THAT(Put([this] { return slept_ > absl::Seconds(60); }),
              StatusIs(absl::StatusCode::kUnavailable, testing::HasSubstr("not here")));
  EXPECT_LE(slept_, absl::Seconds(60.2));
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(StateUploaderTest, APartialDoesNotWaitForACoordinatorThatIsAway) {
  store_.unready = 1;
  EXPECT_THAT(uploader_.PutPartial({{1}, 30, 2}, path_, [] { return false; }),
              StatusIs(absl::StatusCode::kUnavailable));
  EXPECT_EQ(store_.tries, 1);
}

TEST_F(StateUploaderTest, NoticesThatOtherBytesArrived) {
  store_.damages = true;
  EXPECT_THAT(Put(), StatusIs(absl::StatusCode::kDataLoss));
}

// Takes few at a time, as the coordinator does: each call that it lets in waits until another one
// was turned away, or all have come.
class CrowdedStore final : public v1::Training::Service {
 public:
  CrowdedStore(int limit, int callers) : limit_(limit), missing_(callers) {
    grpc::ServerBuilder builder;
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  std::shared_ptr<grpc::Channel> Channel() {
    return server_->InProcessChannel(grpc::ChannelArguments());
  }
  grpc::Status PutState(grpc::ServerContext*, grpc::ServerReader<v1::StateChunk>* reader,
                        v1::PutStateReply* reply) override {
    {
      absl::MutexLock lock(&mutex_);
      if (open_ == limit_) {
        ++turned_away_;
        return {grpc::StatusCode::RESOURCE_EXHAUSTED, "2 state transfers are open already"};
      }
      ++open_;
    }
    v1::StateChunk chunk;
    std::string bytes;
    while (reader->Read(&chunk)) bytes += chunk.data();
    absl::MutexLock lock(&mutex_);
    const auto seen = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      return turned_away_ > 0 || missing_ <= limit_;
    };
    mutex_.Await(absl::Condition(&seen));
    --open_;
    --missing_;
    reply->set_size(bytes.size());
    reply->set_sha256(Sha256Hex(bytes));
    return grpc::Status::OK;
  }
  int turned_away() {
    absl::MutexLock lock(&mutex_);
    return turned_away_;
  }

 private:
  const int limit_;
  std::unique_ptr<grpc::Server> server_;
  absl::Mutex mutex_;
  int open_ ABSL_GUARDED_BY(mutex_) = 0;
  int turned_away_ ABSL_GUARDED_BY(mutex_) = 0;
  int missing_ ABSL_GUARDED_BY(mutex_);
};

TEST(CrowdTest, EveryWorkerOfACrowdHandsItsFileInThoughTheCoordinatorTakesFewAtATime) {
  constexpr int kWorkers = 8;
  CrowdedStore store(2, kWorkers);
  std::vector<absl::Status> done(kWorkers);
  std::vector<std::thread> threads;
  for (int i = 0; i < kWorkers; ++i) {
    threads.emplace_back([&store, &done, i] {
      const std::string name = "w" + std::to_string(i);
      StateUploader uploader(
          {.worker = name,
           .incarnation = {9},
           .temporary_dir = testing::TempDir() + "/crowd-" + name,
           .channel = [&store] { return store.Channel(); },
           .job_id = [] { return std::string("job"); },
           .term = [] { return Term{1}; },
           .retry = {.seed = static_cast<uint64_t>(i),
                     .sleep = [](absl::Duration) { std::this_thread::yield(); }}});
      const std::string path = uploader.TemporaryPath(StateFile::kLocal);
      std::ofstream(path, std::ios::binary) << name;
      done[i] = uploader.Put(30, StateFile::kLocal, path, [] { return false; }).status();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const absl::Status& status : done) EXPECT_OK(status);
  EXPECT_GT(store.turned_away(), 0);
}

}  // namespace
}  // namespace rondo::worker
