// How long a sync takes over a network, and when the sparse all-reduce beats the dense ring. A
// plain model: what a member sends over its link's speed, a delay for each message that waits for
// another, and the time of what sparse computes beyond dense. Pure.
#ifndef RONDO_SERVER_CORE_LINK_COST_H_
#define RONDO_SERVER_CORE_LINK_COST_H_

#include <cstdint>
#include <optional>

namespace rondo {

struct LinkModel {
  double bytes_per_second = 125e6;  // Of each member's link, each way; > 0.
  double message_seconds = 1e-4;    // Until a message that was sent can be answered.
  double select_seconds = 0;        // Of a sparse sync: selection, merge, residual.
};

// One CPU core's selection, merge and residual update, for a plan without a measurement.
inline constexpr double kSelectSecondsEach = 2e-9;  // A parameter.

// The ring: 2 (P - 1) messages that wait for one another. 0 for one member.
double RingSyncSeconds(int64_t workers, int64_t parameters, const LinkModel& link);
// The sparse all-reduce of alike members: P - 1 pieces to the regions, P - 1 steps of the gather,
// two exchanges of sizes, and three all-reduces of ceil(log2 P) messages for the threshold, whose
// histograms outweigh the entries where these are few (control_bytes.h).
double SparseSyncSeconds(int64_t workers, int64_t entries, const LinkModel& link);

inline constexpr int64_t kWorkersTried = 1024;

// The numbers of members with whom sparse is faster. Small vectors lose with many, since messages
// cost more than bytes; between the two ends it may lose with some.
struct PayingWorkers {
  int64_t from = 2;
  std::optional<int64_t> to = {};  // Absent: no end up to kWorkersTried.
};
// Absent: with none up to kWorkersTried.
std::optional<PayingWorkers> PaysWithWorkers(int64_t parameters, int64_t entries,
                                             const LinkModel& link);

// Up to which speed of the links, in bytes a second, sparse is faster among `workers`. 0: at none;
// infinity: at all. `link`'s own speed is not looked at.
double PaysUpTo(int64_t workers, int64_t parameters, int64_t entries, const LinkModel& link);

}  // namespace rondo

#endif  // RONDO_SERVER_CORE_LINK_COST_H_
