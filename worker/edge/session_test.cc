#include "worker/edge/session.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "common/clock.h"
#include "proto/rondo/v1/training.grpc.pb.h"
#include "worker/core/actions.h"
#include "worker/core/messages.h"
#include "worker/runtime/attendant.h"

namespace rondo::worker {
namespace {

constexpr char kJob[] = "digits-0123456789abcdef";

// A queue that a test waits on.
template <typename T>
class Queue {
 public:
  void Push(T value) {
    absl::MutexLock lock(&mutex_);
    values_.push_back(std::move(value));
  }
  T Pop() {
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(
        +[](std::deque<T>* v) { return !v->empty(); }, &values_));
    T value = std::move(values_.front());
    values_.pop_front();
    return value;
  }

 private:
  absl::Mutex mutex_;
  std::deque<T> values_ ABSL_GUARDED_BY(mutex_);
};

using Stream = grpc::ServerReaderWriter<v1::CoordinatorMessage, v1::WorkerMessage>;

// A coordinator without a mind: answers each Hello with the next prepared answers, then reads until
// the stream ends or the test breaks it.
class FakeCoordinator final : public v1::Training::Service {
 public:
  struct Answer {
    v1::CoordinatorMessage message;
    bool then_break = false;
  };

  FakeCoordinator() {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  ~FakeCoordinator() override { server_->Shutdown(std::chrono::system_clock::now()); }

  std::shared_ptr<grpc::Channel> Channel() {
    return MakeSessionChannel("127.0.0.1:" + std::to_string(port_),
                              grpc::InsecureChannelCredentials());
  }
  void WillAnswer(v1::CoordinatorMessage message, bool then_break = false) {
    answers_.Push({std::move(message), then_break});
  }
  v1::WorkerMessage NextHeard() { return heard_.Pop(); }

  grpc::Status Attend(grpc::ServerContext*, Stream* stream) override {
    v1::WorkerMessage message;
    while (stream->Read(&message)) {
      const bool hello = message.has_hello();
      heard_.Push(message);
      if (!hello) continue;
      const Answer answer = answers_.Pop();
      stream->Write(answer.message);
      if (answer.then_break) return grpc::Status(grpc::StatusCode::UNAVAILABLE, "broken");
    }
    return grpc::Status::OK;
  }

 private:
  Queue<v1::WorkerMessage> heard_;
  Queue<Answer> answers_;
  int port_ = 0;  // The system's choice.
  std::unique_ptr<grpc::Server> server_;
};

v1::CoordinatorMessage Message() {
  v1::CoordinatorMessage message;
  message.set_job_id(kJob);
  message.set_term(1);
  return message;
}
v1::CoordinatorMessage Welcome() {
  v1::CoordinatorMessage message = Message();
  message.mutable_welcome()->mutable_job()->set_id(kJob);
  v1::SessionLimits* limits = message.mutable_welcome()->mutable_limits();
  limits->set_heartbeat_seconds(1);
  limits->set_silent_seconds(5);
  limits->set_collective_seconds(30);
  limits->set_abort_seconds(10);
  return message;
}
v1::CoordinatorMessage Refuse(const std::string& text) {
  v1::CoordinatorMessage message = Message();
  message.mutable_refuse()->set_reason(v1::REFUSE_REASON_ENDED);
  message.mutable_refuse()->set_text(text);
  return message;
}

// The real session and attendant; the trainer only takes note.
class Worker {
 public:
  explicit Worker(std::function<std::shared_ptr<grpc::Channel>()> channel)
      : attendant_({Config(), &clock_, &session_,
                    [this](const Command& command) { commands_.Push(command); }}),
        session_({std::move(channel), [this](Event event) { attendant_.Post(std::move(event)); },
                  [](const v1::Job& job, Term) {
                    return job.name() == "unknown" ? absl::InvalidArgumentError("job.model")
                                                   : absl::OkStatus();
                  }}) {
    attendant_.Start();
  }
  ~Worker() { attendant_.Stop(); }
  Attendant& attendant() { return attendant_; }
  Session& session() { return session_; }
  Command NextCommand() { return commands_.Pop(); }

 private:
  static MachineConfig Config() {
    MachineConfig config;
    config.name = "w1";
    config.incarnation = {5};
    return config;
  }
  RealClock clock_;
  Queue<Command> commands_;
  Attendant attendant_;  // Outlives the session, whose threads post to it.
  Session session_;
};

TEST(SessionTest, SaysHelloAndTakesTheWelcomesCommands) {
  FakeCoordinator coordinator;
  coordinator.WillAnswer(Welcome());
  Worker worker([&] { return coordinator.Channel(); });
  const v1::WorkerMessage hello = coordinator.NextHeard();
  EXPECT_EQ(hello.hello().name(), "w1");
  EXPECT_EQ(hello.hello().dial(), 1u);
  EXPECT_TRUE(std::holds_alternative<UseLimits>(worker.NextCommand()));
  EXPECT_TRUE(std::holds_alternative<Prepare>(worker.NextCommand()));
  worker.attendant().Post(PrepareDone{});
  EXPECT_TRUE(coordinator.NextHeard().has_prepared());
}

TEST(SessionTest, DialsAgainWhenTheStreamBreaksAndSaysWhatItHas) {
  FakeCoordinator coordinator;
  coordinator.WillAnswer(Welcome(), /*then_break=*/true);
  coordinator.WillAnswer(Welcome());
  Worker worker([&] { return coordinator.Channel(); });
  EXPECT_FALSE(coordinator.NextHeard().hello().has_returning());
  v1::WorkerMessage second = coordinator.NextHeard();
  EXPECT_EQ(second.hello().dial(), 2u);
  EXPECT_TRUE(second.hello().has_returning());
  EXPECT_EQ(second.job_id(), kJob);
}

TEST(SessionTest, DialsAgainAfterWait) {
  FakeCoordinator coordinator;
  v1::CoordinatorMessage wait = Message();
  wait.mutable_wait()->set_reason(v1::WAIT_REASON_NAME_IN_USE);
  wait.mutable_wait()->set_retry_seconds(0.01);
  coordinator.WillAnswer(wait);
  coordinator.WillAnswer(Welcome());
  Worker worker([&] { return coordinator.Channel(); });
  EXPECT_EQ(coordinator.NextHeard().hello().dial(), 1u);
  EXPECT_EQ(coordinator.NextHeard().hello().dial(), 2u);
}

TEST(SessionTest, ARefusalEndsTheWorkerWithCodeThree) {
  FakeCoordinator coordinator;
  coordinator.WillAnswer(Refuse("the job is over"));
  Worker worker([&] { return coordinator.Channel(); });
  const Exit exit = worker.attendant().WaitForExit();
  EXPECT_EQ(exit.code, kExitRefused);
  EXPECT_NE(exit.text.find("the job is over"), std::string::npos);
}

TEST(SessionTest, AMessageThatCannotBeReadEndsTheWorkerByName) {
  FakeCoordinator coordinator;
  v1::CoordinatorMessage welcome = Welcome();
  welcome.mutable_welcome()->clear_limits();
  coordinator.WillAnswer(welcome);
  Worker worker([&] { return coordinator.Channel(); });
  EXPECT_NE(worker.attendant().WaitForExit().text.find("Welcome.limits"), std::string::npos);
}

TEST(SessionTest, AJobThatThisBuildDoesNotKnowEndsTheWorker) {
  FakeCoordinator coordinator;
  v1::CoordinatorMessage welcome = Welcome();
  welcome.mutable_welcome()->mutable_job()->set_name("unknown");
  coordinator.WillAnswer(welcome);
  Worker worker([&] { return coordinator.Channel(); });
  EXPECT_NE(worker.attendant().WaitForExit().text.find("job.model"), std::string::npos);
}

TEST(SessionTest, LeaveIsSaidAndEverythingIsWrittenBeforeTheEnd) {
  FakeCoordinator coordinator;
  coordinator.WillAnswer(Welcome());
  Worker worker([&] { return coordinator.Channel(); });
  coordinator.NextHeard();
  worker.NextCommand();
  worker.attendant().Post(LeaveRequested{absl::Hours(1), 7, "SIGTERM"});
  const v1::WorkerMessage leave = coordinator.NextHeard();
  ASSERT_TRUE(leave.has_leave());
  EXPECT_EQ(leave.leave().steps_done(), 7u);
  worker.attendant().Post(LeaveRequested{});  // The second one is final.
  EXPECT_EQ(worker.attendant().WaitForExit().code, kExitLeft);
  worker.session().Finish(absl::Seconds(10));
}

TEST(SessionTest, AnEndAfterThePartingWordIsExpectedAndABreakIsNot) {
  v1::CoordinatorMessage wait = Message();
  wait.mutable_wait()->set_reason(v1::WAIT_REASON_FULL);
  wait.mutable_wait()->set_retry_seconds(1);
  v1::CoordinatorMessage goodbye = Message();
  goodbye.mutable_goodbye()->set_reason(v1::GOODBYE_REASON_DONE);
  for (const auto& [message, expected] :
       {std::pair{goodbye, true}, {Refuse("over"), true}, {wait, true}, {Welcome(), false}}) {
    FakeCoordinator coordinator;
    coordinator.WillAnswer(message, /*then_break=*/true);
    Queue<Event> events;
    Session session({[&] { return coordinator.Channel(); },
                     [&](Event event) { events.Push(std::move(event)); },
                     [](const v1::Job&, Term) { return absl::OkStatus(); }});
    session.Open(1);
    Hello hello;
    hello.name = "w1";
    session.Send(WorkerMessage{"", {}, hello});
    EXPECT_TRUE(std::holds_alternative<Received>(events.Pop()));
    const Event end = events.Pop();
    ASSERT_TRUE(std::holds_alternative<StreamLost>(end));
    EXPECT_EQ(std::get<StreamLost>(end).expected, expected) << message.ShortDebugString();
  }
}

}  // namespace
}  // namespace rondo::worker
