#include "server/cli/comm_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <string_view>

#include "server/cli/units.h"

namespace rondo::cli {
namespace {

using nlohmann::ordered_json;

constexpr uint64_t kEntryBytes = 8;

// PHASE_REDUCE_SCATTER without its prefix, in small letters.
std::string Word(std::string_view prefix, std::string_view name) {
  std::string word(name.substr(std::min(prefix.size(), name.size())));
  std::transform(word.begin(), word.end(), word.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return word;
}

bool SendsEntries(v1::Phase phase) {
  return phase == v1::PHASE_SPLIT || phase == v1::PHASE_BALANCE || phase == v1::PHASE_GATHER;
}

// Not of a phase that this collective does not have, as topk_gather has no threshold.
bool HasCost(const v1::PhaseCost& cost) {
  return cost.seconds() > 0 || cost.bytes_sent() > 0 || cost.header_bytes_sent() > 0;
}

// Of a mean number of entries.
std::string CountText(double count) {
  return count < 1e4 ? fmt::format("{:.0f}", count) : fmt::format("{:.3g}", count);
}

}  // namespace

std::string CollectiveName(v1::CollectiveKind kind) {
  if (kind == v1::COLLECTIVE_KIND_UNSPECIFIED) return "";
  if (!v1::CollectiveKind_IsValid(kind)) {
    return fmt::format("unknown ({})", static_cast<int>(kind));  // A newer coordinator's.
  }
  return Word("COLLECTIVE_KIND_", v1::CollectiveKind_Name(kind));
}

std::string PhaseName(v1::Phase phase) {
  if (!v1::Phase_IsValid(phase)) return fmt::format("unknown ({})", static_cast<int>(phase));
  return Word("PHASE_", v1::Phase_Name(phase));
}

ordered_json CostsJson(const google::protobuf::RepeatedPtrField<v1::PhaseCost>& costs) {
  ordered_json list = ordered_json::array();
  for (const v1::PhaseCost& cost : costs) {
    ordered_json each = {{"phase", PhaseName(cost.phase())},
                         {"bytes_sent", cost.bytes_sent()},
                         {"bytes_received", cost.bytes_received()},
                         {"header_bytes_sent", cost.header_bytes_sent()},
                         {"seconds", cost.seconds()},
                         {"calls", cost.calls()}};
    if (SendsEntries(cost.phase())) each["entries_sent"] = cost.bytes_sent() / kEntryBytes;
    list.push_back(std::move(each));
  }
  return list;
}

ordered_json SparseJson(const v1::SparseRound& sparse) {
  return {{"reductions", sparse.reductions()},
          {"entries_selected", sparse.entries_selected()},
          {"entries_delivered", sparse.entries_delivered()},
          {"select_seconds", sparse.select_seconds()},
          {"imbalance", sparse.imbalance()},
          {"residual_norm", sparse.residual_norm()},
          {"entry_bytes_sent", sparse.entry_bytes_sent()},
          {"control_bytes_sent", sparse.control_bytes_sent()},
          {"cuts", sparse.cuts()},
          {"rebalanced", sparse.rebalanced()}};
}

std::string SparseText(v1::CollectiveKind kind, double density, const v1::SparseRound& sparse) {
  std::string text = fmt::format(
      "{} {:.4g}: {} entries each, {} taken, selection {}, residual {:.4g}", CollectiveName(kind),
      density, CountText(sparse.entries_selected()), CountText(sparse.entries_delivered()),
      SecondsText(sparse.select_seconds()), sparse.residual_norm());
  if (sparse.imbalance() > 0) text += fmt::format(", imbalance {:.2f}", sparse.imbalance());
  return text;
}

ordered_json CommStatsJson(const v1::CommStats& stats) {
  ordered_json json = {{"collectives", ordered_json::array()},
                       {"collective_text", stats.collective_text()},
                       {"residual_norm", std::sqrt(stats.residual_norm_squared())},
                       {"residuals_undelivered", stats.residuals_undelivered()}};
  for (const v1::CollectiveStats& each : stats.collectives()) {
    json["collectives"].push_back(ordered_json{{"collective", CollectiveName(each.collective())},
                                               {"rounds", each.rounds()},
                                               {"reductions", each.reductions()},
                                               {"bytes_sent", each.bytes_sent()},
                                               {"reduce_seconds", each.reduce_seconds()},
                                               {"seconds_each", each.seconds_each()},
                                               {"costs", CostsJson(each.costs())},
                                               {"entries_selected", each.entries_selected()},
                                               {"entries_delivered", each.entries_delivered()},
                                               {"imbalance", each.imbalance()}});
  }
  return json;
}

std::string CommStatsText(const v1::CommStats& stats) {
  std::string text;
  for (const v1::CollectiveStats& each : stats.collectives()) {
    text += fmt::format("{}: {} rounds, {} reductions, {} sent, {} each\n",
                        CollectiveName(each.collective()), each.rounds(), each.reductions(),
                        BytesText(each.bytes_sent()), SecondsText(each.seconds_each()));
    if (each.entries_delivered() > 0) {
      text += fmt::format("  {} entries given by each, {} taken",
                          CountText(each.entries_selected()), CountText(each.entries_delivered()));
      if (each.imbalance() > 0) text += fmt::format(", imbalance {:.2f}", each.imbalance());
      text += "\n";
    }
    text += fmt::format("  {:<15} {:>10} {:>10} {:>10} {:>10}\n", "phase", "sent", "headers",
                        "seconds", "calls");
    for (const v1::PhaseCost& cost : each.costs()) {
      if (!HasCost(cost)) continue;
      text += fmt::format("  {:<15} {:>10} {:>10} {:>10} {:>10}\n", PhaseName(cost.phase()),
                          BytesText(cost.bytes_sent()), BytesText(cost.header_bytes_sent()),
                          SecondsText(cost.seconds()), cost.calls());
    }
  }
  if (!stats.collective_text().empty()) text += stats.collective_text() + "\n";
  if (stats.residual_norm_squared() > 0 || stats.residuals_undelivered() > 0) {
    text += fmt::format("residuals: norm {:.4g} as last reported; {} never delivered\n",
                        std::sqrt(stats.residual_norm_squared()), stats.residuals_undelivered());
  }
  return text.empty() ? "no round was committed\n" : text;
}

}  // namespace rondo::cli
