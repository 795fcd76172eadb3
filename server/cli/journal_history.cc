#include "server/cli/journal_history.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "absl/time/time.h"
#include "common/status_macros.h"
#include "server/core/collective.h"
#include "server/core/comm_stats.h"
#include "server/core/explain.h"
#include "server/core/plan.h"
#include "server/core/records.h"
#include "server/edge/comm_codec.h"
#include "server/edge/comm_totals.h"
#include "server/edge/explain_codec.h"
#include "server/edge/jobs_codec.h"
#include "server/runtime/job_config.h"

namespace rondo::cli {
namespace {

using server::JournalReader;
using server::RoundRow;

constexpr uint64_t kNoLimit = std::numeric_limits<int64_t>::max();
constexpr size_t kEventsShown = 20;

double UnixSeconds(absl::Time time) { return absl::ToDoubleSeconds(time - absl::UnixEpoch()); }

// What a round has cost counts, whatever became of it later.
void AddCosts(const server::CommitRecord& commit, uint64_t parameters, v1::Status* status) {
  const auto members = static_cast<int64_t>(commit.members.size());
  status->set_bytes_sent(status->bytes_sent() + commit.bytes_sent);
  status->set_bytes_sent_if_parallel(
      status->bytes_sent_if_parallel() +
      commit.length * static_cast<uint64_t>(
                          members * RingBytesPerSync(members, static_cast<int64_t>(parameters))));
  status->set_step_seconds(status->step_seconds() + commit.step_seconds);
  status->set_reduce_seconds(status->reduce_seconds() + commit.reduce_seconds);
  status->set_control_seconds(status->control_seconds() + commit.control_seconds);
  if (status->started_at() == 0) status->set_started_at(UnixSeconds(commit.at) - commit.seconds);
  status->set_seconds(UnixSeconds(commit.at) - status->started_at());
}

// Where the job stands after a round that was not undone.
void AddRound(const server::CommitRecord& commit, v1::Status* status) {
  status->set_group(commit.group.value);
  status->set_committed_round(commit.round.value);
  status->set_step(commit.first_step + commit.length);
  status->set_syncs(status->syncs() +
                    (commit.mode == RoundMode::kParallel ? commit.length : uint64_t{1}));
  status->set_last_loss(commit.mean_loss);
  status->set_samples_dropped(commit.ledger.samples_dropped);
  double residuals = 0;
  for (const server::ResidualNorm& residual : commit.residuals) residuals += residual.norm_squared;
  status->set_residual_norm_squared(residuals);
}

// What is left of the job's collective and its residuals to tell after `rounds`.
void AddCollective(const v1::Job& job, const std::vector<RoundRow>& rounds,
                   const std::optional<server::EndRecord>& end, v1::Status* status) {
  server::CollectiveTrials trials;
  for (const RoundRow& row : rounds) AddTrial(row.commit, &trials);
  // One that only a newer version knows has nothing to tell here.
  const absl::StatusOr<server::CollectiveConfig> config = CollectiveFromJob(job);
  if (config.ok()) status->set_collective_text(TellChoice(*config, trials));
  if (end) status->set_residuals_undelivered(end->residuals_undelivered);
}

void SetEnd(const std::optional<server::EndRecord>& end, bool held, v1::Status* status) {
  if (!end.has_value() && held) {
    status->set_state(v1::JOB_STATE_RUNNING);
    status->set_reason("a coordinator holds the directory but does not answer");
    return;
  }
  if (!end.has_value()) {
    status->set_state(v1::JOB_STATE_FAILED);
    status->set_reason(
        "no coordinator answers and the journal has no end: it was killed; started again with the "
        "same --state it goes on");
    return;
  }
  status->set_reason(end->reason);
  switch (end->state) {
    case server::EndState::kDone:
      return status->set_state(v1::JOB_STATE_DONE);
    case server::EndState::kStopped:
      return status->set_state(v1::JOB_STATE_STOPPED);
    case server::EndState::kFailed:
      return status->set_state(v1::JOB_STATE_FAILED);
  }
}

absl::Status AddEvaluations(JournalReader& reader, v1::Status* status) {
  ASSIGN_OR_RETURN(const std::vector<server::EvaluationRecord> evaluations, reader.Evaluations());
  for (const server::EvaluationRecord& each : evaluations) {
    status->set_evaluate_seconds(status->evaluate_seconds() + each.seconds);
    v1::Evaluation* last = status->mutable_last_evaluation();
    last->set_round(each.round.value);
    last->set_step(each.step);
    last->set_loss(each.loss);
    last->clear_accuracy();
    if (each.accuracy) last->set_accuracy(*each.accuracy);
    last->set_count(each.count);
  }
  return absl::OkStatus();
}

absl::Status AddEvents(JournalReader& reader, v1::Status* status) {
  ASSIGN_OR_RETURN(const std::vector<server::NoticeRecord> notices, reader.Notices(1, kNoLimit));
  const size_t first = notices.size() - std::min(notices.size(), kEventsShown);
  for (size_t i = first; i < notices.size(); ++i) {
    v1::Notice* event = status->add_events();
    event->set_number(i + 1);
    server::EncodeNotice(notices[i], event);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<JournalReader>> OpenHistory(const std::string& state_dir) {
  absl::StatusOr<std::unique_ptr<JournalReader>> reader =
      JournalReader::Open(state_dir + "/journal.db");
  if (!absl::IsNotFound(reader.status())) return reader;
  return absl::NotFoundError(fmt::format("{} holds no run: there is no journal in it", state_dir));
}

absl::StatusOr<v1::Status> StatusFromJournal(JournalReader& reader, bool held) {
  v1::Status status;
  ASSIGN_OR_RETURN(const v1::Job job, reader.Job());
  status.set_job_id(job.id());
  status.set_name(job.name());
  status.set_steps(static_cast<uint64_t>(job.resolved().steps()));
  ASSIGN_OR_RETURN(const Term term, reader.LastTerm());
  status.set_term(term.value);
  ASSIGN_OR_RETURN(const std::optional<server::ReferenceRecord> reference, reader.Reference());
  if (reference.has_value()) {
    status.set_parameters(reference->facts.parameters);
    status.set_steps(reference->total_steps);
  }
  ASSIGN_OR_RETURN(const std::vector<RoundRow> rounds, reader.Rounds(RoundId{1}, kNoLimit));
  RoundChecksum checksum;
  for (const RoundRow& row : rounds) {
    AddCosts(row.commit, status.parameters(), &status);
    if (row.undone) continue;
    AddRound(row.commit, &status);
    checksum.Add(static_cast<int64_t>(row.commit.length));
  }
  status.set_checksum(checksum.value());
  if (status.step() > 0) {
    status.set_percent_of_parallel(100.0 * static_cast<double>(status.syncs()) /
                                   static_cast<double>(status.step()));
  }
  status.set_live_step(status.step());
  RETURN_IF_ERROR(AddEvaluations(reader, &status));
  RETURN_IF_ERROR(AddEvents(reader, &status));
  ASSIGN_OR_RETURN(const std::vector<server::CheckpointRecord> checkpoints, reader.Checkpoints());
  if (!checkpoints.empty()) status.set_checkpoint(fmt::format("step-{}", checkpoints.back().step));
  ASSIGN_OR_RETURN(const std::optional<server::EndRecord> end, reader.End());
  SetEnd(end, held, &status);
  AddCollective(job, rounds, end, &status);
  return status;
}

absl::StatusOr<std::vector<v1::Round>> RoundsFromJournal(JournalReader& reader,
                                                         uint64_t first_round) {
  ASSIGN_OR_RETURN(const std::vector<RoundRow> rows,
                   reader.Rounds(RoundId{std::max<uint64_t>(first_round, 1)}, kNoLimit));
  std::vector<v1::Round> rounds(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) server::EncodeRound(rows[i], &rounds[i]);
  return rounds;
}

absl::StatusOr<v1::CommStats> CommStatsFromJournal(JournalReader& reader, uint64_t first_round) {
  ASSIGN_OR_RETURN(const server::CommStats totals,
                   server::SumUpRounds(reader, RoundId{first_round}, RoundId{}));
  ASSIGN_OR_RETURN(const v1::Status status, StatusFromJournal(reader, /*held=*/false));
  v1::CommStats stats;
  server::EncodeTotals(totals, &stats);
  stats.set_collective_text(status.collective_text());
  stats.set_residual_norm_squared(status.residual_norm_squared());
  stats.set_residuals_undelivered(status.residuals_undelivered());
  return stats;
}

absl::StatusOr<v1::RoundExplanation> ExplanationFromJournal(JournalReader& reader, uint64_t round) {
  ASSIGN_OR_RETURN(const v1::Job job, reader.Job());
  server::ExplainConfig config;
  ASSIGN_OR_RETURN(config.policy, PolicyFromJob(job));
  ASSIGN_OR_RETURN(config.schedule, ScheduleFromJob(job));
  ASSIGN_OR_RETURN(config.collective, CollectiveFromJob(job));
  return server::ExplainFromJournal(reader, std::move(config), RoundId{round});
}

}  // namespace rondo::cli
