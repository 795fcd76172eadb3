// The state of one member of a group, three times over:
//   working   what the engine's next step reads and writes
//   base      the working values when the open round began (rule 5): where a dropped order goes
//             back to, what joiners are given during a retry
//   staging   a reduce's result, until Commit or Abort
// Layout of base and staging: [parameters | float buffers | moments, if the job averages them], and
// the integer buffers beside it. Working values change only by the engine's and the optimizer's
// steps and at Commit. Memory: two copies of that beside the engine's. In a job with a sparse
// collective the member's residual goes with it (worker/runtime/error_feedback).
// Threads: one, the engine's. Errors: Internal, from kernels; the state is then lost.
#ifndef RONDO_WORKER_RUNTIME_MEMBER_STATE_H_
#define RONDO_WORKER_RUNTIME_MEMBER_STATE_H_

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/flat_floats.h"
#include "kernels/span.h"
#include "worker/engine/engine.h"
#include "worker/engine/optimizer.h"
#include "worker/runtime/error_feedback.h"

namespace rondo::worker {

class MemberState {
 public:
  MemberState(std::unique_ptr<Engine> engine, std::unique_ptr<Optimizer> optimizer,
              StatePolicy policy, FeedbackOptions feedback = {});

  Engine& engine() { return *engine_; }
  Optimizer& optimizer() { return *optimizer_; }
  // Of the parameters.
  ErrorFeedback& feedback() { return feedback_; }

  // Before a round's first step: base = working. Costs nothing when nothing has changed since the
  // last commit of a local round.
  void KeepBase();
  // After a dropped order: working parameters and buffers = base. Moments stay.
  void RestoreBase();
  bool has_base() const { return has_base_; }

  // Parallel mode: a step's forward pass changes buffers before its collective succeeds.
  // KeepBuffers before it; DoneStep after the step; RestoreBuffers before a step that is begun
  // again, which costs nothing when none was left undone.
  void KeepBuffers();
  void DoneStep() { step_begun_ = false; }
  void RestoreBuffers();
  // Parameters or buffers are about to change by other means than Commit: base is void.
  void ForgetBase() { has_base_ = false; }

  // All floats that a local round's dense reduce averages; a sparse one averages only those behind
  // the parameters so.
  DeviceSpan<float> staging() { return Whole(staging_); }
  DeviceSpan<float> staged_rest() {
    return Whole(staging_).Sub(parameters_, static_cast<int64_t>(staging_.size()) - parameters_);
  }
  DeviceSpan<float> staged_parameters() { return Whole(staging_).Sub(0, parameters_); }
  DeviceSpan<float> staged_buffers() { return Whole(staging_).Sub(parameters_, buffers_); }
  std::span<int64_t> staged_integers() { return staged_integers_; }
  // staging = factor * working, each element rounded once; a copy when factor is 1. What the
  // feedback owes is added.
  absl::Status StageWorking(float factor);
  // The same, but staged parameters = working - base: what a sparse reduce is given. base is kept.
  absl::Status StageDelta(float factor);
  // Staged parameters = base + mean, [parameters].
  absl::Status StageFromBase(DeviceSpan<const float> mean);
  // staging = 0: what a member that is not finite contributes.
  void StageZeros();

  // Working = staging: parameters, buffers and, by the policy, moments; and the residual.
  void CommitAll();
  // After a parallel round: only the buffers were staged.
  void CommitBuffers();

  // State hash (kernels/state_hash.h) and norm of parameters and float buffers.
  absl::StatusOr<uint64_t> HashWorking();
  absl::StatusOr<uint64_t> HashBase();
  // Multiplies what is staged by `factor` and hashes the result as HashStaged does, in one scan.
  absl::StatusOr<uint64_t> ScaleStaged(float factor);
  absl::StatusOr<uint64_t> HashStaged();
  // Of the working parameters with the staged buffers.
  absl::StatusOr<uint64_t> HashAfterSteps();
  // Of the working parameters alone: members in the middle of a parallel round agree on it, while
  // their buffers still differ.
  absl::StatusOr<uint64_t> HashParameters();
  absl::StatusOr<bool> MomentsAreFinite();

  // What a giver passes on and a taker overwrites: working values, or base while an order is open.
  DeviceSpan<float> given_parameters(bool base);
  DeviceSpan<float> given_buffers(bool base);
  std::span<int64_t> given_integers(bool base);

 private:
  DeviceSpan<float> Whole(FlatFloats& flat) {
    return {flat.data(), static_cast<int64_t>(flat.size())};
  }
  void CopyWorkingTo(float* flat);
  absl::Status StageRest(float factor);

  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Optimizer> optimizer_;
  const StatePolicy policy_;
  const int64_t parameters_;
  const int64_t buffers_;
  ErrorFeedback feedback_;
  std::vector<DeviceSpan<float>> averaged_moments_;  // Empty unless the job averages them.
  FlatFloats base_;
  FlatFloats staging_;
  std::vector<int64_t> base_integers_;
  std::vector<int64_t> staged_integers_;
  bool has_base_ = false;
  // Of the step in work.
  std::vector<float> kept_buffers_;
  std::vector<int64_t> kept_integers_;
  bool step_begun_ = false;
};

}  // namespace rondo::worker

#endif  // RONDO_WORKER_RUNTIME_MEMBER_STATE_H_
