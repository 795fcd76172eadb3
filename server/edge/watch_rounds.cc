#include "server/edge/watch_rounds.h"

#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "server/edge/grpc_status.h"
#include "server/edge/jobs_codec.h"

namespace rondo::server {
namespace {

constexpr uint64_t kPageRounds = 100;

}  // namespace

WatchRoundsReactor::WatchRoundsReactor(Coordinator* coordinator, JournalReader* journal,
                                       RoundId first, std::function<void()> on_done)
    : coordinator_(coordinator), journal_(journal), on_done_(std::move(on_done)), next_(first) {}

void WatchRoundsReactor::Begin() {
  bool from_now_on = false;
  {
    absl::MutexLock lock(&mutex_);
    from_now_on = !next_;
    if (from_now_on) busy_ = false;
  }
  coordinator_->AddWatcher(this);
  if (!from_now_on) FetchNext();
}

void WatchRoundsReactor::FetchNext() {
  for (;;) {
    RoundId from;
    {
      absl::MutexLock lock(&mutex_);
      missed_ = false;
      from = next_;
    }
    absl::StatusOr<std::vector<RoundRow>> rows = journal_->Rounds(from, kPageRounds);
    absl::MutexLock lock(&mutex_);
    if (!rows.ok()) {
      busy_ = false;
      return FinishOnce(ToGrpc(rows.status()));
    }
    if (!rows->empty()) {
      page_.assign(std::make_move_iterator(rows->begin()), std::make_move_iterator(rows->end()));
      return WriteFront();
    }
    if (!missed_) return BecomeIdle();
  }
}

void WatchRoundsReactor::WriteFront() {
  response_.Clear();
  EncodeRound(page_.front(), response_.mutable_round());
  next_ = page_.front().commit.round.Next();
  page_.pop_front();
  StartWrite(&response_);
}

void WatchRoundsReactor::BecomeIdle() {
  busy_ = false;
  if (over_) FinishOnce(grpc::Status::OK);
}

void WatchRoundsReactor::FinishOnce(const grpc::Status& status) {
  if (std::exchange(finished_, true)) return;
  Finish(status);
}

void WatchRoundsReactor::OnRound(const CommitRecord& commit) {
  absl::MutexLock lock(&mutex_);
  if (busy_) {
    missed_ = true;
    return;
  }
  if (finished_ || commit.round < next_) return;
  busy_ = true;
  page_.push_back({commit});
  WriteFront();
}

void WatchRoundsReactor::OnEnd() {
  absl::MutexLock lock(&mutex_);
  over_ = true;
  if (!busy_) FinishOnce(grpc::Status::OK);
}

void WatchRoundsReactor::OnWriteDone(bool ok) {
  {
    absl::MutexLock lock(&mutex_);
    if (!ok) {
      over_ = true;
      return BecomeIdle();
    }
    if (!page_.empty()) return WriteFront();
  }
  FetchNext();
}

void WatchRoundsReactor::OnCancel() {
  absl::MutexLock lock(&mutex_);
  over_ = true;
  if (!busy_) FinishOnce(grpc::Status::CANCELLED);
}

void WatchRoundsReactor::OnDone() {
  coordinator_->RemoveWatcher(this);
  const std::function<void()> on_done = on_done_;
  delete this;
  on_done();
}

}  // namespace rondo::server
