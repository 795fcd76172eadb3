// For tests: all members of a group that reduces sparsely, each a thread over loopback TCP.
#ifndef RONDO_WORKER_COLLECTIVES_SPARSE_SPARSE_MEMBERS_H_
#define RONDO_WORKER_COLLECTIVES_SPARSE_SPARSE_MEMBERS_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "kernels/sparse_oracle.h"
#include "worker/collectives/sparse/plain_sparse.h"
#include "worker/collectives/sparse/sparse_allreduce.h"
#include "worker/collectives/tcp/loopback_group.h"

namespace rondo {

// Groups of each size, connected once a test program.
LoopbackGroup& GroupOf(int ranks);
std::unique_ptr<LoopbackGroup> NewGroupOf(int ranks);

class SparseMembers {
 public:
  // Residuals begin as zeros.
  SparseMembers(int ranks, const SparseSpec& spec);

  int size() const { return static_cast<int>(members_.size()); }
  SparseAllReduce& member(int rank) { return *members_[static_cast<size_t>(rank)]; }

  // One Reduce of every member, in round 1; the statuses in rank order. Without a commit.
  std::vector<absl::Status> Reduce(LoopbackGroup& group, const Vectors& values,
                                   const std::vector<float>& factors, int64_t step,
                                   absl::Duration timeout = absl::Seconds(60));
  void Commit();

  // Of the last Reduce.
  const std::vector<float>& mean(int rank) const { return means_[static_cast<size_t>(rank)]; }
  std::vector<PlainEntry> delivered(int rank);
  Vectors Residuals();
  void SetResiduals(const Vectors& residuals);

 private:
  std::vector<std::unique_ptr<SparseAllReduce>> members_;
  Vectors means_;
};

// Values of every rank: the same for one seed.
Vectors ValuesOf(Shape shape, int ranks, int64_t size, uint32_t seed);

}  // namespace rondo

#endif  // RONDO_WORKER_COLLECTIVES_SPARSE_SPARSE_MEMBERS_H_
