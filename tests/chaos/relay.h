// Stands between the workers and their coordinator, understands what they say, and lets a test wait
// for a message, hold it, or lose it. So a test finds any moment of a job by what the processes say
// and never by the clock.
#ifndef RONDO_TESTS_CHAOS_RELAY_H_
#define RONDO_TESTS_CHAOS_RELAY_H_

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "proto/rondo/v1/training.grpc.pb.h"
#include "proto/rondo/v1/training.pb.h"
#include "tests/chaos/relay_stream.h"

namespace rondo::chaos {

// A message on its way; one of the two is set. Only the relay's witness changes it.
struct Passing {
  std::string worker;  // Name of the worker whose stream it is; empty before its Hello.
  v1::WorkerMessage* from_worker = nullptr;
  v1::CoordinatorMessage* to_worker = nullptr;
  // A worker hands in a file: this is its header.
  const v1::StateHeader* upload = nullptr;
};

using Fits = std::function<bool(const Passing&)>;

// Something to be waited for. Threads: any.
class Trap {
 public:
  enum class Kind {
    kLook,  // The message goes on.
    kHold,  // It waits, and whatever follows on its stream in its direction, as do all others that
            // fit, until Release or Lose.
  };

  // Blocks until a message has fitted; false once `limit` has passed without one.
  bool Wait(absl::Duration limit);
  bool sprung();
  absl::Time sprung_at();
  // What is held goes on, or is lost. From then on the trap holds nothing.
  void Release() { End(false); }
  void Lose() { End(true); }

 private:
  friend class Relay;
  Trap(Kind kind, Fits fits) : kind_(kind), fits_(std::move(fits)) {}
  // False: the message is lost.
  bool Pass(const Passing& passing);
  void End(bool lose);

  const Kind kind_;
  const Fits fits_;
  absl::Mutex mutex_;
  absl::Time sprung_at_ ABSL_GUARDED_BY(mutex_) = absl::InfiniteFuture();
  bool over_ ABSL_GUARDED_BY(mutex_) = false;
  bool lose_ ABSL_GUARDED_BY(mutex_) = false;
};

// Threads: any may call; each stream has its own.
class Relay final : public v1::Training::WithCallbackMethod_Attend<v1::Training::Service> {
 public:
  // `witness` sees every message before any trap does, on the streams' threads, one at a time; it
  // may change it.
  explicit Relay(std::function<void(Passing&)> witness);
  ~Relay() override;

  uint16_t port() const { return static_cast<uint16_t>(port_); }
  // HOST:PORT of the coordinator; empty: there is none, who dials is told Unavailable.
  void SetCoordinator(const std::string& address);
  // Both live as long as the relay.
  Trap& Watch(Fits fits) { return Set(Trap::Kind::kLook, std::move(fits)); }
  Trap& Hold(Fits fits) { return Set(Trap::Kind::kHold, std::move(fits)); }

  grpc::ServerBidiReactor<v1::WorkerMessage, v1::CoordinatorMessage>* Attend(
      grpc::CallbackServerContext* context) override;
  grpc::Status PutState(grpc::ServerContext* context, grpc::ServerReader<v1::StateChunk>* reader,
                        v1::PutStateReply* reply) override;
  grpc::Status GetState(grpc::ServerContext* context, const v1::GetStateRequest* request,
                        grpc::ServerWriter<v1::StateChunk>* writer) override;

 private:
  Trap& Set(Trap::Kind kind, Fits fits);
  bool Pass(Passing& passing);
  std::unique_ptr<v1::Training::Stub> Dial();

  const std::function<void(Passing&)> witness_;
  int port_ = 0;
  std::unique_ptr<grpc::Server> server_;

  absl::Mutex witness_mutex_;
  absl::Mutex mutex_;
  std::string coordinator_ ABSL_GUARDED_BY(mutex_);
  std::list<std::unique_ptr<Trap>> traps_ ABSL_GUARDED_BY(mutex_);
  std::list<std::unique_ptr<RelayStream>> streams_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace rondo::chaos

#endif  // RONDO_TESTS_CHAOS_RELAY_H_
