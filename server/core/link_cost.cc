#include "server/core/link_cost.h"

#include <limits>

#include "server/core/control_bytes.h"
#include "server/core/plan.h"

namespace rondo {
namespace {

double RingMessages(int64_t workers) { return 2.0 * static_cast<double>(workers - 1); }

double SparseMessages(int64_t workers) {
  return RingMessages(workers) + 2 + 3.0 * DoublingMessages(workers);
}

int64_t SparseBytes(int64_t workers, int64_t entries) {
  return SparseBytesPerSync(workers, entries) + SparseControlBytesInTurn(workers);
}

}  // namespace

double RingSyncSeconds(int64_t workers, int64_t parameters, const LinkModel& link) {
  if (workers < 2) return 0;
  const auto bytes = static_cast<double>(RingBytesPerSync(workers, parameters));
  return bytes / link.bytes_per_second + RingMessages(workers) * link.message_seconds;
}

double SparseSyncSeconds(int64_t workers, int64_t entries, const LinkModel& link) {
  if (workers < 2) return link.select_seconds;
  const auto bytes = static_cast<double>(SparseBytes(workers, entries));
  return bytes / link.bytes_per_second + SparseMessages(workers) * link.message_seconds +
         link.select_seconds;
}

std::optional<PayingWorkers> PaysWithWorkers(int64_t parameters, int64_t entries,
                                             const LinkModel& link) {
  std::optional<PayingWorkers> paying;
  int64_t last = 0;
  for (int64_t workers = 2; workers <= kWorkersTried; ++workers) {
    const double dense = RingSyncSeconds(workers, parameters, link);
    if (SparseSyncSeconds(workers, entries, link) >= dense) continue;
    if (!paying) paying = {.from = workers};
    last = workers;
  }
  if (paying && last < kWorkersTried) paying->to = last;
  return paying;
}

double PaysUpTo(int64_t workers, int64_t parameters, int64_t entries, const LinkModel& link) {
  if (workers < 2) return 0;
  const auto saved =
      static_cast<double>(RingBytesPerSync(workers, parameters) - SparseBytes(workers, entries));
  if (saved <= 0) return 0;
  const double extra = (SparseMessages(workers) - RingMessages(workers)) * link.message_seconds +
                       link.select_seconds;
  return extra > 0 ? saved / extra : std::numeric_limits<double>::infinity();
}

}  // namespace rondo
