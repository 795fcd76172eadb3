#include "worker/edge/state_downloader.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "common/sha256.h"
#include "common/status_matchers.h"
#include "proto/rondo/v1/training.grpc.pb.h"
#include "worker/edge/shared_folder_sink.h"

namespace rondo::worker {
namespace {

// Sends `bytes`, and may damage them or stop in the middle.
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
  grpc::Status GetState(grpc::ServerContext*, const v1::GetStateRequest* asked,
                        grpc::ServerWriter<v1::StateChunk>* writer) override {
    request = *asked;
    if (crowded > 0) {
      --crowded;
      return {grpc::StatusCode::RESOURCE_EXHAUSTED, "64 state transfers are open already"};
    }
    if (!status.ok()) return status;
    v1::StateChunk chunk;
    chunk.mutable_header()->set_step(asked->step());
    chunk.mutable_header()->set_file(asked->file());
    chunk.mutable_header()->set_size(bytes.size());
    chunk.mutable_header()->set_sha256(damages ? Sha256Hex("other") : Sha256Hex(bytes));
    writer->Write(chunk);
    if (asked->header_only()) return grpc::Status::OK;
    const size_t sent = breaks ? bytes.size() / 2 : bytes.size();
    constexpr size_t kChunk = size_t{1} << 20;
    for (size_t at = 0; at < sent; at += kChunk) {
      chunk.set_data(bytes.substr(at, std::min(kChunk, sent - at)));
      writer->Write(chunk);
    }
    if (breaks) return grpc::Status(grpc::StatusCode::UNAVAILABLE, "the coordinator ends");
    return grpc::Status::OK;
  }
  v1::GetStateRequest request;
  std::string bytes = std::string((3 << 20) + 17, 'x');
  grpc::Status status;
  int crowded = 0;  // So many calls are turned away.
  bool damages = false;
  bool breaks = false;

 private:
  std::unique_ptr<grpc::Server> server_;
};

std::string Read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

bool Never() { return false; }

class StateDownloaderTest : public testing::Test {
 protected:
  StateDownloaderTest()
      : downloader_({.worker = "w1",
                     .temporary_dir = testing::TempDir() + "/downloads",
                     .channel = [this] { return store_.Channel(); },
                     .job_id = [] { return std::string("job"); },
                     .shared_root = [this] { return shared_root_; },
                     .retry = {.sleep = [this](absl::Duration time) { slept_ += time; }}}) {}
  absl::StatusOr<std::string> Get(StateFile file, bool stop = false) {
    return downloader_.Get(30, file, [this, stop] { return stop || slept_ > absl::Seconds(60); });
  }

  FakeStore store_;
  std::string shared_root_;
  absl::Duration slept_;
  StateDownloader downloader_;
};

TEST_F(StateDownloaderTest, FetchesTheWholeFileOfTheStepAskedFor) {
  ASSERT_OK_AND_ASSIGN(const std::string path, Get(StateFile::kLocal));
  EXPECT_EQ(Read(path), store_.bytes);
  EXPECT_EQ(store_.request.step(), 30u);
  EXPECT_EQ(store_.request.worker(), "w1");
  EXPECT_EQ(store_.request.job_id(), "job");
  EXPECT_OK(Get(StateFile::kParameters));
  EXPECT_EQ(store_.request.worker(), "");
}

TEST_F(StateDownloaderTest, AFileThatIsNotThereIsNotFound) {
  store_.status = grpc::Status(grpc::StatusCode::NOT_FOUND, "no local-w1.safetensors");
  EXPECT_THAT(Get(StateFile::kLocal), StatusIs(absl::StatusCode::kNotFound));
}

TEST_F(StateDownloaderTest, OtherBytesThanTheManifestNamesAreDamage) {  // S84
  store_.damages = true;
  EXPECT_THAT(Get(StateFile::kBuffers), StatusIs(absl::StatusCode::kDataLoss));
}

TEST_F(StateDownloaderTest, ABrokenStreamIsNotTheFilesFault) {
  store_.breaks = true;
  EXPECT_THAT(Get(StateFile::kBuffers),
              StatusIs(absl::StatusCode::kUnavailable, testing::HasSubstr("the coordinator ends")));
}

TEST_F(StateDownloaderTest, TriesAgainUntilTheCoordinatorHasRoom) {
  store_.crowded = 5;
  ASSERT_OK_AND_ASSIGN(const std::string path, Get(StateFile::kLocal));
  EXPECT_EQ(Read(path), store_.bytes);
  EXPECT_GE(slept_, absl::Seconds(1.55));  // Half of 0.1 + 0.2 + 0.4 + 0.8 + 1.6.
}

TEST_F(StateDownloaderTest, StopsWhenItIsTold) {
  EXPECT_THAT(Get(StateFile::kBuffers, /*stop=*/true), StatusIs(absl::StatusCode::kAborted));
}

TEST_F(StateDownloaderTest, ReadsWhatWasPutIntoTheSharedFolder) {
  shared_root_ = testing::TempDir() + "/shared/job";
  std::filesystem::create_directories(shared_root_);
  SharedFolderSink sink({"w1", {9}, [this] { return shared_root_; }});
  const std::string temporary = sink.TemporaryPath(StateFile::kLocal);
  std::ofstream(temporary, std::ios::binary) << store_.bytes;
  ASSERT_OK_AND_ASSIGN(const SavedFile saved, sink.Put(30, StateFile::kLocal, temporary, Never));
  EXPECT_EQ(saved.size, store_.bytes.size());
  EXPECT_EQ(saved.sha256, Sha256Hex(store_.bytes));
  EXPECT_FALSE(std::filesystem::exists(temporary));
  ASSERT_OK_AND_ASSIGN(const std::string path, Get(StateFile::kLocal));
  EXPECT_EQ(path, shared_root_ + "/step-30/local-w1.safetensors");
  EXPECT_EQ(Read(path), store_.bytes);

  std::ofstream(path, std::ios::binary) << "torn";
  EXPECT_THAT(Get(StateFile::kLocal), StatusIs(absl::StatusCode::kDataLoss));
  std::filesystem::remove(path);
  EXPECT_THAT(Get(StateFile::kLocal), StatusIs(absl::StatusCode::kNotFound));
}

// What belongs there may not be mounted.
TEST_F(StateDownloaderTest, ASharedFolderThatIsNotThereIsNotMade) {
  const std::string root = testing::TempDir() + "/unmounted/job";
  SharedFolderSink sink({"w1", {9}, [&] { return root; }});
  sink.TemporaryPath(StateFile::kLocal);
  const std::string path = testing::TempDir() + "/part";
  std::ofstream(path) << "x";
  EXPECT_THAT(sink.Put(30, StateFile::kLocal, path, Never),
              StatusIs(absl::StatusCode::kUnavailable, testing::HasSubstr(root)));
  EXPECT_FALSE(std::filesystem::exists(root));
}

TEST_F(StateDownloaderTest, AFolderThatCannotBeWrittenIsNamed) {
  const std::string file = testing::TempDir() + "/no-folder";
  std::ofstream(file) << "x";
  SharedFolderSink sink({"w1", {9}, [&] { return file; }});
  const std::string path = testing::TempDir() + "/part";
  std::ofstream(path) << "x";
  EXPECT_THAT(sink.Put(30, StateFile::kLocal, path, Never),
              StatusIs(absl::StatusCode::kUnavailable, testing::HasSubstr(file)));
}

}  // namespace
}  // namespace rondo::worker
