// Which collective a round has, and at which density. For kind auto: dense and sparse take turns in
// the first rounds, what they cost is measured there, on the job's own vector over its own network,
// and the faster one stays. Pure; what was measured is in the journal's commits, so that a later
// term and a replay decide alike.
#ifndef RONDO_SERVER_CORE_COLLECTIVE_H_
#define RONDO_SERVER_CORE_COLLECTIVE_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/core/messages.h"
#include "server/core/records.h"

namespace rondo::server {

struct CollectiveConfig {
  Collective kind = Collective::kRing;
  double density = 0;  // Of all kinds but kRing.
  // Over the first steps the density falls to its value; 0: it has it at once. Not of kAuto.
  uint64_t warmup_steps = 0;
  double warmup_density = 0;
};

// Of a sparse round that begins at `step`:
//   warmup_density * (density / warmup_density)^(step / warmup_steps)   before warmup_steps,
// `density` from there on; 0 for kRing.
double DensityAt(const CollectiveConfig& config, uint64_t step);

// Seconds of one reduction, a number a round, in the order of the rounds.
struct CollectiveTrials {
  std::vector<double> ring;
  std::vector<double> sparse;
};

// So many rounds of each are measured; the first does not count: it is the first to touch its
// memory.
inline constexpr size_t kTrialsEach = 4;

// Adds what a commit says, while trials of its collective are missing. A round that one member has
// reduced, or finished, alone measures nothing, nor does one that ended without a reduction.
void AddTrial(const CommitRecord& commit, CollectiveTrials* trials);

// Medians over the trials that count. 0: none yet.
double RingSeconds(const CollectiveTrials& trials);
double SparseSeconds(const CollectiveTrials& trials);
// Of all trials.
double SlowestTrial(const CollectiveTrials& trials);

// The faster one; the ring if both are alike. Absent while trials are missing.
std::optional<Collective> FasterOf(const CollectiveTrials& trials);

struct CollectiveDecision {
  Collective collective = Collective::kRing;
  double density = 0;  // 0 for kRing.
};

// For a round of `members` that begins at `step`. Of kAuto alone: the ring, until there are trials
// enough of what is to be compared: one member sends nothing by either.
CollectiveDecision DecideCollective(const CollectiveConfig& config, const CollectiveTrials& trials,
                                    size_t members, uint64_t step);

// What one of `workers` sends in one sync of `parameters` float32 values, in bytes (plan.h,
// control_bytes.h); of kAuto by the ring, which comes first. `density`: of all kinds but kRing.
// The first: of that the sparse entries alone.
int64_t EntryBytesPerSync(Collective kind, int64_t workers, int64_t parameters, double density);
int64_t BytesPerSync(Collective kind, int64_t workers, int64_t parameters, double density);

// Of kAuto, in words: what it measures, or has chosen and why. Else empty.
std::string TellChoice(const CollectiveConfig& config, const CollectiveTrials& trials);

// "ring", "sparse", "auto", "topk_gather".
std::string NameOf(Collective collective);

}  // namespace rondo::server

#endif  // RONDO_SERVER_CORE_COLLECTIVE_H_
