#include "server/edge/training_service.h"

#include <fmt/format.h>

#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/log.h"
#include "server/core/job_machine.h"
#include "server/edge/grpc_status.h"
#include "server/edge/state_transfer.h"
#include "server/edge/training_codec.h"

namespace rondo::server {
namespace {

// Refuses an Attend call without an object of its own in the service.
class RefusedStream final
    : public grpc::ServerBidiReactor<v1::WorkerMessage, v1::CoordinatorMessage> {
 public:
  explicit RefusedStream(const grpc::Status& status) { Finish(status); }
  void OnDone() override { delete this; }
};

// Counts calls that are running; `admitted` says whether this one is within the limit.
class CallCount {
 public:
  CallCount(std::atomic<size_t>* count, size_t limit)
      : count_(count), admitted_(count->fetch_add(1) < limit) {}
  ~CallCount() { count_->fetch_sub(1); }
  CallCount(const CallCount&) = delete;
  CallCount& operator=(const CallCount&) = delete;
  bool admitted() const { return admitted_; }

 private:
  std::atomic<size_t>* const count_;
  const bool admitted_;
};

grpc::Status TooMany(const char* what, size_t limit) {
  return grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED,
                      fmt::format("{} {} are open already; try again later", limit, what));
}

}  // namespace

std::vector<std::string> FilesOfJob(const v1::Job& job) {
  std::vector<std::string> paths;
  const auto add = [&](const std::string& path) {
    if (!path.empty()) paths.push_back(path);
  };
  add(job.model().torchscript().path());
  add(job.model().init());
  add(job.data().train().inputs());
  add(job.data().train().targets());
  add(job.data().test().inputs());
  add(job.data().test().targets());
  return paths;
}

TrainingService::TrainingService(Coordinator* coordinator, CheckpointStore* store,
                                 WelcomeFacts facts, TrainingLimits limits)
    : coordinator_(coordinator), store_(store), facts_(std::move(facts)), limits_(limits) {}

TrainingService::~TrainingService() = default;

grpc::ServerBidiReactor<v1::WorkerMessage, v1::CoordinatorMessage>* TrainingService::Attend(
    grpc::CallbackServerContext* context) {
  std::shared_ptr<AttendStream> stream;
  StreamId id;
  {
    absl::MutexLock lock(&mutex_);
    if (streams_.size() >= limits_.streams) {
      return new RefusedStream(TooMany("streams", limits_.streams));
    }
    id = last_stream_ = last_stream_.Next();
    stream = std::make_shared<AttendStream>(
        id, context, limits_.stream,
        StreamListener{
            .received = [this](StreamId from,
                               const v1::WorkerMessage& message) { OnMessage(from, message); },
            .closed =
                [this](StreamId from, const std::string& why) {
                  LogEvent(LogLevel::kDebug, "stream_closed",
                           {{"stream", fmt::to_string(from)}, {"text", why}});
                  coordinator_->Submit(StreamClosed{from, why});
                },
            .gone = [this](StreamId from) { OnGone(from); }});
    streams_[id] = stream;
  }
  coordinator_->Submit(StreamOpened{id});
  stream->Begin();
  return stream.get();
}

void TrainingService::OnMessage(StreamId stream, const v1::WorkerMessage& message) {
  absl::StatusOr<WorkerMessage> parsed = ParseWorkerMessage(message);
  if (parsed.ok()) {
    coordinator_->Submit(Received{stream, *std::move(parsed)});
  } else {
    coordinator_->Submit(Malformed{stream, std::string(parsed.status().message())});
  }
}

void TrainingService::OnGone(StreamId stream) {
  absl::MutexLock lock(&mutex_);
  streams_.erase(stream);
}

std::shared_ptr<AttendStream> TrainingService::Find(StreamId stream) {
  absl::MutexLock lock(&mutex_);
  const auto found = streams_.find(stream);
  return found == streams_.end() ? nullptr : found->second;
}

void TrainingService::CompleteWelcome(const Welcome& welcome, v1::Welcome* message) const {
  *message->mutable_job() = facts_.job;
  *message->mutable_limits() = facts_.limits;
  message->clear_files();
  if (welcome.reference) {
    for (const FileFact& file : welcome.reference->files) {
      v1::JobFile* named = message->add_files();
      named->set_path(file.path);
      named->set_size(file.size);
      named->set_sha256(file.sha256);
    }
  } else {
    for (const std::string& path : FilesOfJob(facts_.job)) message->add_files()->set_path(path);
  }
}

void TrainingService::Send(StreamId stream, const CoordinatorMessage& message) {
  const std::shared_ptr<AttendStream> to = Find(stream);
  if (to == nullptr) return;
  for (v1::CoordinatorMessage& encoded : EncodeCoordinatorMessage(message)) {
    if (const auto* welcome = std::get_if<Welcome>(&message.body)) {
      CompleteWelcome(*welcome, encoded.mutable_welcome());
    }
    to->Send(std::move(encoded));
  }
}

void TrainingService::Close(StreamId stream, const std::string& reason) {
  if (const std::shared_ptr<AttendStream> to = Find(stream)) to->Close(reason);
}

grpc::Status TrainingService::PutState(grpc::ServerContext*,
                                       grpc::ServerReader<v1::StateChunk>* reader,
                                       v1::PutStateReply* reply) {
  const CallCount call(&state_streams_, limits_.state_streams);
  if (!call.admitted()) return TooMany("state transfers", limits_.state_streams);
  return ToGrpc(ReceiveStateFile(facts_.job.id(), store_, reader, reply));
}

grpc::Status TrainingService::GetState(grpc::ServerContext*, const v1::GetStateRequest* request,
                                       grpc::ServerWriter<v1::StateChunk>* writer) {
  const CallCount call(&state_streams_, limits_.state_streams);
  if (!call.admitted()) return TooMany("state transfers", limits_.state_streams);
  return ToGrpc(SendStateFile(facts_.job.id(), store_, *request, writer));
}

bool TrainingService::WaitUntilNoStreams(absl::Duration timeout) {
  absl::MutexLock lock(&mutex_);
  const auto none = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS { return streams_.empty(); };
  return mutex_.AwaitWithTimeout(absl::Condition(&none), timeout);
}

size_t TrainingService::streams() {
  absl::MutexLock lock(&mutex_);
  return streams_.size();
}

}  // namespace rondo::server
