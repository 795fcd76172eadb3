#include "worker/collectives/sparse/sparse_report.h"

namespace rondo {
namespace {

constexpr bool CarriesEntries(SparseStage stage) {
  return stage == SparseStage::kSplit || stage == SparseStage::kBalance ||
         stage == SparseStage::kGather;
}

int64_t PayloadSent(const SparseReport& report, bool entries) {
  int64_t bytes = 0;
  for (int stage = 0; stage < kSparseStages; ++stage) {
    if (CarriesEntries(static_cast<SparseStage>(stage)) != entries) continue;
    bytes += report.costs[stage].traffic.payload_bytes_sent;
  }
  return bytes;
}

}  // namespace

std::string_view NameOf(SparseStage stage) {
  switch (stage) {
    case SparseStage::kSelect:
      return "select";
    case SparseStage::kAgree:
      return "agree";
    case SparseStage::kSplit:
      return "split";
    case SparseStage::kThreshold:
      return "threshold";
    case SparseStage::kBalance:
      return "balance";
    case SparseStage::kGather:
      return "gather";
    case SparseStage::kApply:
      return "apply";
  }
  return "unknown stage";
}

int64_t SparseReport::entry_bytes_sent() const { return PayloadSent(*this, true); }
int64_t SparseReport::control_bytes_sent() const { return PayloadSent(*this, false); }

int64_t SparseReport::entry_bytes_received() const {
  int64_t bytes = 0;
  for (int stage = 0; stage < kSparseStages; ++stage) {
    if (!CarriesEntries(static_cast<SparseStage>(stage))) continue;
    bytes += costs[stage].traffic.payload_bytes_received;
  }
  return bytes;
}

StageMeter::StageMeter(const Communicator& group, Clock* clock, SparseReport* report)
    : group_(group), clock_(clock), report_(report), before_(group.Counters()), began_(Now()) {}

void StageMeter::Charge(SparseStage stage) {
  const TrafficCounters now = group_.Counters();
  StageCost& cost = report_->costs[static_cast<int>(stage)];
  cost.traffic += now - before_;
  const absl::Time ended = Now();
  cost.time += ended - began_;
  before_ = now;
  began_ = ended;
}

}  // namespace rondo
