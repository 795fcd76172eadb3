#include "server/edge/comm_codec.h"

#include <optional>

namespace rondo::server {
namespace {

// The core's phases stand in the wire's order, less UNSPECIFIED.
static_assert(static_cast<int>(CostPhase::kReduceScatter) + 1 == v1::PHASE_REDUCE_SCATTER);
static_assert(static_cast<int>(CostPhase::kReduce) + 1 == v1::PHASE_REDUCE);
static_assert(static_cast<int>(CostPhase::kApply) + 1 == v1::PHASE_APPLY);

double MeanOf(double sum, uint64_t count) {
  return count == 0 ? 0 : sum / static_cast<double>(count);
}

}  // namespace

v1::CollectiveKind EncodeCollective(Collective collective) {
  switch (collective) {
    case Collective::kRing:
      return v1::COLLECTIVE_KIND_RING;
    case Collective::kSparse:
      return v1::COLLECTIVE_KIND_SPARSE;
    case Collective::kAuto:
      return v1::COLLECTIVE_KIND_AUTO;
    case Collective::kTopkGather:
      return v1::COLLECTIVE_KIND_TOPK_GATHER;
  }
  return v1::COLLECTIVE_KIND_UNSPECIFIED;
}

void EncodeCost(const PhaseCost& cost, v1::PhaseCost* out) {
  out->set_phase(static_cast<v1::Phase>(static_cast<int>(cost.phase) + 1));
  out->set_bytes_sent(cost.bytes_sent);
  out->set_bytes_received(cost.bytes_received);
  out->set_header_bytes_sent(cost.header_bytes_sent);
  out->set_seconds(cost.seconds);
  out->set_calls(cost.calls);
}

void EncodeSparse(const SparseSummary& summary, v1::SparseRound* out) {
  out->set_reductions(summary.reductions);
  out->set_entries_selected(summary.entries_selected);
  out->set_entries_delivered(summary.entries_delivered);
  out->set_select_seconds(summary.select_seconds);
  out->set_imbalance(summary.imbalance);
  out->set_residual_norm(summary.residual_norm);
  out->set_entry_bytes_sent(summary.entry_bytes_sent);
  out->set_control_bytes_sent(summary.control_bytes_sent);
  out->set_cuts(summary.cuts);
  out->set_rebalanced(summary.rebalanced);
}

void EncodeReductions(const CommitRecord& commit, v1::Round* out) {
  out->set_collective(EncodeCollective(commit.collective));
  out->set_density(commit.density);
  for (const PhaseCost& cost : commit.costs) EncodeCost(cost, out->add_costs());
  const std::optional<SparseSummary> sparse = SummaryOf(commit);
  if (sparse) EncodeSparse(*sparse, out->mutable_sparse());
}

void EncodeTotals(const CommStats& stats, v1::CommStats* out) {
  for (const CollectiveTotals& total : stats.totals()) {
    v1::CollectiveStats* each = out->add_collectives();
    each->set_collective(EncodeCollective(total.collective));
    each->set_rounds(total.rounds);
    each->set_reductions(total.reductions);
    each->set_bytes_sent(total.bytes_sent);
    each->set_reduce_seconds(total.reduce_seconds);
    each->set_seconds_each(MeanOf(total.reduce_seconds, total.reductions));
    for (const PhaseCost& cost : total.costs) EncodeCost(cost, each->add_costs());
    each->set_entries_selected(MeanOf(total.entries_selected, total.reductions));
    each->set_entries_delivered(MeanOf(total.entries_delivered, total.reductions));
    each->set_imbalance(MeanOf(total.imbalance, total.rounds));
  }
}

}  // namespace rondo::server
