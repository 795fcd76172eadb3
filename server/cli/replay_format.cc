#include "server/cli/replay_format.h"

#include <fmt/format.h>

#include "server/core/words.h"

namespace rondo::cli {
namespace {

using nlohmann::ordered_json;

std::string TrainText(const TrainView& train) {
  std::string text = fmt::format("trained again: {} of {} came to the same parameters\n",
                                 train.same, Counted(train.committed, "round"));
  if (train.difference) {
    text +=
        fmt::format("round {}: {}: journal {}, trained again {}\n", train.difference->round,
                    train.difference->what, train.difference->journal, train.difference->computed);
  }
  if (!train.ended_by.empty()) {
    text += fmt::format("later rounds cannot be trained again: {}\n", train.ended_by);
  }
  return text;
}

ordered_json TrainJson(const TrainView& train) {
  ordered_json json = {{"rounds", train.committed},
                       {"same", train.same},
                       {"ended_by", train.ended_by},
                       {"difference", nullptr}};
  if (train.difference) {
    json["difference"] = ordered_json{{"round", train.difference->round.value},
                                      {"what", train.difference->what},
                                      {"journal", train.difference->journal},
                                      {"computed", train.difference->computed}};
  }
  return json;
}

}  // namespace

ordered_json ReplayJson(const ReplayView& view) {
  const server::ReplayReport& report = view.report;
  ordered_json json = {{"job_id", view.job_id},
                       {"same", view.Same()},
                       {"records", report.records},
                       {"terms", report.terms},
                       {"groups", report.groups},
                       {"orders", report.orders},
                       {"commits", report.commits},
                       {"rewinds", report.rewinds},
                       {"checksum", report.checksum},
                       {"found", report.found},
                       {"broken_off", report.broken_off},
                       {"differences", ordered_json::array()},
                       {"train", nullptr}};
  for (const server::Difference& difference : report.differences) {
    json["differences"].push_back(ordered_json{{"record", difference.record},
                                               {"where", difference.where},
                                               {"what", difference.what},
                                               {"journal", difference.journal},
                                               {"computed", difference.computed}});
  }
  if (view.train) json["train"] = TrainJson(*view.train);
  return json;
}

std::string ReplayText(const ReplayView& view) {
  const server::ReplayReport& report = view.report;
  std::string text = fmt::format("{}: {}: {}, {}, {}, {}, {}; checksum {}\n", view.job_id,
                                 Counted(report.records, "record"), Counted(report.terms, "term"),
                                 Counted(report.groups, "group"), Counted(report.orders, "order"),
                                 Counted(report.commits, "commit"),
                                 Counted(report.rewinds, "rewind"), report.checksum);
  if (report.found == 0) text += "every decision comes out the same\n";
  for (const server::Difference& difference : report.differences) {
    text += fmt::format("record {}, {}: {}: journal {}, computed {}\n", difference.record,
                        difference.where, difference.what, difference.journal, difference.computed);
  }
  if (report.found > report.differences.size()) {
    text += fmt::format("and {} more\n",
                        Counted(report.found - report.differences.size(), "difference"));
  }
  if (report.broken_off) text += "the rest was not looked at: it does not follow\n";
  return view.train ? text + TrainText(*view.train) : text;
}

}  // namespace rondo::cli
