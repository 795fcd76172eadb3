// What the verbs print: units, rounds, status, progress, summary.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "absl/time/time.h"
#include "server/cli/comm_format.h"
#include "server/cli/explain_format.h"
#include "server/cli/progress_line.h"
#include "server/cli/round_format.h"
#include "server/cli/status_format.h"
#include "server/cli/units.h"

namespace rondo::cli {
namespace {

v1::Round SomeRound() {
  v1::Round round;
  round.set_round(7);
  round.set_mode(v1::MODE_LOCAL);
  round.set_first_step(24);
  round.set_length(4);
  round.set_rate_first(0.1 + 0.2);
  round.set_mean_loss(1.0 / 3);
  round.set_state_hash(0xab);
  round.add_members("worker-0");
  round.add_members("worker-1");
  return round;
}

TEST(UnitsTest, BytesGrowByThousands) {
  EXPECT_EQ(BytesText(0), "0 B");
  EXPECT_EQ(BytesText(999), "999 B");
  EXPECT_EQ(BytesText(1000), "1.0 kB");
  EXPECT_EQ(BytesText(999'960), "1.0 MB");
  EXPECT_EQ(BytesText(12'345'678), "12.3 MB");
}

TEST(UnitsTest, SecondsHaveTheUnitThatFits) {
  EXPECT_EQ(SecondsText(0.00042), "0.42 ms");
  EXPECT_EQ(SecondsText(1.5), "1.50 s");
  EXPECT_EQ(SecondsText(125), "2 min 05 s");
  EXPECT_EQ(SecondsText(3 * 3600 + 240), "3 h 04 min");
  EXPECT_EQ(SecondsText(std::numeric_limits<double>::infinity()), "unknown");
}

TEST(RoundFormatTest, JsonKeepsEveryBitOfADouble) {
  const auto json = nlohmann::json::parse(RoundJson(SomeRound()).dump());
  EXPECT_EQ(json["rate_first"].get<double>(), 0.1 + 0.2);
  EXPECT_EQ(json["mean_loss"].get<double>(), 1.0 / 3);
}

TEST(RoundFormatTest, JsonHasTheStableNamesInOrder) {
  const nlohmann::ordered_json json = RoundJson(SomeRound());
  const char* const names[] = {"round",
                               "mode",
                               "first_step",
                               "length",
                               "rate_first",
                               "mean_loss",
                               "parameter_norm_squared",
                               "state_hash",
                               "members",
                               "bytes_sent",
                               "reduce_seconds",
                               "control_seconds",
                               "samples"};
  auto it = json.begin();
  for (const char* name : names) {
    ASSERT_NE(it, json.end());
    EXPECT_EQ(it.key(), name);
    ++it;
  }
  EXPECT_EQ(json["mode"], "local");
  EXPECT_EQ(json["state_hash"], "00000000000000ab");
  EXPECT_EQ(json["members"].dump(), R"(["worker-0","worker-1"])");
}

TEST(RoundFormatTest, ALossThatIsNotFiniteIsNull) {
  v1::Round round = SomeRound();
  round.set_mean_loss(std::nan(""));
  EXPECT_TRUE(nlohmann::json::parse(RoundJson(round).dump())["mean_loss"].is_null());
}

TEST(RoundFormatTest, WhatARewindHasUndoneIsMarked) {
  v1::Round round = SomeRound();
  EXPECT_EQ(RoundLine(round).find("undone"), std::string::npos);
  EXPECT_EQ(RoundJson(round)["undone"], false);
  round.set_undone(true);
  EXPECT_NE(RoundLine(round).find("undone"), std::string::npos);
  EXPECT_EQ(RoundJson(round)["undone"], true);
}

v1::Round SparseRoundOf() {
  v1::Round round = SomeRound();
  round.set_collective(v1::COLLECTIVE_KIND_SPARSE);
  round.set_density(0.01);
  v1::PhaseCost* split = round.add_costs();
  split->set_phase(v1::PHASE_SPLIT);
  split->set_bytes_sent(800);
  round.add_costs()->set_phase(v1::PHASE_THRESHOLD);
  v1::SparseRound* sparse = round.mutable_sparse();
  sparse->set_reductions(1);
  sparse->set_entries_selected(172);
  sparse->set_entries_delivered(171);
  sparse->set_select_seconds(0.002);
  sparse->set_residual_norm(1.25);
  sparse->set_imbalance(1.5);
  return round;
}

TEST(RoundFormatTest, ASparseRoundSaysWhatItTookAndLeft) {
  EXPECT_EQ(RoundLine(SomeRound()).find("sparse"), std::string::npos);
  EXPECT_NE(RoundLine(SparseRoundOf())
                .find("sparse 0.01: 172 entries each, 171 taken, selection 2.00 ms, residual 1.25, "
                      "imbalance 1.50"),
            std::string::npos)
      << RoundLine(SparseRoundOf());
  const nlohmann::ordered_json json = RoundJson(SparseRoundOf());
  EXPECT_EQ(json["collective"], "sparse");
  EXPECT_EQ(json["density"], 0.01);
  EXPECT_EQ(json["costs"][0]["phase"], "split");
  EXPECT_EQ(json["costs"][0]["entries_sent"], 100);
  EXPECT_FALSE(json["costs"][1].contains("entries_sent"));
  EXPECT_EQ(json["sparse"]["imbalance"], 1.5);
  EXPECT_FALSE(RoundJson(SomeRound()).contains("sparse"));
}

TEST(CommFormatTest, TotalsNameCollectivesAndPhases) {
  v1::CommStats stats;
  EXPECT_EQ(CommStatsText(stats), "no round was committed\n");
  v1::CollectiveStats* sparse = stats.add_collectives();
  sparse->set_collective(v1::COLLECTIVE_KIND_SPARSE);
  sparse->set_rounds(3);
  sparse->set_entries_delivered(100);
  v1::PhaseCost* gather = sparse->add_costs();
  gather->set_phase(v1::PHASE_GATHER);
  gather->set_bytes_sent(8);
  sparse->add_costs()->set_phase(v1::PHASE_THRESHOLD);
  stats.set_collective_text("auto: sparse stays");
  stats.set_residual_norm_squared(4);
  stats.set_residuals_undelivered(2);
  const std::string text = CommStatsText(stats);
  for (const char* part :
       {"sparse: 3 rounds", "gather", "auto: sparse stays", "norm 2", "2 never delivered"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
  // What this collective does not have, or does not measure.
  EXPECT_EQ(text.find("threshold"), std::string::npos) << text;
  EXPECT_EQ(text.find("imbalance"), std::string::npos) << text;
  const nlohmann::ordered_json json = CommStatsJson(stats);
  EXPECT_EQ(json["collectives"][0]["costs"][0]["phase"], "gather");
  EXPECT_EQ(json["residual_norm"], 2);
}

TEST(StatusFormatTest, TheCollectiveIsARowWhereItIsNotTheRing) {
  v1::Status status;
  status.set_job_id("a-1");
  EXPECT_EQ(StatusText(status).find("collective"), std::string::npos);
  status.set_collective(v1::COLLECTIVE_KIND_SPARSE);
  status.set_density(0.01);
  status.set_residual_norm_squared(9);
  status.set_residuals_undelivered(1);
  EXPECT_NE(StatusText(status).find("collective   sparse at density 0.01; residuals of norm 3, 1 "
                                    "never delivered"),
            std::string::npos)
      << StatusText(status);
  EXPECT_EQ(StatusText(status).find("left at the end"), std::string::npos);
  status.set_state(v1::JOB_STATE_DONE);
  EXPECT_NE(StatusText(status).find("1 never delivered (with those left at the end)"),
            std::string::npos)
      << StatusText(status);
  EXPECT_EQ(StatusJson(status)["collective"], "sparse");
  EXPECT_EQ(StatusJson(status)["residual_norm"], 3);
}

TEST(StatusFormatTest, ProgressSaysWhatAWaitingJobWaitsFor) {
  v1::Status status;
  status.set_state(v1::JOB_STATE_WAITING);
  status.set_reason("1 of 4 workers are here");
  EXPECT_EQ(ProgressLineText(status), "waiting: 1 of 4 workers are here");
}

TEST(StatusFormatTest, ProgressSaysWhatHoldsABegunJobUp) {
  v1::Status status;
  status.set_state(v1::JOB_STATE_WAITING);
  status.set_reason("2 of at least 3 workers are ready (for 9 s)");
  status.set_group(2);
  status.set_committed_round(3);
  status.set_live_step(150);
  status.set_steps(460);
  EXPECT_EQ(ProgressLineText(status),
            "step 150/460  round 3  waiting: 2 of at least 3 workers are ready (for 9 s)");
  status.set_state(v1::JOB_STATE_BLOCKED);
  status.set_reason("COMMIT: database or disk is full");
  EXPECT_EQ(ProgressLineText(status),
            "step 150/460  round 3  blocked: COMMIT: database or disk is full");
}

TEST(StatusFormatTest, ProgressShowsStepRoundLengthLossRateAndShare) {
  v1::Status status;
  status.set_group(1);
  status.set_round(3);
  status.set_committed_round(2);
  status.set_live_step(9);
  status.set_steps(460);
  status.set_next_length(4);
  status.set_last_loss(0.5);
  status.set_learning_rate(0.1);
  status.set_samples_per_second(1200);
  status.set_percent_of_parallel(25);
  EXPECT_EQ(ProgressLineText(status),
            "step 9/460  round 3  H 4  loss 0.5000  rate 0.1  1200 samples/s  25.0 % of parallel");
}

TEST(StatusFormatTest, AnUnstartedRunShowsNoPlaceholders) {
  v1::Status status;
  status.set_job_id("a-1");
  status.set_state(v1::JOB_STATE_WAITING);
  status.set_steps(460);
  EXPECT_EQ(StatusText(status),
            "a-1: waiting\n  step         0 of 460\n  rounds       0 committed\n");
}

TEST(StatusFormatTest, TheMembersAreNamed) {
  v1::Status status;
  status.set_group(3);
  status.set_members(2);
  status.add_member_names("worker-0");
  status.add_member_names("worker-2");
  status.set_samples_per_second(1200);
  const std::string text = StatusText(status);
  EXPECT_NE(text.find("members      2 in group 3: worker-0 and worker-2, 1200 samples/s\n"),
            std::string::npos)
      << text;
  EXPECT_EQ(StatusJson(status)["member_names"].dump(), R"(["worker-0","worker-2"])");
}

TEST(StatusFormatTest, ALossWithoutClassesHasNoAccuracy) {
  RunSummary summary;
  v1::Evaluation* evaluation = summary.status.mutable_last_evaluation();
  evaluation->set_loss(0.25);
  EXPECT_TRUE(nlohmann::json::parse(SummaryJson(summary).dump())["test_accuracy"].is_null());
  const std::string text = SummaryText(summary);
  EXPECT_EQ(text.find("accuracy"), std::string::npos) << text;
  EXPECT_NE(text.find("loss 0.2500"), std::string::npos) << text;
}

TEST(StatusFormatTest, ASummaryWithoutRoundsListsNoZeros) {
  RunSummary summary;
  summary.status.set_steps(460);
  summary.seconds = 3;
  const std::string text = SummaryText(summary);
  EXPECT_NE(text.find("none was committed"), std::string::npos) << text;
  for (const char* absent : {"checksum", "syncs", "sent", "reduce"}) {
    EXPECT_EQ(text.find(absent), std::string::npos) << text;
  }
}

TEST(StatusFormatTest, SummaryJsonBeginsWithTheStableNames) {
  RunSummary summary;
  summary.status.set_step(460);
  summary.rounds = 90;
  const nlohmann::ordered_json json = SummaryJson(summary);
  const char* const names[] = {"steps",         "rounds",    "syncs",  "checksum",
                               "test_accuracy", "test_loss", "seconds"};
  auto it = json.begin();
  for (const char* name : names) EXPECT_EQ((it++).key(), name);
  EXPECT_EQ(json["rounds"], 90);
  EXPECT_TRUE(json["test_accuracy"].is_null());
}

v1::RoundExplanation SomeExplanation() {
  v1::RoundExplanation explanation;
  explanation.set_round(7);
  explanation.set_fate(v1::ROUND_FATE_COMMITTED);
  explanation.set_mode(v1::MODE_LOCAL);
  explanation.set_first_step(340);
  explanation.set_length(12);
  explanation.set_length_text("the rule gives 12.01");
  explanation.set_length_wanted(std::numeric_limits<double>::infinity());
  explanation.add_members("a");
  explanation.add_members("b");
  explanation.set_group(3);
  explanation.set_orders(1);
  v1::MemberChange* const change = explanation.add_changes();
  change->set_worker("c");
  change->set_kind("gone");
  change->set_text("away for 10s");
  change->set_at(1e9);
  v1::Repetition* const repeat = explanation.add_repeats();
  repeat->set_text("round 7, attempt 1: reset");
  repeat->set_seconds(1.5);
  explanation.mutable_samples()->set_used(768);
  v1::WorkerSamples* const returned = explanation.mutable_samples()->add_returned();
  returned->set_worker("c");
  returned->set_count(20);
  return explanation;
}

TEST(ExplainFormatTest, SaysWhyInWords) {
  const std::string text = ExplanationText(SomeExplanation());
  for (const char* part :
       {"round 7: committed", "H = 12       the rule gives 12.01", "a, b (group 3)",
        "c is no longer in the group: away for 10s, at ", "round 7, attempt 1: reset (1.50 s)",
        "768 used", "20 of c returned, to be handed out again"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " in\n" << text;
  }
  EXPECT_EQ(text.find("tail"), std::string::npos) << "what did not happen is left out";
}

TEST(ExplainFormatTest, AWishWithoutLimitIsNull) {
  const auto json = nlohmann::json::parse(ExplanationJson(SomeExplanation()).dump());
  EXPECT_TRUE(json["length_wanted"].is_null());
}

class ProgressLineTest : public testing::Test {
 protected:
  std::string Written() {
    std::fflush(file_);
    std::rewind(file_);
    std::string text(4096, '\0');
    text.resize(std::fread(text.data(), 1, text.size(), file_));
    return text;
  }
  std::FILE* file_ = std::tmpfile();
};

TEST_F(ProgressLineTest, IsRewrittenOnATerminal) {
  ProgressLine line(file_, true);
  line.Show("one", absl::UnixEpoch());
  line.Show("two", absl::UnixEpoch());
  line.Message("a worker died");
  line.Finish();
  EXPECT_EQ(Written(), "\r\x1b[Kone\r\x1b[Ktwo\r\x1b[Ka worker died\ntwo\n");
}

TEST_F(ProgressLineTest, IsALineNowAndThenElsewhere) {
  ProgressLine line(file_, false, absl::Seconds(5));
  line.Show("one", absl::UnixEpoch());
  line.Show("two", absl::UnixEpoch() + absl::Seconds(1));
  line.Show("three", absl::UnixEpoch() + absl::Seconds(5));
  line.Show("three", absl::UnixEpoch() + absl::Seconds(20));
  line.Finish();
  EXPECT_EQ(Written(), "one\nthree\n");
}

TEST(ClosedTerminalTest, EndsNoRun) {
  std::FILE* const full = std::fopen("/dev/full", "w");
  ASSERT_NE(full, nullptr);
  for (const bool terminal : {true, false}) {
    ProgressLine line(full, terminal);
    line.Show("one", absl::UnixEpoch());
    line.Message("a worker died");
    line.Finish();
  }
  std::fclose(full);
}

}  // namespace
}  // namespace rondo::cli
