// The gRPC service that workers speak to: streams in, events to the coordinator; messages of the
// coordinator out to streams; state files to and from the checkpoint store.
#ifndef RONDO_SERVER_EDGE_TRAINING_SERVICE_H_
#define RONDO_SERVER_EDGE_TRAINING_SERVICE_H_

#include <grpcpp/grpcpp.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/ids.h"
#include "proto/rondo/v1/job.pb.h"
#include "proto/rondo/v1/training.grpc.pb.h"
#include "proto/rondo/v1/training.pb.h"
#include "server/core/messages.h"
#include "server/edge/attend_stream.h"
#include "server/edge/checkpoint_store.h"
#include "server/runtime/coordinator.h"

namespace rondo::server {

// What a Welcome says beyond the core's words.
struct WelcomeFacts {
  v1::Job job;
  v1::SessionLimits limits;
};

struct TrainingLimits {
  size_t streams = 1024;      // Attend streams at a time; more are refused at once.
  size_t state_streams = 64;  // PutState and GetState calls at a time.
  size_t message_bytes = size_t{16} << 20;
  StreamLimits stream;
};

// Attend runs on gRPC's callback threads and never blocks; PutState and GetState, which wait for
// the disk, run on gRPC's synchronous threads.
// Threads: any. Ownership: borrows coordinator and store, which must outlive it; must outlive the
// grpc::Server that it is registered with.
class TrainingService final : public v1::Training::WithCallbackMethod_Attend<v1::Training::Service>,
                              public StreamSink {
 public:
  TrainingService(Coordinator* coordinator, CheckpointStore* store, WelcomeFacts facts,
                  TrainingLimits limits = {});
  // All streams are gone by now: the grpc::Server was shut down before.
  ~TrainingService() override;

  grpc::ServerBidiReactor<v1::WorkerMessage, v1::CoordinatorMessage>* Attend(
      grpc::CallbackServerContext* context) override;
  grpc::Status PutState(grpc::ServerContext* context, grpc::ServerReader<v1::StateChunk>* reader,
                        v1::PutStateReply* reply) override;
  grpc::Status GetState(grpc::ServerContext* context, const v1::GetStateRequest* request,
                        grpc::ServerWriter<v1::StateChunk>* writer) override;

  void Send(StreamId stream, const CoordinatorMessage& message) override;
  void Close(StreamId stream, const std::string& reason) override;

  // Blocks until no Attend stream is left, at most `timeout`. False: some are.
  bool WaitUntilNoStreams(absl::Duration timeout);
  size_t streams();

 private:
  std::shared_ptr<AttendStream> Find(StreamId stream);
  void OnMessage(StreamId stream, const v1::WorkerMessage& message);
  void OnGone(StreamId stream);
  void CompleteWelcome(const Welcome& welcome, v1::Welcome* message) const;

  Coordinator* const coordinator_;
  CheckpointStore* const store_;
  const WelcomeFacts facts_;
  const TrainingLimits limits_;
  std::atomic<size_t> state_streams_ = 0;
  absl::Mutex mutex_;
  StreamId last_stream_ ABSL_GUARDED_BY(mutex_);
  std::map<StreamId, std::shared_ptr<AttendStream>> streams_ ABSL_GUARDED_BY(mutex_);
};

// Every file that the job names, sizes and hashes unknown.
std::vector<std::string> FilesOfJob(const v1::Job& job);

}  // namespace rondo::server

#endif  // RONDO_SERVER_EDGE_TRAINING_SERVICE_H_
