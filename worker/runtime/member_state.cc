#include "worker/runtime/member_state.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/status_macros.h"
#include "kernels/accumulate.h"
#include "kernels/norm.h"
#include "kernels/state_hash.h"

namespace rondo::worker {
namespace {

void Copy(DeviceSpan<float> to, const float* from) {
  if (to.size > 0) std::memcpy(to.data, from, static_cast<size_t>(to.size) * sizeof(float));
}

absl::Status StageScaled(DeviceSpan<float> place, float factor, DeviceSpan<const float> part) {
  if (factor != 1) return AssignScaled(place, factor, part);
  Copy(place, part.data);
  return absl::OkStatus();
}

absl::StatusOr<uint64_t> HashOf(DeviceSpan<const float> parameters,
                                DeviceSpan<const float> buffers) {
  ASSIGN_OR_RETURN(const uint64_t first, StateHash(parameters, 0));
  ASSIGN_OR_RETURN(const uint64_t second,
                   StateHash(buffers, static_cast<uint64_t>(parameters.size)));
  return first + second;
}

}  // namespace

MemberState::MemberState(std::unique_ptr<Engine> engine, std::unique_ptr<Optimizer> optimizer,
                         StatePolicy policy, FeedbackOptions feedback)
    : engine_(std::move(engine)),
      optimizer_(std::move(optimizer)),
      policy_(policy),
      parameters_(engine_->parameters().size),
      buffers_(engine_->float_buffers().size),
      feedback_(parameters_, feedback) {
  if (policy_ == StatePolicy::kAverage) averaged_moments_ = optimizer_->moments();
  size_t size = static_cast<size_t>(parameters_ + buffers_);
  for (const DeviceSpan<float>& moment : averaged_moments_)
    size += static_cast<size_t>(moment.size);
  base_.resize(size);
  staging_.resize(size);
  base_integers_.resize(engine_->integer_buffers().size());
  staged_integers_.resize(engine_->integer_buffers().size());
}

void MemberState::CopyWorkingTo(float* flat) {
  const DeviceSpan<float> parameters = engine_->parameters();
  const DeviceSpan<float> buffers = engine_->float_buffers();
  Copy({flat, parameters_}, parameters.data);
  Copy({flat + parameters_, buffers_}, buffers.data);
}

void MemberState::KeepBase() {
  if (has_base_) return;
  CopyWorkingTo(base_.data());
  const std::span<int64_t> integers = engine_->integer_buffers();
  std::copy(integers.begin(), integers.end(), base_integers_.begin());
  has_base_ = true;
}

void MemberState::KeepBuffers() {
  const DeviceSpan<float> buffers = engine_->float_buffers();
  kept_buffers_.resize(static_cast<size_t>(buffers.size));
  Copy({kept_buffers_.data(), buffers.size}, buffers.data);
  const std::span<int64_t> integers = engine_->integer_buffers();
  kept_integers_.assign(integers.begin(), integers.end());
  step_begun_ = true;
}

void MemberState::RestoreBuffers() {
  if (!step_begun_) return;
  step_begun_ = false;
  Copy(engine_->float_buffers(), kept_buffers_.data());
  std::copy(kept_integers_.begin(), kept_integers_.end(), engine_->integer_buffers().begin());
}

void MemberState::RestoreBase() {
  step_begun_ = false;
  if (!has_base_) return;
  Copy(engine_->parameters(), base_.data());
  Copy(engine_->float_buffers(), base_.data() + parameters_);
  std::copy(base_integers_.begin(), base_integers_.end(), engine_->integer_buffers().begin());
}

absl::Status MemberState::StageWorking(float factor) {
  RETURN_IF_ERROR(StageScaled(staged_parameters(), factor, engine_->parameters()));
  const DeviceSpan<const float> owed = feedback_.owed();
  if (owed.size > 0) RETURN_IF_ERROR(Add(staged_parameters(), owed));
  return StageRest(factor);
}

absl::Status MemberState::StageDelta(float factor) {
  RETURN_IF_ERROR(Difference({.left = engine_->parameters(),
                              .right = given_parameters(/*base=*/true),
                              .result = staged_parameters()}));
  return StageRest(factor);
}

absl::Status MemberState::StageFromBase(DeviceSpan<const float> mean) {
  return Sum(
      {.left = given_parameters(/*base=*/true), .right = mean, .result = staged_parameters()});
}

absl::Status MemberState::StageRest(float factor) {
  const std::span<int64_t> integers = engine_->integer_buffers();
  std::copy(integers.begin(), integers.end(), staged_integers_.begin());
  RETURN_IF_ERROR(StageScaled(staged_buffers(), factor, engine_->float_buffers()));
  int64_t at = parameters_ + buffers_;
  for (const DeviceSpan<float>& moment : averaged_moments_) {
    RETURN_IF_ERROR(StageScaled(staging().Sub(at, moment.size), factor, moment));
    at += moment.size;
  }
  return absl::OkStatus();
}

void MemberState::StageZeros() {
  std::fill(staging_.begin(), staging_.end(), 0.0f);
  const std::span<int64_t> integers = engine_->integer_buffers();
  std::copy(integers.begin(), integers.end(), staged_integers_.begin());
}

void MemberState::CommitAll() {
  Copy(engine_->parameters(), staging_.data());
  Copy(engine_->float_buffers(), staging_.data() + parameters_);
  std::copy(staged_integers_.begin(), staged_integers_.end(), engine_->integer_buffers().begin());
  int64_t at = parameters_ + buffers_;
  for (const DeviceSpan<float>& moment : averaged_moments_) {
    Copy(moment, staging_.data() + at);
    at += moment.size;
  }
  if (policy_ == StatePolicy::kReset) optimizer_->Reset();
  // What is committed is the next round's base: no copy then.
  base_.swap(staging_);
  base_integers_.swap(staged_integers_);
  has_base_ = true;
  feedback_.Commit();
}

void MemberState::CommitBuffers() {
  Copy(engine_->float_buffers(), staged_buffers().data);
  std::copy(staged_integers_.begin(), staged_integers_.end(), engine_->integer_buffers().begin());
  has_base_ = false;
}

absl::StatusOr<uint64_t> MemberState::HashWorking() {
  return HashOf(engine_->parameters(), engine_->float_buffers());
}
absl::StatusOr<uint64_t> MemberState::HashBase() {
  return HashOf(given_parameters(true), given_buffers(true));
}
absl::StatusOr<uint64_t> MemberState::HashStaged() {
  return HashOf(staged_parameters(), staged_buffers());
}
absl::StatusOr<uint64_t> MemberState::ScaleStaged(float factor) {
  constexpr int64_t kBlock = 1 << 15;             // 128 KB: still in the cache when it is hashed.
  const int64_t hashed = parameters_ + buffers_;  // Moments behind them are not part of the hash.
  const DeviceSpan<float> all = staging();
  uint64_t hash = 0;
  for (int64_t first = 0; first < all.size; first += kBlock) {
    const int64_t count = std::min(kBlock, all.size - first);
    RETURN_IF_ERROR(Scale(all.Sub(first, count), factor));
    const int64_t part = std::clamp<int64_t>(hashed - first, 0, count);
    ASSIGN_OR_RETURN(const uint64_t sum,
                     StateHash(all.Sub(first, part), static_cast<uint64_t>(first)));
    hash += sum;
  }
  return hash;
}
absl::StatusOr<uint64_t> MemberState::HashAfterSteps() {
  return HashOf(engine_->parameters(), staged_buffers());
}

absl::StatusOr<uint64_t> MemberState::HashParameters() {
  return StateHash(DeviceSpan<const float>(engine_->parameters()), 0);
}

absl::StatusOr<bool> MemberState::MomentsAreFinite() {
  for (const DeviceSpan<float>& moment : optimizer_->moments()) {
    ASSIGN_OR_RETURN(const bool finite, IsFinite(moment));
    if (!finite) return false;
  }
  return true;
}

DeviceSpan<float> MemberState::given_parameters(bool base) {
  return base ? Whole(base_).Sub(0, parameters_) : engine_->parameters();
}
DeviceSpan<float> MemberState::given_buffers(bool base) {
  return base ? Whole(base_).Sub(parameters_, buffers_) : engine_->float_buffers();
}
std::span<int64_t> MemberState::given_integers(bool base) {
  return base ? std::span<int64_t>(base_integers_) : engine_->integer_buffers();
}

}  // namespace rondo::worker
