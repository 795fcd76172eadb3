// One worker's Attend stream through the relay.
#ifndef RONDO_TESTS_CHAOS_RELAY_STREAM_H_
#define RONDO_TESTS_CHAOS_RELAY_STREAM_H_

#include <grpcpp/grpcpp.h>

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "proto/rondo/v1/training.grpc.pb.h"
#include "proto/rondo/v1/training.pb.h"

namespace rondo::chaos {

struct RelayStreamParts {
  // A stub for the coordinator; null: there is none.
  std::function<std::unique_ptr<v1::Training::Stub>()> dial;
  // Called for each message; may block. False: the message is lost.
  std::function<bool(const std::string& worker, v1::WorkerMessage*)> pass_on;
  std::function<bool(const std::string& worker, v1::CoordinatorMessage*)> pass_back;
};

// Threads: one that carries the worker's messages on and one that carries the answers back, both
// its own, so that they may block; gRPC's for the worker's side. Its end is the end of either side.
class RelayStream final
    : public grpc::ServerBidiReactor<v1::WorkerMessage, v1::CoordinatorMessage> {
 public:
  explicit RelayStream(RelayStreamParts parts);
  // Blocks until the stream is over.
  ~RelayStream() override;

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;
  // Destroying it does not block.
  bool over();

 private:
  void Run();
  void CarryOn();
  void CarryBack();
  // The next message of the worker; none: it has ended its side.
  std::optional<v1::WorkerMessage> NextFromWorker();
  void WriteNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void End(const grpc::Status& status);

  const RelayStreamParts parts_;
  std::unique_ptr<v1::Training::Stub> stub_;
  grpc::ClientContext onward_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::WorkerMessage, v1::CoordinatorMessage>> coordinator_;
  std::string worker_;
  v1::WorkerMessage incoming_;

  absl::Mutex mutex_;
  std::deque<v1::WorkerMessage> from_worker_ ABSL_GUARDED_BY(mutex_);
  std::deque<v1::CoordinatorMessage> to_worker_ ABSL_GUARDED_BY(mutex_);
  bool worker_ended_ ABSL_GUARDED_BY(mutex_) = false;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;
  bool done_ ABSL_GUARDED_BY(mutex_) = false;     // gRPC is done with it.
  bool carried_ ABSL_GUARDED_BY(mutex_) = false;  // So are its threads.
  std::optional<grpc::Status> end_ ABSL_GUARDED_BY(mutex_);

  std::thread carrier_;
};

}  // namespace rondo::chaos

#endif  // RONDO_TESTS_CHAOS_RELAY_STREAM_H_
