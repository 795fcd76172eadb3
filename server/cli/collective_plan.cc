#include "server/cli/collective_plan.h"

#include <fmt/format.h>

#include <cmath>

#include "common/density.h"
#include "server/cli/units.h"
#include "server/core/control_bytes.h"
#include "server/core/link_cost.h"
#include "server/core/messages.h"
#include "server/core/plan.h"
#include "server/core/words.h"

namespace rondo::cli {
namespace {

using server::Collective;

// Members with whom sparse is faster; `pays`: it is among `workers`.
std::string PayingText(const std::optional<PayingWorkers>& paying, int64_t workers, bool pays) {
  if (!paying) return "never";
  std::string text = fmt::format("from {} workers on", paying->from);
  if (paying->to == paying->from) {
    text = fmt::format("with {} workers", paying->from);
  } else if (paying->to) {
    text = fmt::format("with {} to {} workers", paying->from, *paying->to);
  }
  const bool looks_so = workers >= paying->from && workers <= paying->to.value_or(kWorkersTried);
  return looks_so && !pays ? text + fmt::format(", not {}", workers) : text;
}

LinkModel LinkOf(const CollectivePlan& plan, double mbits, int64_t parameters) {
  const double reckoned = kSelectSecondsEach * static_cast<double>(parameters);
  return {.bytes_per_second = mbits * 1e6 / 8,
          .message_seconds = plan.message_seconds,
          .select_seconds = plan.select_seconds.value_or(reckoned)};
}

// Speeds in the unit that fits.
std::string SpeedText(double mbits) {
  return mbits < 1000 ? fmt::format("{:.3g} Mbit/s", mbits)
                      : fmt::format("{:.3g} Gbit/s", mbits / 1000);
}

double PaysUpToMbits(const CollectivePlan& plan, int64_t workers, int64_t parameters) {
  const int64_t entries = EntriesFor(parameters, plan.density);
  return PaysUpTo(workers, parameters, entries, LinkOf(plan, 1, parameters)) * 8 / 1e6;
}

}  // namespace

PlannedBytes BytesOf(const CollectivePlan& plan, int64_t workers, int64_t parameters,
                     const PolicyConfig& policy, const ScheduleConfig& schedule) {
  const server::CollectiveConfig& config = plan.config;
  PlannedBytes bytes;
  bytes.entries = EntryBytesPerSync(config.kind, workers, parameters, config.density);
  bytes.sync = BytesPerSync(config.kind, workers, parameters, config.density);
  bytes.dense = RingBytesPerSync(workers, parameters);
  if (config.kind == Collective::kSparse) {
    bytes.most = SparseBytesMost(workers, EntriesFor(parameters, DensityAt(config, 0))) +
                 SparseControlBytesMost(workers, parameters);
  }
  VisitRounds(policy, schedule, [&](const RoundRun& run) {
    const int64_t syncs = run.mode == RoundMode::kParallel ? run.length : 1;
    int64_t at_warmup = 0;  // Rounds of the run that begin within it.
    for (; at_warmup < run.count; ++at_warmup) {
      const auto step = static_cast<uint64_t>(run.first_step + at_warmup * run.length);
      if (step >= config.warmup_steps) break;
      bytes.total +=
          syncs * BytesPerSync(config.kind, workers, parameters, DensityAt(config, step));
    }
    bytes.total += syncs * (run.count - at_warmup) * bytes.sync;
  });
  return bytes;
}

void AddCollectiveJson(const CollectivePlan& plan, int64_t workers,
                       std::optional<int64_t> parameters, nlohmann::ordered_json* json) {
  nlohmann::ordered_json& out = *json;
  out["collective"] = NameOf(plan.config.kind);
  out["density"] = plan.density;
  out["entries"] = nullptr;
  if (plan.density == 0) return;
  out["links"] = nlohmann::ordered_json::array();
  out["pays_up_to_mbits"] = nullptr;
  if (!parameters) return;
  const int64_t entries = EntriesFor(*parameters, plan.density);
  out["entries"] = entries;
  for (const double mbits : plan.link_mbits) {
    const LinkModel link = LinkOf(plan, mbits, *parameters);
    nlohmann::ordered_json each = {{"mbits", mbits},
                                   {"dense_seconds", RingSyncSeconds(workers, *parameters, link)},
                                   {"sparse_seconds", SparseSyncSeconds(workers, entries, link)},
                                   {"pays_from_workers", nullptr},
                                   {"pays_to_workers", nullptr}};
    if (const auto paying = PaysWithWorkers(*parameters, entries, link)) {
      each["pays_from_workers"] = paying->from;
      if (paying->to) each["pays_to_workers"] = *paying->to;
    }
    out["links"].push_back(std::move(each));
  }
  const double up_to = PaysUpToMbits(plan, workers, *parameters);
  if (up_to > 0) out["pays_up_to_mbits"] = up_to;
}

std::string CompareLines(const CollectivePlan& plan, int64_t workers,
                         std::optional<int64_t> parameters) {
  if (plan.density == 0 || !parameters) return "";
  const int64_t entries = EntriesFor(*parameters, plan.density);
  const std::string group = Counted(static_cast<uint64_t>(workers), "worker");
  std::string text = fmt::format(
      "sparse       {} of {} elements (density {:.4g}), a sync by {}:\n"
      "             {:>12} {:>10} {:>10}  sparse pays\n",
      entries, *parameters, plan.density, group, "link", "dense", "sparse");
  for (const double mbits : plan.link_mbits) {
    const LinkModel link = LinkOf(plan, mbits, *parameters);
    const double dense = RingSyncSeconds(workers, *parameters, link);
    const double sparse = SparseSyncSeconds(workers, entries, link);
    text += fmt::format(
        "             {:>12} {:>10} {:>10}  {}\n", SpeedText(mbits), SecondsText(dense),
        SecondsText(sparse),
        PayingText(PaysWithWorkers(*parameters, entries, link), workers, sparse < dense));
  }
  const double up_to = PaysUpToMbits(plan, workers, *parameters);
  if (up_to <= 0) return text + fmt::format("             with {}: never\n", group);
  return text + fmt::format("             with {}: {}\n", group,
                            std::isinf(up_to) ? "at any speed" : "up to " + SpeedText(up_to));
}

}  // namespace rondo::cli
