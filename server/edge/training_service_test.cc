#include "server/edge/training_service.h"

#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "common/clock.h"
#include "common/mix64.h"
#include "common/sha256.h"
#include "server/edge/fake_worker.h"
#include "server/runtime/fakes.h"

namespace rondo::server {
namespace {

using testing::HasSubstr;

// Answers Hello with Welcome and Malformed with Refuse; remembers what came.
class Recorder {
 public:
  Effects Handle(const Event& event, absl::Time) {
    absl::MutexLock lock(&mutex_);
    Effects effects;
    if (const auto* opened = std::get_if<StreamOpened>(&event)) {
      lines_.push_back("opened");
      last_ = opened->stream;
    } else if (std::holds_alternative<StreamClosed>(event)) {
      lines_.push_back("closed");
    } else if (const auto* malformed = std::get_if<Malformed>(&event)) {
      lines_.push_back("malformed " + malformed->text);
      Answer(malformed->stream, Refuse{RefuseReason::kProtocol, malformed->text}, &effects);
      effects.effects.push_back(CloseStream{malformed->stream, ""});
    } else if (const auto* received = std::get_if<Received>(&event)) {
      lines_.push_back("received " + std::to_string(received->message.body.index()));
      for (int i = 0; i < answers_; ++i) Answer(received->stream, welcome_, &effects);
      if (close_) effects.effects.push_back(CloseStream{received->stream, "enough"});
    }
    return effects;
  }

  void SetAnswer(Welcome welcome, int count = 1, bool close = false) {
    absl::MutexLock lock(&mutex_);
    welcome_ = std::move(welcome);
    answers_ = count;
    close_ = close;
  }
  void WaitFor(const std::string& word, int count = 1) {
    absl::MutexLock lock(&mutex_);
    const auto found = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return Count(word) >= count; };
    mutex_.Await(absl::Condition(&found));
  }
  std::vector<std::string> lines() {
    absl::MutexLock lock(&mutex_);
    return lines_;
  }

 private:
  int Count(const std::string& word) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    int count = 0;
    for (const std::string& line : lines_) count += line.rfind(word, 0) == 0;
    return count;
  }
  void Answer(StreamId stream, CoordinatorBody body, Effects* effects) {
    effects->effects.push_back(Send{stream, {"digits-1", {1}, std::move(body)}});
  }

  absl::Mutex mutex_;
  std::vector<std::string> lines_ ABSL_GUARDED_BY(mutex_);
  StreamId last_ ABSL_GUARDED_BY(mutex_);
  Welcome welcome_ ABSL_GUARDED_BY(mutex_);
  int answers_ ABSL_GUARDED_BY(mutex_) = 1;
  bool close_ ABSL_GUARDED_BY(mutex_) = false;
};

class TrainingServiceTest : public testing::Test {
 protected:
  TrainingServiceTest()
      : root_(testing::TempDir() + "/" +
              testing::UnitTest::GetInstance()->current_test_info()->name()),
        coordinator_(std::make_unique<FakeMachine>([this](const Event& event, absl::Time now) {
                       return recorder_.Handle(event, now);
                     }),
                     &journal_, &clock_, CoordinatorOptions{.run_timers = false}),
        store_(root_, "digits-1", 1) {
    std::filesystem::remove_all(root_);
  }

  ~TrainingServiceTest() override {
    if (server_ != nullptr) server_->Shutdown();
    coordinator_.Stop();
  }

  void Begin(TrainingLimits limits = {}) {
    WelcomeFacts facts;
    facts.job.set_id("digits-1");
    facts.job.mutable_data()->mutable_train()->set_inputs("images");
    facts.limits.set_heartbeat_seconds(1);
    service_ = std::make_unique<TrainingService>(&coordinator_, &store_, facts, limits);
    grpc::ServerBuilder builder;
    builder.RegisterService(service_.get());
    builder.SetMaxReceiveMessageSize(static_cast<int>(limits.message_bytes));
    server_ = builder.BuildAndStart();
    coordinator_.Start(service_.get(), &checkpoints_);
  }

  std::shared_ptr<grpc::Channel> Channel() { return server_->InProcessChannel({}); }

  v1::StateHeader Header(const std::string& content) {
    v1::StateHeader header;
    header.set_job_id("digits-1");
    header.set_worker("w0");
    header.set_step(10);
    header.set_file(v1::STATE_FILE_LOCAL);
    header.set_size(content.size());
    header.set_sha256(Sha256Hex(content));
    return header;
  }

  const std::string root_;
  Recorder recorder_;
  FakeClock clock_;
  FakeJournal journal_;
  NoCheckpoints checkpoints_;
  Coordinator coordinator_;
  CheckpointStore store_;
  std::unique_ptr<TrainingService> service_;
  std::unique_ptr<grpc::Server> server_;
};

TEST_F(TrainingServiceTest, CarriesMessagesBothWaysAndCompletesWelcome) {
  Begin();
  FakeWorker worker(Channel(), {});
  worker.SendHello();
  v1::CoordinatorMessage message;
  ASSERT_TRUE(worker.Receive(&message));
  ASSERT_TRUE(message.has_welcome());
  EXPECT_EQ(message.job_id(), "digits-1");
  EXPECT_EQ(message.welcome().job().id(), "digits-1");
  EXPECT_EQ(message.welcome().limits().heartbeat_seconds(), 1);
  ASSERT_EQ(message.welcome().files_size(), 1);
  EXPECT_EQ(message.welcome().files(0).path(), "images");
  EXPECT_TRUE(message.welcome().files(0).sha256().empty());
  EXPECT_TRUE(worker.End().ok());
  recorder_.WaitFor("closed");
  EXPECT_TRUE(service_->WaitUntilNoStreams(absl::InfiniteDuration()));
}

TEST_F(TrainingServiceTest, WelcomeNamesTheReferenceFilesOnceTheyAreKnown) {
  Begin();
  Welcome welcome;
  welcome.reference.emplace();
  welcome.reference->files = {{"images", 7, "abc"}};
  recorder_.SetAnswer(welcome);
  FakeWorker worker(Channel(), {});
  worker.SendHello();
  v1::CoordinatorMessage message;
  ASSERT_TRUE(worker.Receive(&message));
  ASSERT_EQ(message.welcome().files_size(), 1);
  EXPECT_EQ(message.welcome().files(0).sha256(), "abc");
  worker.End();
}

TEST_F(TrainingServiceTest, AMessageThatCannotBeReadIsReportedAndAnswered) {
  Begin();
  FakeWorker worker(Channel(), {});
  worker.Send(v1::WorkerMessage());
  v1::CoordinatorMessage message;
  ASSERT_TRUE(worker.Receive(&message));
  EXPECT_EQ(message.refuse().reason(), v1::REFUSE_REASON_PROTOCOL);
  EXPECT_FALSE(message.refuse().text().empty());
  EXPECT_TRUE(worker.End().ok());
}

TEST_F(TrainingServiceTest, ClosesAfterWhatWasSentBeforeWithTheReason) {
  Begin();
  recorder_.SetAnswer({}, 100, /*close=*/true);
  FakeWorker worker(Channel(), {});
  worker.SendHello();
  v1::CoordinatorMessage message;
  int count = 0;
  while (worker.Receive(&message)) ++count;
  EXPECT_EQ(count, 100);
  const grpc::Status status = worker.End();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::ABORTED);
  EXPECT_EQ(status.error_message(), "enough");
}

TEST_F(TrainingServiceTest, CutsAWorkerThatDoesNotReadAndGoesOnWithOthers) {
  TrainingLimits limits;
  limits.stream.queue_messages = 50;
  Begin(limits);
  recorder_.SetAnswer({}, 10'000);
  FakeWorker slow(Channel(), {});
  slow.SendHello();
  recorder_.WaitFor("closed");  // Nothing was read.
  EXPECT_FALSE(slow.End().ok());
  recorder_.SetAnswer({}, 1);
  FakeWorker other(Channel(), {.name = "w1"});
  other.SendHello();
  v1::CoordinatorMessage message;
  EXPECT_TRUE(other.Receive(&message));
  EXPECT_TRUE(other.End().ok());
}

TEST_F(TrainingServiceTest, CutsByBytesToo) {
  TrainingLimits limits;
  limits.stream.queue_bytes = 100'000;
  Begin(limits);
  Welcome big;
  big.fates.resize(10'000);
  recorder_.SetAnswer(big, 100);
  FakeWorker slow(Channel(), {});
  slow.SendHello();
  recorder_.WaitFor("closed");
  EXPECT_FALSE(slow.End().ok());
}

TEST_F(TrainingServiceTest, CutsAWorkerThatDoesNotReadItsLastMessages) {
  TrainingLimits limits;
  limits.stream.flush_seconds = 0;
  Begin(limits);
  recorder_.SetAnswer({}, 100, /*close=*/true);
  FakeWorker slow(Channel(), {});
  slow.SendHello();
  EXPECT_TRUE(service_->WaitUntilNoStreams(absl::InfiniteDuration()));
  slow.Cancel();
}

TEST_F(TrainingServiceTest, AStreamOfTooManyIsTurnedAway) {
  TrainingLimits limits;
  limits.streams = 2;
  Begin(limits);
  FakeWorker one(Channel(), {});
  FakeWorker two(Channel(), {});
  recorder_.WaitFor("opened", 2);
  FakeWorker three(Channel(), {});
  EXPECT_EQ(three.End().error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_TRUE(one.End().ok());
  EXPECT_TRUE(two.End().ok());
}

TEST_F(TrainingServiceTest, AMessageAboveTheLimitEndsOnlyItsStream) {
  TrainingLimits limits;
  limits.message_bytes = 10'000;
  Begin(limits);
  FakeWorker good(Channel(), {});
  FakeWorker bad(Channel(), {.name = "w1"});
  v1::WorkerMessage message;
  message.set_job_id(std::string(100'000, 'x'));
  bad.Send(message);
  EXPECT_FALSE(bad.End().ok());
  recorder_.WaitFor("closed");
  good.SendHello();
  v1::CoordinatorMessage answer;
  EXPECT_TRUE(good.Receive(&answer));
  EXPECT_TRUE(good.End().ok());
}

TEST_F(TrainingServiceTest, ABrokenStreamIsReported) {
  Begin();
  FakeWorker worker(Channel(), {});
  worker.SendHello();
  recorder_.WaitFor("received");
  worker.Cancel();
  worker.End();
  recorder_.WaitFor("closed");
  EXPECT_TRUE(service_->WaitUntilNoStreams(absl::InfiniteDuration()));
}

// Random bytes in place of messages, sent below the typed stub.
TEST_F(TrainingServiceTest, RandomBytesNeverHarmIt) {
  TrainingLimits limits;
  limits.stream.flush_seconds = 0;  // The sender never reads what it is answered.
  Begin(limits);
  SplitMix64 random(3);
  grpc::GenericStub stub(Channel());
  for (int trial = 0; trial < 200; ++trial) {
    grpc::ClientContext context;
    grpc::CompletionQueue queue;
    const auto call = stub.PrepareCall(&context, "/rondo.v1.Training/Attend", &queue);
    void* tag = nullptr;
    bool ok = false;
    call->StartCall(nullptr);
    queue.Next(&tag, &ok);
    for (int i = 0; i < 3 && ok; ++i) {
      std::string bytes(random.Below(60), '\0');
      for (char& byte : bytes) byte = static_cast<char>(random.Next());
      const grpc::Slice slice(bytes);
      call->Write(grpc::ByteBuffer(&slice, 1), nullptr);
      queue.Next(&tag, &ok);
    }
    context.TryCancel();
    grpc::Status status;
    call->Finish(&status, nullptr);
    queue.Next(&tag, &ok);
  }
  FakeWorker worker(Channel(), {});
  worker.SendHello();
  v1::CoordinatorMessage message;
  EXPECT_TRUE(worker.Receive(&message));
}

TEST_F(TrainingServiceTest, KeepsAStateFileThatIsWhatItsHeaderSays) {
  Begin();
  FakeWorker worker(Channel(), {});
  const std::string content(3'000'000, 'x');
  v1::PutStateReply reply;
  EXPECT_TRUE(worker.Put(Header(content), content, &reply).ok());
  EXPECT_EQ(reply.size(), content.size());
  EXPECT_EQ(reply.sha256(), Sha256Hex(content));
  EXPECT_EQ(std::filesystem::file_size(root_ + "/step-10/local-w0.safetensors"), content.size());
}

TEST_F(TrainingServiceTest, RefusesStateFilesThatAreNot) {
  Begin();
  FakeWorker worker(Channel(), {});
  const std::string content = "content";
  v1::PutStateReply reply;
  const auto code = [&](auto change) {
    v1::StateHeader header = Header(content);
    change(header);
    return worker.Put(header, content, &reply).error_code();
  };
  using grpc::StatusCode;
  EXPECT_EQ(code([](auto& h) { h.set_sha256(Sha256Hex("other")); }), StatusCode::DATA_LOSS);
  EXPECT_EQ(code([](auto& h) { h.set_size(8); }), StatusCode::DATA_LOSS);
  EXPECT_EQ(code([](auto& h) { h.set_size(6); }), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(code([](auto& h) { h.set_worker("../w0"); }), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(code([](auto& h) { h.set_worker("a/b"); }), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(code([](auto& h) { h.set_job_id("other"); }), StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(code([](auto& h) { h.set_file(v1::STATE_FILE_UNSPECIFIED); }),
            StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(code([](auto& h) { h.set_file(static_cast<v1::StateFile>(77)); }),
            StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(code([](auto& h) { h.Clear(); }), StatusCode::FAILED_PRECONDITION);
  EXPECT_FALSE(std::filesystem::exists(root_ + "/step-10/local-w0.safetensors"));
}

TEST_F(TrainingServiceTest, HandsOutFilesOfACompleteCheckpoint) {
  Begin();
  FakeWorker worker(Channel(), {});
  const std::string content(2'500'000, 'y');
  v1::PutStateReply reply;
  ASSERT_TRUE(worker.Put(Header(content), content, &reply).ok());
  const auto fetch = [&](const std::string& job, std::string* bytes) {
    const auto stub = v1::Training::NewStub(Channel());
    grpc::ClientContext context;
    v1::GetStateRequest request;
    request.set_job_id(job);
    request.set_file(v1::STATE_FILE_LOCAL);
    request.set_worker("w0");
    const auto reader = stub->GetState(&context, request);
    v1::StateChunk chunk;
    while (reader->Read(&chunk)) *bytes += chunk.data();
    return reader->Finish();
  };
  std::string bytes;
  EXPECT_EQ(fetch("digits-1", &bytes).error_code(), grpc::StatusCode::NOT_FOUND);
  CompleteCheckpoint request;
  request.step = 10;
  request.parts = {{"w0", {StateFile::kLocal, content.size(), Sha256Hex(content)}}};
  ASSERT_TRUE(store_.Complete(request).ok());
  EXPECT_TRUE(fetch("digits-1", &bytes).ok());
  EXPECT_EQ(bytes, content);
  EXPECT_EQ(fetch("other", &bytes).error_code(), grpc::StatusCode::FAILED_PRECONDITION);
}

}  // namespace
}  // namespace rondo::server
