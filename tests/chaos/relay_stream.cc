#include "tests/chaos/relay_stream.h"

#include <utility>

namespace rondo::chaos {

RelayStream::RelayStream(RelayStreamParts parts) : parts_(std::move(parts)) {
  StartRead(&incoming_);
  carrier_ = std::thread([this] { Run(); });
}

RelayStream::~RelayStream() {
  carrier_.join();
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(&done_));
}

void RelayStream::OnReadDone(bool ok) {
  absl::MutexLock lock(&mutex_);
  if (!ok) {
    worker_ended_ = true;
    return;
  }
  from_worker_.push_back(std::move(incoming_));
  incoming_.Clear();
  StartRead(&incoming_);
}

void RelayStream::OnWriteDone(bool ok) {
  absl::MutexLock lock(&mutex_);
  writing_ = false;
  to_worker_.pop_front();
  if (!ok) to_worker_.clear();
  WriteNext();
}

void RelayStream::OnCancel() { onward_.TryCancel(); }

void RelayStream::OnDone() {
  absl::MutexLock lock(&mutex_);
  done_ = true;
}

bool RelayStream::over() {
  absl::MutexLock lock(&mutex_);
  return done_ && carried_;
}

void RelayStream::WriteNext() {
  if (writing_ || finished_) return;
  if (!to_worker_.empty()) {
    writing_ = true;
    StartWrite(&to_worker_.front());
  } else if (end_) {
    finished_ = true;
    Finish(*end_);
  }
}

void RelayStream::End(const grpc::Status& status) {
  absl::MutexLock lock(&mutex_);
  end_ = status;
  WriteNext();
}

std::optional<v1::WorkerMessage> RelayStream::NextFromWorker() {
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(
      +[](RelayStream* self) ABSL_NO_THREAD_SAFETY_ANALYSIS {
        return self->worker_ended_ || self->end_ || !self->from_worker_.empty();
      },
      this));
  if (from_worker_.empty() || end_) return std::nullopt;
  v1::WorkerMessage message = std::move(from_worker_.front());
  from_worker_.pop_front();
  return message;
}

void RelayStream::Run() {
  CarryOn();
  absl::MutexLock lock(&mutex_);
  carried_ = true;
}

void RelayStream::CarryOn() {
  std::optional<v1::WorkerMessage> message = NextFromWorker();
  if (!message) return End(grpc::Status::OK);
  worker_ = message->hello().name();
  stub_ = parts_.dial();
  if (stub_ == nullptr) {
    return End({grpc::StatusCode::UNAVAILABLE, "the relay has no coordinator"});
  }
  coordinator_ = stub_->Attend(&onward_);
  std::thread back([this] { CarryBack(); });
  for (; message; message = NextFromWorker()) {
    if (!parts_.pass_on(worker_, &*message)) {
      onward_.TryCancel();  // Nothing arrives on a stream that has lost what went before.
      break;
    }
    if (!coordinator_->Write(*message)) break;
  }
  coordinator_->WritesDone();
  back.join();
}

void RelayStream::CarryBack() {
  v1::CoordinatorMessage message;
  while (coordinator_->Read(&message)) {
    if (!parts_.pass_back(worker_, &message)) {
      onward_.TryCancel();
      break;
    }
    absl::MutexLock lock(&mutex_);
    to_worker_.push_back(message);
    WriteNext();
  }
  End(coordinator_->Finish());
}

}  // namespace rondo::chaos
