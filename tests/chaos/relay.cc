#include "tests/chaos/relay.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <utility>
#include <vector>

#include "absl/time/clock.h"
#include "common/keepalive.h"

namespace rondo::chaos {
namespace {

grpc::Status NoCoordinator() {
  return {grpc::StatusCode::UNAVAILABLE, "the relay has no coordinator"};
}

}  // namespace

// ------------------------------------------------------------------------------------ traps

bool Trap::Wait(absl::Duration limit) {
  absl::MutexLock lock(&mutex_);
  mutex_.AwaitWithTimeout(absl::Condition(
                              +[](Trap* self) ABSL_NO_THREAD_SAFETY_ANALYSIS {
                                return self->sprung_at_ != absl::InfiniteFuture();
                              },
                              this),
                          limit);
  return sprung_at_ != absl::InfiniteFuture();
}

bool Trap::sprung() { return sprung_at() != absl::InfiniteFuture(); }

absl::Time Trap::sprung_at() {
  absl::MutexLock lock(&mutex_);
  return sprung_at_;
}

void Trap::End(bool lose) {
  absl::MutexLock lock(&mutex_);
  over_ = true;
  lose_ = lose;
}

bool Trap::Pass(const Passing& passing) {
  absl::MutexLock lock(&mutex_);
  if (over_ || (kind_ == Kind::kLook && sprung_at_ != absl::InfiniteFuture())) return true;
  if (!fits_(passing)) return true;
  if (sprung_at_ == absl::InfiniteFuture()) sprung_at_ = absl::Now();
  if (kind_ == Kind::kLook) return true;
  mutex_.Await(absl::Condition(&over_));
  return !lose_;
}

// ------------------------------------------------------------------------------------ relay

Relay::Relay(std::function<void(Passing&)> witness) : witness_(std::move(witness)) {
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port_);
  builder.SetMaxReceiveMessageSize(64 << 20);
  SetKeepalive(Keepalive(), &builder);
  builder.RegisterService(this);
  server_ = builder.BuildAndStart();
  if (server_ != nullptr && port_ != 0) return;
  std::fprintf(stderr, "relay: cannot listen\n");
  std::abort();
}

Relay::~Relay() {
  SetCoordinator("");
  {
    absl::MutexLock lock(&mutex_);
    for (const std::unique_ptr<Trap>& trap : traps_) trap->Lose();
  }
  server_->Shutdown(std::chrono::system_clock::now());
  server_->Wait();
  streams_.clear();
}

void Relay::SetCoordinator(const std::string& address) {
  absl::MutexLock lock(&mutex_);
  coordinator_ = address;
}

Trap& Relay::Set(Trap::Kind kind, Fits fits) {
  absl::MutexLock lock(&mutex_);
  traps_.push_back(std::unique_ptr<Trap>(new Trap(kind, std::move(fits))));
  return *traps_.back();
}

bool Relay::Pass(Passing& passing) {
  {
    absl::MutexLock lock(&witness_mutex_);
    witness_(passing);
  }
  std::vector<Trap*> traps;
  {
    absl::MutexLock lock(&mutex_);
    for (const std::unique_ptr<Trap>& trap : traps_) traps.push_back(trap.get());
  }
  bool pass = true;
  for (Trap* trap : traps) pass = trap->Pass(passing) && pass;
  return pass;
}

std::unique_ptr<v1::Training::Stub> Relay::Dial() {
  std::string address;
  {
    absl::MutexLock lock(&mutex_);
    address = coordinator_;
  }
  if (address.empty()) return nullptr;
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetMaxReceiveMessageSize(64 << 20);
  SetKeepalive(Keepalive(), &arguments);
  return v1::Training::NewStub(
      grpc::CreateCustomChannel(address, grpc::InsecureChannelCredentials(), arguments));
}

grpc::ServerBidiReactor<v1::WorkerMessage, v1::CoordinatorMessage>* Relay::Attend(
    grpc::CallbackServerContext*) {
  auto stream = std::make_unique<RelayStream>(
      RelayStreamParts{.dial = [this] { return Dial(); },
                       .pass_on =
                           [this](const std::string& worker, v1::WorkerMessage* message) {
                             Passing passing{.worker = worker, .from_worker = message};
                             return Pass(passing);
                           },
                       .pass_back =
                           [this](const std::string& worker, v1::CoordinatorMessage* message) {
                             Passing passing{.worker = worker, .to_worker = message};
                             return Pass(passing);
                           }});
  std::list<std::unique_ptr<RelayStream>> over;  // They go without the lock.
  absl::MutexLock lock(&mutex_);
  for (auto it = streams_.begin(); it != streams_.end();) {
    const auto each = it++;
    if ((*each)->over()) over.splice(over.end(), streams_, each);
  }
  streams_.push_back(std::move(stream));
  return streams_.back().get();
}

grpc::Status Relay::PutState(grpc::ServerContext* context,
                             grpc::ServerReader<v1::StateChunk>* reader, v1::PutStateReply* reply) {
  const std::unique_ptr<v1::Training::Stub> stub = Dial();
  if (stub == nullptr) return NoCoordinator();
  grpc::ClientContext onward;
  const auto writer = stub->PutState(&onward, reply);
  v1::StateChunk chunk;
  while (reader->Read(&chunk)) {
    if (chunk.has_header()) {
      Passing passing{.worker = chunk.header().worker(), .upload = &chunk.header()};
      if (!Pass(passing)) onward.TryCancel();
    }
    if (!writer->Write(chunk)) break;
  }
  if (context->IsCancelled()) onward.TryCancel();
  writer->WritesDone();
  return writer->Finish();
}

grpc::Status Relay::GetState(grpc::ServerContext* context, const v1::GetStateRequest* request,
                             grpc::ServerWriter<v1::StateChunk>* writer) {
  const std::unique_ptr<v1::Training::Stub> stub = Dial();
  if (stub == nullptr) return NoCoordinator();
  grpc::ClientContext onward;
  const auto reader = stub->GetState(&onward, *request);
  v1::StateChunk chunk;
  while (reader->Read(&chunk)) {
    if (!context->IsCancelled() && writer->Write(chunk)) continue;
    onward.TryCancel();
  }
  return reader->Finish();
}

}  // namespace rondo::chaos
