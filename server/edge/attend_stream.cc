#include "server/edge/attend_stream.h"

#include <fmt/format.h>

#include <chrono>
#include <utility>

#include "common/log.h"

namespace rondo::server {

AttendStream::AttendStream(StreamId id, grpc::CallbackServerContext* context,
                           const StreamLimits& limits, StreamListener listener)
    : id_(id), context_(context), limits_(limits), listener_(std::move(listener)) {}

void AttendStream::Begin() { StartRead(&incoming_); }

void AttendStream::OnReadDone(bool ok) {
  if (ok) {
    listener_.received(id_, incoming_);
    StartRead(&incoming_);
    return;
  }
  std::string why;
  {
    absl::MutexLock lock(&mutex_);
    why = why_;
    BeginClosing(grpc::Status::OK);
  }
  listener_.closed(id_, why);
}

void AttendStream::Send(v1::CoordinatorMessage message) {
  absl::MutexLock lock(&mutex_);
  if (closing_ || finished_) return;
  queue_bytes_ += message.ByteSizeLong();
  queue_.push_back(std::move(message));
  if (queue_.size() > limits_.queue_messages || queue_bytes_ > limits_.queue_bytes) {
    Cut(fmt::format("it reads too slowly: {} messages, {} bytes wait for it, limits {} and {}",
                    queue_.size(), queue_bytes_, limits_.queue_messages, limits_.queue_bytes));
    return;
  }
  if (!writing_) WriteNext();
}

void AttendStream::Close(const std::string& reason) {
  absl::MutexLock lock(&mutex_);
  if (!reason.empty() && !closing_) why_ = reason;
  BeginClosing(reason.empty() ? grpc::Status::OK : grpc::Status(grpc::StatusCode::ABORTED, reason));
}

void AttendStream::BeginClosing(const grpc::Status& status) {
  if (closing_ || finished_) return;
  closing_ = true;
  final_status_ = status;
  FinishWhenIdle();
  if (finished_) return;
  // What is queued must be read soon. The alarm keeps its callback as long as it lives itself, so
  // that must not own the stream, whose part the alarm is.
  flush_alarm_.Set(std::chrono::system_clock::now() + std::chrono::seconds(limits_.flush_seconds),
                   [weak = weak_from_this()](bool rang) {
                     const std::shared_ptr<AttendStream> self = weak.lock();
                     if (!rang || self == nullptr) return;
                     absl::MutexLock lock(&self->mutex_);
                     self->Cut(fmt::format("it did not read its last messages within {} s",
                                           self->limits_.flush_seconds));
                   });
}

void AttendStream::Cut(const std::string& reason) {
  if (done_) return;
  LogEvent(LogLevel::kWarning, "stream_cut", {{"stream", fmt::to_string(id_)}, {"text", reason}});
  why_ = reason;
  closing_ = true;
  final_status_ = grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, reason);
  // What is not being written is dropped; the write and the read in hand fail at once.
  if (queue_.size() > (writing_ ? 1u : 0u)) queue_.resize(writing_ ? 1 : 0);
  context_->TryCancel();
  FinishWhenIdle();
}

void AttendStream::WriteNext() {
  if (queue_.empty()) return FinishWhenIdle();
  writing_ = true;
  StartWrite(&queue_.front());
}

void AttendStream::FinishWhenIdle() {
  if (!closing_ || finished_ || writing_ || !queue_.empty()) return;
  finished_ = true;
  Finish(final_status_);
}

void AttendStream::OnWriteDone(bool ok) {
  absl::MutexLock lock(&mutex_);
  writing_ = false;
  if (ok) {
    queue_bytes_ -= queue_.front().ByteSizeLong();
    queue_.pop_front();
  } else {
    // The worker is gone; OnReadDone says so to the listener.
    if (!closing_) final_status_ = grpc::Status(grpc::StatusCode::UNAVAILABLE, why_);
    closing_ = true;
    queue_.clear();
  }
  WriteNext();
}

void AttendStream::OnDone() {
  const std::shared_ptr<AttendStream> self = shared_from_this();
  {
    absl::MutexLock lock(&mutex_);
    done_ = true;
  }
  flush_alarm_.Cancel();
  listener_.gone(id_);
}

}  // namespace rondo::server
