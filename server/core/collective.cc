#include "server/core/collective.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "common/density.h"
#include "server/core/control_bytes.h"
#include "server/core/plan.h"

namespace rondo::server {
namespace {

std::vector<double>* TrialsOf(Collective collective, CollectiveTrials* trials) {
  switch (collective) {
    case Collective::kRing:
      return &trials->ring;
    case Collective::kSparse:
      return &trials->sparse;
    case Collective::kAuto:
    case Collective::kTopkGather:
      break;
  }
  return nullptr;
}

// Without the first; of an even number the upper one of the two in the middle.
double Median(std::vector<double> seconds) {
  if (seconds.size() < 2) return 0;
  seconds.erase(seconds.begin());
  const auto middle = seconds.begin() + static_cast<ptrdiff_t>(seconds.size() / 2);
  std::nth_element(seconds.begin(), middle, seconds.end());
  return *middle;
}

// To four digits, in the unit that suits.
std::string Duration(double seconds) {
  return seconds < 1 ? fmt::format("{:.4g} ms", seconds * 1e3) : fmt::format("{:.4g} s", seconds);
}

}  // namespace

double DensityAt(const CollectiveConfig& config, uint64_t step) {
  if (config.kind == Collective::kRing) return 0;
  if (step >= config.warmup_steps) return config.density;
  const double share = static_cast<double>(step) / static_cast<double>(config.warmup_steps);
  const double density =
      config.warmup_density * std::pow(config.density / config.warmup_density, share);
  return std::clamp(density, config.density, config.warmup_density);
}

void AddTrial(const CommitRecord& commit, CollectiveTrials* trials) {
  std::vector<double>* of = TrialsOf(commit.collective, trials);
  if (of == nullptr || of->size() >= kTrialsEach) return;
  // In a retry of a local round contributors are missing, in a repaired parallel one members.
  const bool alone = commit.contributors.size() < 2 || commit.members.size() < 2;
  if (alone || commit.reductions == 0) return;
  of->push_back(commit.reduce_seconds / static_cast<double>(commit.reductions));
}

double RingSeconds(const CollectiveTrials& trials) { return Median(trials.ring); }
double SparseSeconds(const CollectiveTrials& trials) { return Median(trials.sparse); }

double SlowestTrial(const CollectiveTrials& trials) {
  double slowest = 0;
  for (const double seconds : trials.ring) slowest = std::max(slowest, seconds);
  for (const double seconds : trials.sparse) slowest = std::max(slowest, seconds);
  return slowest;
}

std::optional<Collective> FasterOf(const CollectiveTrials& trials) {
  if (trials.ring.size() < kTrialsEach || trials.sparse.size() < kTrialsEach) return std::nullopt;
  return SparseSeconds(trials) < RingSeconds(trials) ? Collective::kSparse : Collective::kRing;
}

CollectiveDecision DecideCollective(const CollectiveConfig& config, const CollectiveTrials& trials,
                                    size_t members, uint64_t step) {
  if (config.kind != Collective::kAuto) return {config.kind, DensityAt(config, step)};
  const bool sparse_is_next = members > 1 && trials.sparse.size() < trials.ring.size();
  const Collective chosen =
      FasterOf(trials).value_or(sparse_is_next ? Collective::kSparse : Collective::kRing);
  return {chosen, chosen == Collective::kSparse ? config.density : 0};
}

int64_t EntryBytesPerSync(Collective kind, int64_t workers, int64_t parameters, double density) {
  switch (kind) {
    case Collective::kRing:
    case Collective::kAuto:
      return 0;
    case Collective::kSparse:
      return SparseBytesPerSync(workers, EntriesFor(parameters, density));
    case Collective::kTopkGather:
      return GatherBytesPerSync(workers, EntriesFor(parameters, density));
  }
  return 0;
}

int64_t BytesPerSync(Collective kind, int64_t workers, int64_t parameters, double density) {
  const int64_t entries = EntryBytesPerSync(kind, workers, parameters, density);
  switch (kind) {
    case Collective::kRing:
    case Collective::kAuto:
      return RingBytesPerSync(workers, parameters);
    case Collective::kSparse:
      return entries + SparseControlBytesPerSync(workers, parameters);
    case Collective::kTopkGather:
      return entries + GatherControlBytesPerSync(workers);
  }
  return 0;
}

std::string TellChoice(const CollectiveConfig& config, const CollectiveTrials& trials) {
  if (config.kind != Collective::kAuto) return "";
  const std::optional<Collective> faster = FasterOf(trials);
  if (!faster) {
    return fmt::format(
        "auto: ring and sparse take turns while they are measured, {} and {} of {} rounds so far",
        trials.ring.size(), trials.sparse.size(), kTrialsEach);
  }
  return fmt::format(
      "auto: {} stays: a reduction took {} by ring and {} by sparse at density {} (medians of {} "
      "rounds each)",
      NameOf(*faster), Duration(RingSeconds(trials)), Duration(SparseSeconds(trials)),
      config.density, kTrialsEach - 1);
}

std::string NameOf(Collective collective) {
  switch (collective) {
    case Collective::kRing:
      return "ring";
    case Collective::kSparse:
      return "sparse";
    case Collective::kAuto:
      return "auto";
    case Collective::kTopkGather:
      return "topk_gather";
  }
  return "unknown";
}

}  // namespace rondo::server
