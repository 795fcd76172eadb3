#include "worker/collectives/sparse/sparse_members.h"

#include <algorithm>
#include <map>
#include <utility>

#include "common/status_matchers.h"
#include "kernels/span.h"
#include "kernels/sparse_entry.h"
#include "worker/collectives/communicator.h"
#include "worker/collectives/reduction.h"

namespace rondo {

std::unique_ptr<LoopbackGroup> NewGroupOf(int ranks) {
  auto group = LoopbackGroup::Make({.ranks = ranks});
  EXPECT_OK(group);
  return *std::move(group);
}

LoopbackGroup& GroupOf(int ranks) {
  static auto& groups = *new std::map<int, std::unique_ptr<LoopbackGroup>>();
  std::unique_ptr<LoopbackGroup>& group = groups[ranks];
  if (group == nullptr) group = NewGroupOf(ranks);
  return *group;
}

SparseMembers::SparseMembers(int ranks, const SparseSpec& spec)
    : means_(static_cast<size_t>(ranks), std::vector<float>(static_cast<size_t>(spec.size))) {
  for (int rank = 0; rank < ranks; ++rank) {
    auto member = SparseAllReduce::Make(spec, nullptr);
    EXPECT_OK(member);
    members_.push_back(*std::move(member));
  }
}

std::vector<absl::Status> SparseMembers::Reduce(LoopbackGroup& group, const Vectors& values,
                                                const std::vector<float>& factors, int64_t step,
                                                absl::Duration timeout) {
  const CallId call{.round = 1, .attempt_or_step = step, .phase = Phase::kGradients};
  return group.Run([&](Communicator& communicator) {
    const auto rank = static_cast<size_t>(communicator.rank());
    const auto size = static_cast<int64_t>(values[rank].size());
    return members_[rank]->Reduce(
        call, {.values = {values[rank].data(), size}, .factor = factors[rank]},
        {means_[rank].data(), static_cast<int64_t>(means_[rank].size())}, timeout, &communicator);
  });
}

void SparseMembers::Commit() {
  for (const auto& member : members_) member->Commit();
}

std::vector<PlainEntry> SparseMembers::delivered(int rank) {
  const DeviceSpan<const SparseEntry> result = member(rank).result();
  return PlainOf(result.data, result.size);
}

Vectors SparseMembers::Residuals() {
  Vectors residuals;
  for (const auto& member : members_) {
    const DeviceSpan<float> residual = member->residual();
    residuals.emplace_back(residual.data, residual.data + residual.size);
  }
  return residuals;
}

void SparseMembers::SetResiduals(const Vectors& residuals) {
  for (size_t rank = 0; rank < members_.size(); ++rank) {
    std::copy(residuals[rank].begin(), residuals[rank].end(), members_[rank]->residual().data);
  }
}

Vectors ValuesOf(Shape shape, int ranks, int64_t size, uint32_t seed) {
  Vectors values;
  for (int rank = 0; rank < ranks; ++rank) {
    values.push_back(FloatsOf(shape, size, seed * 1000 + static_cast<uint32_t>(rank)));
  }
  return values;
}

}  // namespace rondo
