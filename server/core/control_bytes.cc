#include "server/core/control_bytes.h"

#include <bit>
#include <cmath>

namespace rondo {
namespace {

constexpr int64_t kIntegerBytes = 8;
constexpr int64_t kNoticeBytes = 48;
constexpr int64_t kShareBytes = 16;  // Entries above the threshold, and equal to it.
constexpr int64_t kThresholdBytes = (2048 + 1024 + 1024) * kIntegerBytes;
constexpr int64_t kCutBinsMost = 4096;
constexpr int64_t kSyncsBetweenCuts = 64;

// Bins of 2^s positions, as few positions as 4,096 bins allow.
int64_t CutBytes(int64_t parameters) {
  if (parameters <= 0) return 0;
  int shift = 0;
  while (((parameters - 1) >> shift) >= kCutBinsMost) ++shift;
  return (((parameters - 1) >> shift) + 1) * kIntegerBytes;
}

// Vectors that a member sends in an all-reduce, on average: with Q the largest power of two up to P
// and E = P - Q, E are given away before and E given back after log2 Q exchanges among Q members.
double VectorsSent(int64_t workers) {
  const auto p = static_cast<uint64_t>(workers);
  const auto q = static_cast<double>(std::bit_floor(p));
  return (2 * (static_cast<double>(p) - q) + q * std::log2(q)) / static_cast<double>(p);
}

}  // namespace

int DoublingMessages(int64_t workers) {
  return workers < 2 ? 0 : std::bit_width(static_cast<uint64_t>(workers - 1));
}

int64_t SparseControlBytesPerSync(int64_t workers, int64_t parameters) {
  if (workers < 2) return 0;
  const double cuts = static_cast<double>(CutBytes(parameters)) / kSyncsBetweenCuts;
  const double histograms = VectorsSent(workers) * (static_cast<double>(kThresholdBytes) + cuts);
  return (kNoticeBytes + kShareBytes) * (workers - 1) + std::llround(histograms);
}

int64_t SparseControlBytesMost(int64_t workers, int64_t parameters) {
  const int64_t peers = workers - 1;
  return peers * (kNoticeBytes + kShareBytes + kIntegerBytes) +
         DoublingMessages(workers) * (kThresholdBytes + CutBytes(parameters));
}

int64_t GatherControlBytesPerSync(int64_t workers) { return kNoticeBytes * (workers - 1); }

int64_t SparseControlBytesInTurn(int64_t workers) {
  if (workers < 2) return 0;
  return (kNoticeBytes + kShareBytes) * (workers - 1) + DoublingMessages(workers) * kThresholdBytes;
}

}  // namespace rondo
