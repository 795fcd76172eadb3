#include "server/cli/plan_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "server/cli/plot.h"
#include "server/cli/units.h"
#include "server/core/words.h"

namespace rondo::cli {
namespace {

constexpr int kPlotRows = 6;

std::optional<PlannedBytes> Bytes(const PlanView& view) {
  if (!view.parameters) return std::nullopt;
  return BytesOf(view.collective, view.workers, *view.parameters, view.policy, view.schedule);
}

std::optional<int64_t> PartialBytes(const PlanView& view) {
  if (!view.parameters) return std::nullopt;
  const int64_t each = *view.parameters * view.state_copies * static_cast<int64_t>(sizeof(float));
  return each * view.partials * view.workers;
}

std::optional<double> Seconds(const PlanView& view, int64_t syncs) {
  if (!view.step_seconds || !view.sync_seconds) return std::nullopt;
  return PredictSeconds(view.plan.steps, syncs, *view.step_seconds, *view.sync_seconds);
}

// "12 of 2, 4 of 3, ..., 1 of 28": all of them, or as many of both ends as fit the line.
std::string LengthsText(const std::vector<LengthRun>& lengths) {
  constexpr size_t kColumns = 67;
  std::string text;
  for (size_t ends = std::min<size_t>(lengths.size(), 8); ends > 0; --ends) {
    text.clear();
    for (size_t i = 0; i < lengths.size(); ++i) {
      if (i == ends && lengths.size() > 2 * ends) {
        text += ", ...";
        i = lengths.size() - ends;
      }
      text +=
          fmt::format("{}{} of {}", text.empty() ? "" : ", ", lengths[i].count, lengths[i].length);
    }
    if (text.size() <= kColumns) break;
  }
  return text;
}

// The first step of each column of a plot, and the end of the last.
std::vector<int64_t> ColumnBorders(int64_t steps) {
  const int64_t columns = std::min<int64_t>(kPlotColumns, steps);
  std::vector<int64_t> borders;
  for (int64_t c = 0; c <= columns; ++c) borders.push_back(c * steps / columns);
  return borders;
}

// Each column shows the longest round that it touches; a parallel round is one sync a step.
Plot LengthPlot(const PlanView& view) {
  const std::vector<int64_t> borders = ColumnBorders(view.schedule.steps);
  Plot plot = {.title = "H, steps between syncs (log scale)",
               .values = std::vector<double>(borders.size() - 1),
               .log_scale = true,
               .first = 0,
               .last = view.schedule.steps};
  size_t column = 0;
  VisitRounds(view.policy, view.schedule, [&](const RoundRun& run) {
    const int64_t end = run.first_step + run.length * run.count;
    const double h = run.mode == RoundMode::kParallel ? 1 : static_cast<double>(run.length);
    while (column < plot.values.size() && borders[column + 1] <= run.first_step) ++column;
    for (size_t c = column; c < plot.values.size() && borders[c] < end; ++c) {
      plot.values[c] = std::max(plot.values[c], h);
    }
  });
  return plot;
}

Plot RatePlot(const PlanView& view) {
  const std::vector<int64_t> borders = ColumnBorders(view.schedule.steps);
  Plot plot = {.title = "learning rate", .first = 0, .last = view.schedule.steps};
  for (size_t c = 0; c + 1 < borders.size(); ++c) {
    plot.values.push_back(RateAt(view.schedule, (borders[c] + borders[c + 1] - 1) / 2));
  }
  return plot;
}

std::string Workers(const PlanView& view) {
  return Counted(static_cast<uint64_t>(view.workers), "worker");
}

std::string BytesLines(const PlanView& view) {
  const std::optional<PlannedBytes> bytes = Bytes(view);
  if (!bytes) {
    return "bytes        unknown: the model's size comes from its init file or --parameters\n";
  }
  const auto text = [](int64_t count) { return BytesText(static_cast<uint64_t>(count)); };
  std::string lines = fmt::format("bytes        {} a sync sent by each of {} ({} parameters)\n",
                                  text(bytes->sync), Workers(view), *view.parameters);
  if (bytes->entries > 0) {
    lines += fmt::format("             {} of them entries, the rest integers; dense: {}\n",
                         text(bytes->entries), text(bytes->dense));
  }
  if (bytes->most) {
    lines += fmt::format(
        "             never more than {}{}\n", text(*bytes->most),
        view.collective.config.warmup_steps > 0 ? ", as its density's warm-up begins" : "");
  }
  return lines + fmt::format("             {} in all by each; parallel: {}\n", text(bytes->total),
                             text(bytes->dense * view.plan.steps));
}

std::string PartialsLine(const PlanView& view) {
  if (view.partials == 0) return "";
  const std::optional<int64_t> bytes = PartialBytes(view);
  return fmt::format(
      "partials     {} by each of {}, {} written in all\n", view.partials, Workers(view),
      bytes ? BytesText(static_cast<uint64_t>(*bytes)) : std::string("unknown bytes"));
}

std::string TimeLines(const PlanView& view) {
  const std::optional<double> seconds = Seconds(view, view.plan.syncs);
  if (!seconds) {
    return fmt::format("time         unknown: give {}\n",
                       view.step_seconds   ? "--sync-seconds too"
                       : view.sync_seconds ? "--step-seconds too"
                                           : "--step-seconds and --sync-seconds");
  }
  const double longest = static_cast<double>(view.plan.longest_round) * *view.step_seconds;
  return fmt::format(
      "time         {}; parallel: {}\n"
      "at risk      {} of work in the longest round\n",
      SecondsText(*seconds), SecondsText(*Seconds(view, view.plan.steps)), SecondsText(longest));
}

}  // namespace

nlohmann::ordered_json PlanJson(const PlanView& view) {
  nlohmann::ordered_json json;
  json["steps"] = view.plan.steps;
  json["rounds"] = view.plan.rounds;
  json["syncs"] = view.plan.syncs;
  json["percent_of_parallel"] = view.plan.percent_of_parallel;
  json["longest_round"] = view.plan.longest_round;
  json["checksum"] = view.plan.checksum;
  nlohmann::ordered_json lengths = nlohmann::ordered_json::array();
  for (const LengthRun& run : view.plan.lengths) lengths.push_back({run.length, run.count});
  json["lengths_rle"] = std::move(lengths);
  json["bytes_per_sync"] = nullptr;
  json["bytes_per_sync_dense"] = nullptr;
  json["bytes_per_sync_entries"] = nullptr;
  json["bytes_per_sync_most"] = nullptr;
  json["bytes_total"] = nullptr;
  if (const auto bytes = Bytes(view)) {
    json["bytes_per_sync"] = bytes->sync;
    json["bytes_per_sync_dense"] = bytes->dense;
    json["bytes_per_sync_entries"] = bytes->entries;
    if (bytes->most) json["bytes_per_sync_most"] = *bytes->most;
    json["bytes_total"] = bytes->total;
  }
  AddCollectiveJson(view.collective, view.workers, view.parameters, &json);
  json["partials"] = view.partials;
  json["partial_bytes"] = nullptr;
  if (const auto bytes = PartialBytes(view)) json["partial_bytes"] = *bytes;
  json["predicted_seconds"] = nullptr;
  if (const auto seconds = Seconds(view, view.plan.syncs)) json["predicted_seconds"] = *seconds;
  return json;
}

std::string PlanText(const PlanView& view, bool ascii) {
  const PlanSummary& plan = view.plan;
  std::string text = fmt::format(
      "job          {}\n"
      "steps        {}\n"
      "rounds       {}; the longest has {}, from step {}\n"
      "syncs        {}, {:.3g} % of parallel\n"
      "checksum     {}\n"
      "lengths      {}\n",
      view.name, plan.steps, plan.rounds,
      Counted(static_cast<uint64_t>(plan.longest_round), "step"), plan.longest_first_step,
      plan.syncs, plan.percent_of_parallel, plan.checksum, LengthsText(plan.lengths));
  text += BytesLines(view) + PartialsLine(view) + TimeLines(view);
  text += CompareLines(view.collective, view.workers, view.parameters) + "\n";
  text += DrawPlot(LengthPlot(view), kPlotRows, ascii) + "\n";
  text += DrawPlot(RatePlot(view), kPlotRows, ascii);
  return text;
}

}  // namespace rondo::cli
