// When the first group forms: the start rule. Pure.
#ifndef RONDO_SERVER_CORE_START_H_
#define RONDO_SERVER_CORE_START_H_

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/time/time.h"

namespace rondo::server {

struct StartPolicy {
  uint64_t workers_min = 1;
  uint64_t workers_max = 1;  // >= workers_min.
  absl::Duration wait;       // Since the first candidate, for more than the minimum.
};

// A prepared worker whose stream is open.
struct Candidate {
  std::string name;
  absl::Time since;  // When it became a candidate.
};

enum class StartVerdict { kTooFew, kWaiting, kStart };

struct StartDecision {
  StartVerdict verdict = StartVerdict::kTooFew;
  // kStart: the group's members, in name order. The earliest candidates are chosen if there are
  // more than workers_max; equal times by name.
  std::vector<std::string> members;
  // kWaiting: when the minimum is enough.
  absl::Time at = absl::InfiniteFuture();
};

// Starts with workers_max at once, with fewer once `wait` has passed since the first.
StartDecision DecideStart(const StartPolicy& policy, std::span<const Candidate> candidates,
                          absl::Time now);

}  // namespace rondo::server

#endif  // RONDO_SERVER_CORE_START_H_
