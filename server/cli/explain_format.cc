#include "server/cli/explain_format.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>
#include <vector>

#include "absl/time/time.h"
#include "server/cli/comm_format.h"
#include "server/cli/round_format.h"
#include "server/cli/units.h"

namespace rondo::cli {
namespace {

using nlohmann::ordered_json;

std::string Row(std::string_view name, std::string_view text) {
  return fmt::format("  {:<12} {}\n", name, text);
}

std::string ClockText(double at) {
  if (at == 0) return "";
  const absl::Time time = absl::UnixEpoch() + absl::Seconds(at);
  return absl::FormatTime(", at %H:%M:%S", time, absl::LocalTimeZone());
}

// One row for the first of them, the others below without a name.
std::string Rows(std::string_view name, const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += Row(text.empty() ? name : "", line);
  return text;
}

std::string ChangeText(const v1::MemberChange& change) {
  std::string what = "is in it";
  if (change.kind() == "joined") what = "joined";
  if (change.kind() == "took_over") what = "had missed a result";
  if (change.kind() == "gone") what = "is no longer in the group";
  if (change.kind() == "dropped") what = "had the order and is not in the result";
  const std::string why = change.text().empty() ? "" : ": " + change.text();
  return fmt::format("{} {}{}{}", change.worker(), what, why, ClockText(change.at()));
}

std::string CostText(const v1::RoundCost& cost) {
  return fmt::format("{}: steps {}, reduce {}, control and waits {}", SecondsText(cost.total()),
                     SecondsText(cost.steps()), SecondsText(cost.reduce()),
                     SecondsText(cost.control()));
}

std::vector<std::string> SampleLines(const v1::RoundSamples& samples) {
  std::vector<std::string> lines = {fmt::format("{} used", samples.used())};
  for (const v1::WorkerSamples& each : samples.returned()) {
    lines.push_back(
        fmt::format("{} of {} returned, to be handed out again", each.count(), each.worker()));
  }
  for (const v1::WorkerSamples& each : samples.not_finite()) {
    lines.push_back(
        fmt::format("{} of {} dropped: its result was not finite", each.count(), each.worker()));
  }
  if (samples.tail_dropped() > 0) {
    lines.push_back(fmt::format("{} dropped: the tail of an epoch", samples.tail_dropped()));
  }
  return lines;
}

ordered_json SamplesJson(const v1::RoundSamples& samples) {
  const auto list = [](const auto& each_worker) {
    ordered_json all = ordered_json::array();
    for (const v1::WorkerSamples& each : each_worker) {
      all.push_back(ordered_json{{"worker", each.worker()}, {"count", each.count()}});
    }
    return all;
  };
  return {{"used", samples.used()},
          {"returned", list(samples.returned())},
          {"not_finite", list(samples.not_finite())},
          {"tail_dropped", samples.tail_dropped()}};
}

ordered_json CostJson(const v1::RoundCost& cost) {
  return {{"total", cost.total()},   {"steps", cost.steps()},
          {"reduce", cost.reduce()}, {"control", cost.control()},
          {"before", cost.before()}, {"evaluate_before", cost.evaluate_before()}};
}

}  // namespace

std::string FateName(v1::RoundFate fate) {
  switch (fate) {
    case v1::ROUND_FATE_OPEN:
      return "open";
    case v1::ROUND_FATE_COMMITTED:
      return "committed";
    case v1::ROUND_FATE_VOIDED:
      return "voided";
    case v1::ROUND_FATE_UNDONE:
      return "undone";
    default:
      return fmt::format("unknown ({})", static_cast<int>(fate));  // A newer coordinator's.
  }
}

ordered_json ExplanationJson(const v1::RoundExplanation& explanation) {
  ordered_json out = {{"round", explanation.round()},
                      {"fate", FateName(explanation.fate())},
                      {"fate_text", explanation.fate_text()},
                      {"group", explanation.group()},
                      {"mode", ModeName(explanation.mode())},
                      {"first_step", explanation.first_step()},
                      {"length", explanation.length()},
                      {"length_reason", explanation.length_reason()},
                      {"length_text", explanation.length_text()},
                      {"rate_first", explanation.rate_first()},
                      {"length_wanted", explanation.length_wanted()},
                      {"collective", CollectiveName(explanation.collective())},
                      {"density", explanation.density()},
                      {"collective_text", explanation.collective_text()},
                      {"orders", explanation.orders()},
                      {"members", ordered_json::array()},
                      {"contributors", ordered_json::array()},
                      {"changes", ordered_json::array()},
                      {"attempts", explanation.attempts()},
                      {"repeats", ordered_json::array()},
                      {"cost", CostJson(explanation.cost())},
                      {"samples", SamplesJson(explanation.samples())},
                      {"events", ordered_json::array()}};
  if (explanation.has_sparse()) out["sparse"] = SparseJson(explanation.sparse());
  for (const std::string& name : explanation.members()) out["members"].push_back(name);
  for (const std::string& name : explanation.contributors()) out["contributors"].push_back(name);
  for (const v1::MemberChange& change : explanation.changes()) {
    out["changes"].push_back(ordered_json{{"worker", change.worker()},
                                          {"kind", change.kind()},
                                          {"text", change.text()},
                                          {"at", change.at()}});
  }
  for (const v1::Repetition& repeat : explanation.repeats()) {
    out["repeats"].push_back(ordered_json{{"kind", repeat.kind()},
                                          {"text", repeat.text()},
                                          {"at", repeat.at()},
                                          {"seconds", repeat.seconds()}});
  }
  for (const v1::Notice& event : explanation.events()) {
    out["events"].push_back(ordered_json{{"at", event.at()},
                                         {"kind", event.kind()},
                                         {"text", event.text()},
                                         {"worker", event.worker()},
                                         {"seconds", event.seconds()}});
  }
  return out;
}

std::string ExplanationText(const v1::RoundExplanation& explanation) {
  const bool committed = explanation.fate() == v1::ROUND_FATE_COMMITTED;
  std::string text =
      fmt::format("round {}: {}{}{}\n", explanation.round(), FateName(explanation.fate()),
                  explanation.fate_text().empty() ? "" : ": ", explanation.fate_text());
  text += Row("steps", fmt::format("{}, from step {} on, {}, rate {:.6g}", explanation.length(),
                                   explanation.first_step(), ModeName(explanation.mode()),
                                   explanation.rate_first()));
  text += Row(fmt::format("H = {}", explanation.length()), explanation.length_text());
  if (!explanation.collective_text().empty()) {
    text += Row("collective", explanation.collective_text());
  }
  if (explanation.has_sparse()) {
    text +=
        Row("", SparseText(explanation.collective(), explanation.density(), explanation.sparse()));
  }
  text += Row("members", fmt::format("{} (group {})", fmt::join(explanation.members(), ", "),
                                     explanation.group()));
  if (explanation.orders() > 1) {
    text +=
        Row("", fmt::format("{} groups worked on it one after the other", explanation.orders()));
  }
  std::vector<std::string> lines;
  for (const v1::MemberChange& change : explanation.changes()) lines.push_back(ChangeText(change));
  text += Rows("changes", lines);
  lines.clear();
  for (const v1::Repetition& repeat : explanation.repeats()) {
    const std::string spent =
        repeat.seconds() > 0 ? fmt::format(" ({})", SecondsText(repeat.seconds())) : "";
    lines.push_back(repeat.text() + spent + ClockText(repeat.at()));
  }
  text += Rows("repeated", lines);
  if (explanation.attempts() > 0) {
    text += Row("attempts", fmt::format("{}", explanation.attempts()));
  }
  if (committed) text += Row("cost", CostText(explanation.cost()));
  const v1::RoundCost& cost = explanation.cost();
  std::string before = SecondsText(cost.before());
  if (cost.evaluate_before() > 0) {
    before += fmt::format(", evaluation {} of it", SecondsText(cost.evaluate_before()));
  }
  text += Row("before it", before);
  if (committed) text += Rows("samples", SampleLines(explanation.samples()));
  lines.clear();
  for (const v1::Notice& event : explanation.events()) {
    lines.push_back(fmt::format("{}: {}{}", event.kind(), event.text(), ClockText(event.at())));
  }
  return text + Rows("events", lines);
}

}  // namespace rondo::cli
