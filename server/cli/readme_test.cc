// The tables of README.md beside what the commands print.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "proto/rondo/v1/jobs.pb.h"
#include "server/cli/comm_format.h"
#include "server/cli/explain_format.h"
#include "server/cli/plan_format.h"
#include "server/cli/replay_format.h"
#include "server/cli/retrain.h"
#include "server/cli/round_format.h"
#include "server/cli/status_format.h"

namespace rondo::cli {
namespace {

using Names = std::vector<std::string>;

// The first column of the table below the heading.
Names DocumentedNames(const std::string& heading) {
  std::ifstream in("server/cli/README.md");
  Names names;
  bool inside = false;
  for (std::string line; std::getline(in, line);) {
    if (line.rfind('#', 0) == 0) inside = line == "### " + heading;
    if (inside && line.rfind("| `", 0) == 0) {
      names.push_back(line.substr(3, line.find('`', 3) - 3));
    }
  }
  return names;
}

// Of an object, and of the objects in it: `events.at`.
void AddNames(const nlohmann::ordered_json& object, const std::string& prefix, Names* names) {
  for (const auto& [key, value] : object.items()) {
    names->push_back(prefix + key);
    const auto& inner = value.is_array() && !value.empty() ? value[0] : value;
    if (inner.is_object()) AddNames(inner, prefix + key + ".", names);
  }
}

Names PrintedNames(const nlohmann::ordered_json& object) {
  Names names;
  AddNames(object, "", &names);
  return names;
}

TEST(CliReadmeTest, ListsTheNamesOfARunsSummary) {
  EXPECT_EQ(DocumentedNames("run"), PrintedNames(SummaryJson(RunSummary{})));
}

TEST(CliReadmeTest, ListsTheNamesOfAPlan) {
  PlanView view;
  view.parameters = 1000;
  view.collective.density = 0.01;
  EXPECT_EQ(DocumentedNames("plan"), PrintedNames(PlanJson(view)));
}

TEST(CliReadmeTest, ListsTheNamesOfAStatus) {
  v1::Status status;
  status.mutable_last_evaluation()->set_round(1);
  status.add_events()->set_number(1);
  EXPECT_EQ(DocumentedNames("status"), PrintedNames(StatusJson(status)));
}

TEST(CliReadmeTest, ListsTheNamesOfARound) {
  v1::Round round;
  round.mutable_evaluation()->set_round(1);
  round.add_costs()->set_phase(v1::PHASE_SPLIT);
  round.mutable_sparse()->set_reductions(1);
  EXPECT_EQ(DocumentedNames("rounds, watch"), PrintedNames(RoundJson(round)));
}

TEST(CliReadmeTest, ListsTheNamesOfTotals) {
  v1::CommStats stats;
  stats.add_collectives()->add_costs()->set_phase(v1::PHASE_SPLIT);
  EXPECT_EQ(DocumentedNames("rounds --totals"), PrintedNames(CommStatsJson(stats)));
}

TEST(CliReadmeTest, ListsTheNamesOfAnExplanation) {
  v1::RoundExplanation explanation;
  explanation.add_changes()->set_worker("a");
  explanation.add_repeats()->set_text("again");
  explanation.mutable_samples()->add_returned()->set_worker("a");
  explanation.mutable_samples()->add_not_finite()->set_worker("a");
  explanation.add_events()->set_kind("paused");
  explanation.mutable_sparse()->set_reductions(1);
  EXPECT_EQ(DocumentedNames("explain"), PrintedNames(ExplanationJson(explanation)));
}

TEST(CliReadmeTest, ListsTheNamesOfAReplay) {
  ReplayView view;
  view.report.differences.push_back({1, "the order of round 7", "length", "3", "4"});
  view.train = TrainView{2, 1, "", RetrainReport::Difference{{2}, "state hash", "a", "b"}};
  EXPECT_EQ(DocumentedNames("replay"), PrintedNames(ReplayJson(view)));
}

}  // namespace
}  // namespace rondo::cli
