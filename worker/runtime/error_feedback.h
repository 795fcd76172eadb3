// What a member of a job with a sparse collective carries from reduction to reduction: its
// residual, which is what it had to give and the group did not take, and the sparse reduction that
// keeps it (rules 5, 9 and 18 of proto/RULES.md).
//   A residual has the unit of its mode: gradients in parallel mode, parameter deltas in local
// mode. An order of the other mode begins without it. A dense order takes all of it along in the
// next input that counts (`owed`), and it is gone once that is committed.
//   Reduce, Adopt and StageDelivery only stage; Commit belongs to the update: with each step in
// parallel mode, with the round's Commit in local mode.
// Threads: one, the trainer's. Memory: none until the first sparse order; then 8 bytes an element.
#ifndef RONDO_WORKER_RUNTIME_ERROR_FEEDBACK_H_
#define RONDO_WORKER_RUNTIME_ERROR_FEEDBACK_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "kernels/span.h"
#include "kernels/sparse_entry.h"
#include "worker/collectives/communicator.h"
#include "worker/collectives/reduction.h"
#include "worker/collectives/sparse/sparse_agreed.h"
#include "worker/collectives/sparse/sparse_allreduce.h"
#include "worker/collectives/sparse/sparse_reduction.h"
#include "worker/core/messages.h"
#include "worker/runtime/sparse_totals.h"

namespace rondo::worker {

struct FeedbackOptions {
  SparseSelect select = SparseSelect::kExact;
  Clock* clock = nullptr;  // Measures the stages; null: they take no time.
};

class ErrorFeedback {
 public:
  // Of vectors of `size` elements; the residual begins as zero.
  ErrorFeedback(int64_t size, FeedbackOptions options) : size_(size), options_(options) {}

  int64_t size() const { return size_; }

  // Before the first reduction of an order. Errors: InvalidArgument for more elements than a sparse
  // reduction can have.
  absl::Status BeginOrder(const Order& order);
  // Who reduces from here on. If they are not those of before, by rank and process, what those had
  // agreed on is forgotten; the residual stays. A group that a coordinator makes of the same
  // members when it has come back goes on with the same bits.
  void BeginGroup(const std::vector<Member>& members);
  // Whether the order in hand reduces sparsely.
  bool sparse() const { return sparse_; }

  // Sparse orders: as Reduction::Reduce, by SparseAllReduce or TopkGather.
  absl::Status Reduce(const CallId& call, const ReductionInput& input, DeviceSpan<float> mean,
                      absl::Duration timeout, Communicator* group);
  // The last one's result, for a member that failed in it; and that member's side. As
  // SparseReduction::Adopt.
  DeviceSpan<const SparseEntry> result() const;
  float factor_sum() const { return reduction_ ? reduction_->factor_sum() : 0; }
  absl::Status Adopt(DeviceSpan<const SparseEntry> entries, float factor_sum,
                     DeviceSpan<float> mean);
  // Of the order in hand; begins anew.
  SparseTotals TakeTotals() { return std::exchange(totals_, {}); }

  // Dense orders: what the next input must add to its values, [size]; empty: nothing.
  DeviceSpan<const float> owed();
  // An input with a factor has it: Commit clears it. Else nothing is staged.
  void StageDelivery(bool delivered);

  // What was staged holds. Nothing to do if nothing is.
  void Commit();
  // The residual is zero and nothing staged (rule 9).
  void Forget();
  // Rule 15. One scan.
  absl::Status ForgetUnlessFinite();

  // |residual|^2 in double; of the staged one, if there is one. One scan.
  absl::StatusOr<double> NormSquared();
  absl::StatusOr<double> StagedNormSquared();

  // For files; not between Reduce and Commit.
  struct Saved {
    Mode mode = Mode::kParallel;
    int64_t k = 1;
    SparseAgreed agreed = {};
  };
  // [size], or empty without a residual.
  DeviceSpan<float> residual();
  std::optional<Saved> Describe() const;
  // residual() is there afterwards, to be filled. Errors: InvalidArgument for a k below 1.
  absl::Status Restore(const Saved& saved);

 private:
  enum class Staged { kNone, kSparse, kDelivery };

  // The reduction of `kind`, with the residual of the one before.
  absl::Status UseReduction(Collective kind, int64_t k);
  absl::StatusOr<std::unique_ptr<SparseReduction>> MakeReduction(Collective kind, int64_t k) const;

  const int64_t size_;
  const FeedbackOptions options_;
  bool sparse_ = false;
  std::unique_ptr<SparseReduction> reduction_;  // While there may be a residual.
  Collective kind_ = Collective::kSparse;       // Of the reduction.
  Mode mode_ = Mode::kParallel;                 // Of the residual.
  Staged staged_ = Staged::kNone;
  SparseTotals totals_;
  std::vector<Member> members_;  // Of the last group.
};

}  // namespace rondo::worker

#endif  // RONDO_WORKER_RUNTIME_ERROR_FEEDBACK_H_
