#include "server/core/history.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <variant>

namespace rondo::server {
namespace {

void Fold(const TermRecord& record, History& history) {
  history.term = record.term;
  history.lives[record.term] = record.life;
  history.end.reset();
  if (!record.beyond) return;
  history.last_group = std::max(history.last_group, record.beyond->group);
  history.last_round = std::max(history.last_round, record.beyond->round);
}

void Fold(const ReferenceRecord& record, History& history) { history.reference = record; }

void Fold(const GroupRecord& record, History& history) {
  history.last_group = record.group;
  history.group = record;
  for (const Member& member : record.members) {
    const auto it = history.drains.find(member.name);
    if (it != history.drains.end() && it->second != member.incarnation) history.drains.erase(it);
  }
  if (history.commits.contains(history.committed.round)) return;
  for (const Member& member : record.members) history.restored[member.name] = member.incarnation;
}

// The first order after a rewind: what its group's members did not bring back is out of use.
void LeaveUnusedFiles(History& history) {
  const auto kept = history.checkpoints.find(history.committed.round);
  if (kept == history.checkpoints.end()) return;
  std::erase_if(kept->second.local_files, [&](const std::string& name) {
    const auto& members = history.open_members;
    return std::none_of(members.begin(), members.end(),
                        [&](const Member& member) { return member.name == name; });
  });
}

void Fold(const OrderRecord& record, History& history) {
  history.last_round = record.round;
  history.open = record;
  history.open_members.clear();
  if (history.group) history.open_members = history.group->members;
  if (!history.committed.round) history.committed.state_hash = record.base_hash;
  if (std::exchange(history.rewound, false)) LeaveUnusedFiles(history);
  if (history.totals.started_at == absl::InfinitePast()) history.totals.started_at = record.at;
}

std::vector<Member> ContributorsOf(const CommitRecord& commit, const History& history) {
  std::vector<Member> contributors;
  if (!history.group || history.group->group != commit.group) return contributors;
  for (const Member& member : history.group->members) {
    const auto& names = commit.contributors;
    if (std::find(names.begin(), names.end(), member.name) == names.end()) continue;
    contributors.push_back({member.name, member.incarnation, StateNeed::kHolds});
  }
  return contributors;
}

void AddTotals(const CommitRecord& record, const History& history, JobTotals& totals) {
  totals.bytes_sent += record.bytes_sent;
  if (history.reference) {
    const auto members = static_cast<int64_t>(record.members.size());
    const auto parameters = static_cast<int64_t>(history.reference->facts.parameters);
    totals.bytes_if_parallel += record.length * record.members.size() *
                                static_cast<uint64_t>(RingBytesPerSync(members, parameters));
  }
  totals.step_seconds += record.step_seconds;
  totals.reduce_seconds += record.reduce_seconds;
  totals.control_seconds += record.control_seconds;
  totals.last_loss = record.mean_loss;
}

void Fold(const CommitRecord& record, History& history) {
  CommittedState& committed = history.committed;
  committed.round = record.round;
  committed.step = record.first_step + record.length;
  committed.state_hash = record.state_hash;
  committed.ledger = record.ledger;
  committed.syncs += record.mode == RoundMode::kParallel ? record.length : 1;
  committed.checksum.Add(static_cast<int64_t>(record.length));
  committed.contributors = ContributorsOf(record, history);
  const auto steps = static_cast<double>(std::max<uint64_t>(1, record.length));
  committed.step_seconds = record.step_seconds / steps;
  committed.reduce_seconds = record.reduce_seconds;
  committed.mode = record.mode;
  committed.residuals.clear();
  for (const ResidualNorm& residual : record.residuals) {
    committed.residuals[residual.worker] = residual.norm_squared;
  }
  AddTrial(record, &history.trials);
  history.commits[record.round] = {record.group, record.attempt, record.state_hash};
  if (history.commits.size() > kCommitsKept) history.commits.erase(history.commits.begin());
  history.restored.clear();
  AddTotals(record, history, history.totals);
  if (history.open) {
    history.evaluation_pending = history.evaluation_pending || history.open->evaluation_due;
    history.save_pending = history.save_pending || history.open->save_due;
  }
  history.open.reset();
}

void Fold(const VoidRecord&, History& history) { history.open.reset(); }

void Fold(const EvaluationRecord& record, History& history) {
  history.totals.last_evaluation = record;
  history.totals.evaluate_seconds += record.seconds;
  if (record.round == history.committed.round) history.evaluation_pending = false;
}

void Fold(const CheckpointRecord& record, History& history) {
  history.totals.checkpoint_step = record.step;
  if (record.round != history.committed.round) return;
  history.save_pending = false;
  history.checkpoints[record.round] = {history.committed, record.local_files};
  if (history.checkpoints.size() > kCheckpointsKept) {
    history.checkpoints.erase(history.checkpoints.begin());
  }
}

void Fold(const RewindRecord& record, History& history) {
  history.checkpoints.erase(history.checkpoints.upper_bound(record.to_round),
                            history.checkpoints.end());
  const auto kept = history.checkpoints.find(record.to_round);
  history.committed = kept == history.checkpoints.end() ? CommittedState{} : kept->second.state;
  // Who says that it holds a round, or has its result staged, is of the time before.
  history.committed.contributors.clear();
  history.commits.clear();
  history.rewound = true;
  history.restored.clear();
  history.open.reset();
  history.evaluation_pending = false;
  history.save_pending = false;
  JobTotals& totals = history.totals;
  if (totals.last_evaluation && totals.last_evaluation->round > record.to_round) {
    totals.last_evaluation.reset();
  }
  totals.checkpoint_step.reset();
  if (!history.checkpoints.empty()) {
    totals.checkpoint_step = history.checkpoints.rbegin()->second.state.step;
  }
}

void Fold(const NoticeRecord& record, History& history) {
  if (record.kind != kResidualZeroed) return;
  CommittedState& committed = history.committed;
  committed.residuals.erase(record.worker);
  ++committed.residuals_lost;
  committed.residual_lost_norm_squared += record.residual_norm_squared;
}

void Fold(const RequestRecord& record, History& history) {
  switch (record.kind) {
    case RequestKind::kPause:
      history.pause = record.reason;
      return;
    case RequestKind::kResume:
      history.pause.reset();
      return;
    case RequestKind::kDrain:
      history.drains[record.worker] = record.incarnation;
      return;
    case RequestKind::kCheckpoint:
      history.save_pending = true;
      return;
  }
}

void Fold(const EndRecord& record, History& history) { history.end = record; }

// What is wrong with the next record; empty: nothing.

std::string Wrong(const TermRecord& record, const History& history) {
  if (record.term > history.term) return "";
  return fmt::format("term {} after term {}", record.term, history.term);
}

std::string Wrong(const ReferenceRecord&, const History& history) {
  return history.reference ? "a second reference" : "";
}

std::string Wrong(const GroupRecord& record, const History& history) {
  if (record.members.empty()) return fmt::format("group {} without members", record.group);
  if (record.group > history.last_group) return "";
  return fmt::format("group {} after group {}", record.group, history.last_group);
}

std::string Wrong(const OrderRecord& record, const History& history) {
  const bool same = history.open && history.open->round == record.round;  // It goes on.
  if (!same && record.round <= history.last_round) {
    return fmt::format("an order of round {} after round {}", record.round, history.last_round);
  }
  if (!same && history.open) {
    return fmt::format("an order of round {} while round {} is open", record.round,
                       history.open->round);
  }
  if (!history.group || record.group != history.group->group) {
    return fmt::format("an order of round {} to group {}, the newest group is {}", record.round,
                       record.group, history.last_group);
  }
  const size_t members = history.group->members.size();
  if (record.runs.size() != members || record.batches.size() != members) {
    return fmt::format("an order of round {} for {} members, its group has {}", record.round,
                       record.runs.size(), members);
  }
  if (record.first_step >= history.committed.step) return "";
  return fmt::format("an order of round {} from step {}, {} steps are done", record.round,
                     record.first_step, history.committed.step);
}

std::string Wrong(const CommitRecord& record, const History& history) {
  const CommittedState& committed = history.committed;
  if (!history.open || history.open->round != record.round) {
    return fmt::format("a commit of round {}, which is not open", record.round);
  }
  if (record.group > history.last_group) {
    return fmt::format("a commit of round {} by group {}, the newest group is {}", record.round,
                       record.group, history.last_group);
  }
  if (record.first_step != committed.step) {
    return fmt::format("a commit of round {} from step {}, {} steps are done", record.round,
                       record.first_step, committed.step);
  }
  if (record.ledger.epoch >= committed.ledger.epoch &&
      record.ledger.samples_used >= committed.ledger.samples_used &&
      record.ledger.samples_dropped >= committed.ledger.samples_dropped) {
    return "";
  }
  return fmt::format("the ledger of round {} goes back", record.round);
}

std::string Wrong(const VoidRecord& record, const History& history) {
  if (history.open && history.open->round == record.round) return "";
  return fmt::format("round {} is given up, which is not open", record.round);
}

std::string Wrong(const EvaluationRecord& record, const History& history) {
  if (record.round <= history.committed.round) return "";
  return fmt::format("an evaluation after round {}, the last commit is of round {}", record.round,
                     history.committed.round);
}

std::string Wrong(const CheckpointRecord& record, const History& history) {
  if (record.round <= history.committed.round) return "";
  return fmt::format("a checkpoint of round {}, the last commit is of round {}", record.round,
                     history.committed.round);
}

std::string Wrong(const RewindRecord& record, const History& history) {
  if (record.to_round && !history.checkpoints.contains(record.to_round)) {
    return fmt::format("a rewind to round {}, of which there is no checkpoint", record.to_round);
  }
  return "";
}

std::string Wrong(const NoticeRecord&, const History&) { return ""; }
std::string Wrong(const RequestRecord&, const History&) { return ""; }
std::string Wrong(const EndRecord&, const History&) { return ""; }

}  // namespace

void Apply(const Record& record, History* history) {
  std::visit([history](const auto& r) { Fold(r, *history); }, record);
}

absl::Status CheckNext(const Record& record, const History& history) {
  std::string wrong = std::visit([&](const auto& r) { return Wrong(r, history); }, record);
  const bool begins = std::holds_alternative<TermRecord>(record);
  if (wrong.empty() && !begins && !history.term) wrong = "a record before the first term";
  const bool tells = std::holds_alternative<NoticeRecord>(record);  // Who left after the end.
  if (wrong.empty() && !begins && !tells && history.end) wrong = "a record after the end";
  return wrong.empty() ? absl::OkStatus() : absl::DataLossError(wrong);
}

}  // namespace rondo::server
