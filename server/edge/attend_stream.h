// One worker's stream on the coordinator's side: what arrives goes to a listener in order, what is
// sent waits in a bounded queue, and a worker that reads too slowly is cut.
#ifndef RONDO_SERVER_EDGE_ATTEND_STREAM_H_
#define RONDO_SERVER_EDGE_ATTEND_STREAM_H_

#include <grpcpp/alarm.h>
#include <grpcpp/grpcpp.h>

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "common/ids.h"
#include "proto/rondo/v1/training.pb.h"

namespace rondo::server {

struct StreamLimits {
  size_t queue_messages = 4096;
  size_t queue_bytes = size_t{64} << 20;
  // From Close until what is queued must have been read.
  int flush_seconds = 5;
};

// Called on gRPC's threads, one call at a time for a stream, none after `gone`.
struct StreamListener {
  std::function<void(StreamId, const v1::WorkerMessage&)> received;
  // The worker's side ended, broke or was cut. Once.
  std::function<void(StreamId, const std::string& why)> closed;
  // gRPC is done with it: the object may be deleted. Once, last.
  std::function<void(StreamId)> gone;
};

// Threads: Send and Close from any. Ownership: shared; one owner must hold it until `gone`.
class AttendStream final
    : public grpc::ServerBidiReactor<v1::WorkerMessage, v1::CoordinatorMessage>,
      public std::enable_shared_from_this<AttendStream> {
 public:
  AttendStream(StreamId id, grpc::CallbackServerContext* context, const StreamLimits& limits,
               StreamListener listener);

  // Begins to read. Call once, after the stream can be found under its id.
  void Begin();
  // Queues a message. Past the limits the stream is cut.
  void Send(v1::CoordinatorMessage message);
  // Ends the stream once the queue is empty; a worker that takes longer than flush_seconds is cut.
  // An empty reason: in good order.
  void Close(const std::string& reason);

 private:
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone() override;

  void WriteNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void BeginClosing(const grpc::Status& status) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void FinishWhenIdle() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Cut(const std::string& reason) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const StreamId id_;
  grpc::CallbackServerContext* const context_;  // Valid until OnDone.
  const StreamLimits limits_;
  const StreamListener listener_;
  v1::WorkerMessage incoming_;  // Touched by gRPC between StartRead and OnReadDone.

  absl::Mutex mutex_;
  std::deque<v1::CoordinatorMessage> queue_ ABSL_GUARDED_BY(mutex_);  // The front is being written.
  size_t queue_bytes_ ABSL_GUARDED_BY(mutex_) = 0;
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool closing_ ABSL_GUARDED_BY(mutex_) = false;
  bool finished_ ABSL_GUARDED_BY(mutex_) = false;  // Finish was called.
  bool done_ ABSL_GUARDED_BY(mutex_) = false;      // OnDone has come.
  grpc::Status final_status_ ABSL_GUARDED_BY(mutex_);
  std::string why_ ABSL_GUARDED_BY(mutex_) = "its side of the stream ended";
  grpc::Alarm flush_alarm_;
};

}  // namespace rondo::server

#endif  // RONDO_SERVER_EDGE_ATTEND_STREAM_H_
