// S62: pings on an idle stream. Both sides' values come from one place, so neither thinks that the
// other pings too often.
#include "common/keepalive.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "proto/rondo/v1/training.grpc.pb.h"
#include "proto/rondo/v1/training.pb.h"
#include "tests/chaos/tcp_proxy.h"

namespace rondo::chaos {
namespace {

constexpr absl::Duration kPatience = absl::Seconds(60);
// As often as gRPC lets a client ping.
constexpr Keepalive kOften = {.every_millis = 1000, .timeout_millis = 5000};
// A frame's header and eight bytes.
constexpr uint64_t kPingBytes = 17;

// Streams on which nobody says anything.
class IdleService final : public v1::Training::Service {
 public:
  grpc::Status Attend(
      grpc::ServerContext*,
      grpc::ServerReaderWriter<v1::CoordinatorMessage, v1::WorkerMessage>* worker) override {
    v1::WorkerMessage message;
    while (worker->Read(&message)) begun.Notify();
    return grpc::Status::OK;
  }
  absl::Notification begun;  // From here on it is idle.
};

// An idle stream whose client pings every second; the server's builder is `set_up`'s.
class IdleStream {
 public:
  explicit IdleStream(const std::function<void(grpc::ServerBuilder*)>& set_up) {
    int port = 0;
    grpc::ServerBuilder builder;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(&service_);
    set_up(&builder);
    server_ = builder.BuildAndStart();
    line_.SetTarget(static_cast<uint16_t>(port));
    grpc::ChannelArguments arguments;
    SetKeepalive(kOften, &arguments);
    stub_ = v1::Training::NewStub(
        grpc::CreateCustomChannel("127.0.0.1:" + std::to_string(line_.port()),
                                  grpc::InsecureChannelCredentials(), arguments));
    stream_ = stub_->Attend(&context_);
    stream_->Write({});
    reader_ = std::thread([this] {
      v1::CoordinatorMessage message;
      stream_->Read(&message);
      ended_.Notify();
    });
  }
  ~IdleStream() {
    context_.TryCancel();
    reader_.join();
    server_->Shutdown(std::chrono::system_clock::now());
  }

  // Of the client: its pings, and its answers to the server's.
  bool AwaitPings(uint64_t count) {
    return service_.begun.WaitForNotificationWithTimeout(kPatience) &&
           line_.AwaitBytes(count * kPingBytes, kPatience);
  }
  absl::Notification& ended() { return ended_; }
  grpc::Status Finish() { return stream_->Finish(); }

 private:
  IdleService service_;
  std::unique_ptr<grpc::Server> server_;
  TcpProxy line_;
  std::unique_ptr<v1::Training::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::WorkerMessage, v1::CoordinatorMessage>> stream_;
  absl::Notification ended_;
  std::thread reader_;
};

TEST(KeepaliveTest, AnIdleStreamOutlivesItsPings) {
  IdleStream stream([](grpc::ServerBuilder* builder) { SetKeepalive(kOften, builder); });
  EXPECT_TRUE(stream.AwaitPings(10)) << "nobody pings";
  EXPECT_FALSE(stream.ended().HasBeenNotified()) << "the stream was closed";
}

// That the test above can fail.
TEST(KeepaliveTest, AServerWithOtherValuesClosesTheStream) {
  IdleStream stream([](grpc::ServerBuilder* builder) {
    builder->AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 3'600'000);
  });
  EXPECT_TRUE(stream.ended().WaitForNotificationWithTimeout(kPatience));
  EXPECT_EQ(stream.Finish().error_code(), grpc::StatusCode::UNAVAILABLE);
}

}  // namespace
}  // namespace rondo::chaos
