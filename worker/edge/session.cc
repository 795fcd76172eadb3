#include "worker/edge/session.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "common/keepalive.h"
#include "proto/rondo/v1/training.grpc.pb.h"
#include "proto/rondo/v1/training.pb.h"
#include "worker/edge/training_codec.h"

namespace rondo::worker {
namespace {

// gRPC 1.51 runs all callbacks of a process on one shared queue, counted by channels, and its
// threads crash now and then while the queue goes with the last channel. So the first one stays.
void KeepForEver(const std::shared_ptr<grpc::Channel>& channel) {
  // Volatile, so that the pointer really lies in memory, where a leak checker finds it.
  static std::shared_ptr<grpc::Channel>* volatile kept =
      new std::shared_ptr<grpc::Channel>(channel);
  static_cast<void>(kept);
}

}  // namespace

struct Session::Shared {
  SessionOptions options;
  absl::Mutex mutex;
  std::shared_ptr<grpc::Channel> channel ABSL_GUARDED_BY(mutex);
  int open_calls ABSL_GUARDED_BY(mutex) = 0;
};

// One Attend call. The session keeps it at least until gRPC has said OnDone, and destroys it on its
// own thread: a channel must not go inside one of its callbacks. Writes start under the mutex: gRPC
// never runs a reaction inside the call that starts an operation.
class Session::Call final
    : public grpc::ClientBidiReactor<v1::WorkerMessage, v1::CoordinatorMessage> {
 public:
  Call(uint64_t dial, std::shared_ptr<Shared> shared, const std::shared_ptr<grpc::Channel>& channel)
      : dial_(dial), shared_(std::move(shared)), stub_(v1::Training::NewStub(channel)) {}

  void Begin() {
    {
      absl::MutexLock lock(&shared_->mutex);
      ++shared_->open_calls;
    }
    stub_->async()->Attend(&context_, this);
    AddHold();  // Writes start outside of reactions, until OnReadDone says that the call is over.
    StartRead(&incoming_);
    StartCall();
  }

  void Send(v1::WorkerMessage message) {
    absl::MutexLock lock(&mutex_);
    queue_.push_back(std::move(message));
    WriteNext();
  }

  // No StreamLost is posted for it.
  void Cancel() {
    {
      absl::MutexLock lock(&mutex_);
      muted_ = true;
    }
    context_.TryCancel();
  }

  // Half-closes once everything is written.
  void Finish(absl::Duration limit) {
    absl::MutexLock lock(&mutex_);
    muted_ = true;
    half_close_wanted_ = true;
    WriteNext();
    mutex_.AwaitWithTimeout(absl::Condition(&done_), limit);
  }

  void OnReadDone(bool ok) override {
    if (ok) {
      Take();
      StartRead(&incoming_);
      return;
    }
    {
      absl::MutexLock lock(&mutex_);
      closed_ = true;
    }
    RemoveHold();
  }

  void OnWriteDone(bool ok) override {
    absl::MutexLock lock(&mutex_);
    writing_ = false;
    queue_.pop_front();
    if (ok) WriteNext();
  }

  void OnDone(const grpc::Status& status) override {
    const std::shared_ptr<Shared> shared = shared_;
    bool post = false;
    {
      absl::MutexLock lock(&mutex_);
      post = !muted_;
      done_ = true;
    }
    if (post) {
      shared->options.post(StreamLost{
          dial_, status.ok() ? "the coordinator closed the stream" : status.error_message(),
          parting_});
    }
    absl::MutexLock lock(&shared->mutex);
    over_ = true;  // From here on the session may destroy this call.
    --shared->open_calls;
  }

  // Guarded by Shared::mutex.
  bool over() const { return over_; }
  uint64_t dial() const { return dial_; }

 private:
  void WriteNext() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (closed_ || writing_) return;
    if (!queue_.empty()) {
      writing_ = true;
      StartWrite(&queue_.front());  // Stays in its place while others are pushed behind it.
    } else if (half_close_wanted_ && !half_closed_) {
      half_closed_ = true;
      StartWritesDone();
    }
  }

  void Take() {
    absl::StatusOr<CoordinatorMessage> message = DecodeCoordinatorMessage(incoming_);
    if (message.ok() && incoming_.has_welcome()) {
      const absl::Status job = shared_->options.on_job(incoming_.welcome().job(), message->term);
      if (!job.ok()) message = job;
    }
    parting_ = incoming_.has_goodbye() || incoming_.has_refuse() || incoming_.has_wait();
    if (message.ok()) {
      shared_->options.post(Received{dial_, *std::move(message)});
    } else {
      shared_->options.post(Malformed{dial_, std::string(message.status().message())});
    }
  }

  const uint64_t dial_;
  const std::shared_ptr<Shared> shared_;
  const std::unique_ptr<v1::Training::Stub> stub_;
  grpc::ClientContext context_;
  v1::CoordinatorMessage incoming_;
  bool parting_ = false;  // The last message was one after which the stream ends.
  bool over_ = false;

  absl::Mutex mutex_;
  std::deque<v1::WorkerMessage> queue_ ABSL_GUARDED_BY(mutex_);
  bool writing_ ABSL_GUARDED_BY(mutex_) = false;
  bool half_close_wanted_ ABSL_GUARDED_BY(mutex_) = false;
  bool half_closed_ ABSL_GUARDED_BY(mutex_) = false;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;  // No operation may start.
  bool muted_ ABSL_GUARDED_BY(mutex_) = false;
  bool done_ ABSL_GUARDED_BY(mutex_) = false;
};

Session::Session(SessionOptions options) : shared_(std::make_shared<Shared>()) {
  shared_->options = std::move(options);
}

Session::~Session() {
  for (const std::unique_ptr<Call>& call : calls_) call->Cancel();
  absl::MutexLock lock(&shared_->mutex);
  shared_->mutex.Await(absl::Condition(
      +[](Shared* shared) ABSL_NO_THREAD_SAFETY_ANALYSIS { return shared->open_calls == 0; },
      shared_.get()));
}

void Session::Open(uint64_t dial) {
  if (!calls_.empty()) calls_.back()->Cancel();
  std::shared_ptr<grpc::Channel> channel = shared_->options.make_channel();
  KeepForEver(channel);
  std::vector<std::unique_ptr<Call>> over;
  {
    absl::MutexLock lock(&shared_->mutex);
    shared_->channel.swap(channel);  // The former one goes at the end, not under the lock.
    const auto first_over =
        std::partition(calls_.begin(), calls_.end(),
                       [](const std::unique_ptr<Call>& call) { return !call->over(); });
    std::move(first_over, calls_.end(), std::back_inserter(over));
    calls_.erase(first_over, calls_.end());
  }
  calls_.push_back(std::make_unique<Call>(dial, shared_, Channel()));
  calls_.back()->Begin();
}

void Session::Close(uint64_t dial) {
  if (!calls_.empty() && calls_.back()->dial() == dial) calls_.back()->Cancel();
}

void Session::Send(const WorkerMessage& message) {
  if (!calls_.empty()) calls_.back()->Send(EncodeWorkerMessage(message));
}

void Session::Finish(absl::Duration limit) {
  if (!calls_.empty()) calls_.back()->Finish(limit);
}

std::shared_ptr<grpc::Channel> Session::Channel() {
  absl::MutexLock lock(&shared_->mutex);
  return shared_->channel;
}

std::shared_ptr<grpc::Channel> MakeSessionChannel(
    const std::string& target, const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
  grpc::ChannelArguments arguments;
  SetKeepalive(Keepalive(), &arguments);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetMaxReceiveMessageSize(kMessageBytesMax);
  arguments.SetMaxSendMessageSize(kMessageBytesMax);
  return grpc::CreateCustomChannel(target, credentials, arguments);
}

}  // namespace rondo::worker
