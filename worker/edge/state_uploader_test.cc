#include "worker/edge/state_uploader.h"

#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

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
    v1::StateChunk chunk;
    reader->Read(&chunk);
    header = chunk.header();
    if (refuses) return grpc::Status(grpc::StatusCode::UNAVAILABLE, "the disk is full");
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
                   .term = [] { return Term{4}; }}),
        path_(uploader_.TemporaryPath(StateFile::kLocal)) {
    std::ofstream(path_, std::ios::binary) << std::string((3 << 20) + 17, 'x');
  }

  FakeStore store_;
  StateUploader uploader_;
  const std::string path_;
};

TEST_F(StateUploaderTest, SendsTheWholeFileAndRemovesIt) {
  ASSERT_OK_AND_ASSIGN(const SavedFile saved, uploader_.Put(30, StateFile::kLocal, path_));
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
  EXPECT_THAT(uploader_.Put(30, StateFile::kLocal, path_),
              StatusIs(absl::StatusCode::kUnavailable, testing::HasSubstr("the disk is full")));
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(StateUploaderTest, NoticesThatOtherBytesArrived) {
  store_.damages = true;
  EXPECT_THAT(uploader_.Put(30, StateFile::kLocal, path_), StatusIs(absl::StatusCode::kDataLoss));
}

}  // namespace
}  // namespace rondo::worker
