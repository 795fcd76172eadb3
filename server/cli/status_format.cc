#include "server/cli/status_format.h"

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "server/cli/comm_format.h"
#include "server/cli/units.h"
#include "server/core/words.h"

namespace rondo::cli {
namespace {

using nlohmann::ordered_json;

ordered_json EvaluationJson(const v1::Evaluation& evaluation) {
  ordered_json json = {{"round", evaluation.round()},
                       {"step", evaluation.step()},
                       {"loss", evaluation.loss()},
                       {"accuracy", nullptr},
                       {"count", evaluation.count()}};
  if (evaluation.has_accuracy()) json["accuracy"] = evaluation.accuracy();
  return json;
}

std::string Row(std::string_view name, std::string_view text) {
  return fmt::format("  {:<12} {}\n", name, text);
}

std::string SyncsText(const v1::Status& status) {
  return fmt::format("{} ({:.2f} % of parallel)", status.syncs(), status.percent_of_parallel());
}

std::string SentText(const v1::Status& status) {
  if (status.bytes_sent_if_parallel() == 0) return BytesText(status.bytes_sent());
  return fmt::format("{} (parallel: {})", BytesText(status.bytes_sent()),
                     BytesText(status.bytes_sent_if_parallel()));
}

std::string KindsText(const v1::Status& status) {
  return fmt::format("steps {}, reduce {}, control {}, evaluation {}",
                     SecondsText(status.step_seconds()), SecondsText(status.reduce_seconds()),
                     SecondsText(status.control_seconds()), SecondsText(status.evaluate_seconds()));
}

std::string TestText(const v1::Status& status) {
  const v1::Evaluation& evaluation = status.last_evaluation();
  std::string accuracy;
  if (evaluation.has_accuracy()) {
    accuracy = fmt::format("accuracy {:.4f}, ", evaluation.accuracy());
  }
  return fmt::format("{}loss {:.4f} (after step {}, {})", accuracy, evaluation.loss(),
                     evaluation.step(), Counted(evaluation.count(), "sample"));
}

std::string StepText(const v1::Status& status) {
  if (status.steps() == 0) return "the number of steps is not known before the first worker's data";
  return fmt::format("{} of {}", status.step(), status.steps());
}

// What the first committed round brings.
std::string RoundRows(const v1::Status& status) {
  std::string rounds = fmt::format("{} committed", status.committed_round());
  if (status.committed_round() > 0) rounds += fmt::format(", checksum {}", status.checksum());
  if (status.next_length() > 0) rounds += fmt::format(", next H {}", status.next_length());
  std::string text = Row("rounds", rounds);
  if (status.committed_round() == 0) return text;
  text += Row("syncs", SyncsText(status));
  std::string loss = fmt::format("{:.6g}", status.last_loss());
  if (status.learning_rate() > 0) loss += fmt::format(", rate {:.6g}", status.learning_rate());
  return text + Row("loss", loss);
}

std::string MembersText(const v1::Status& status) {
  const std::vector<std::string> names(status.member_names().begin(), status.member_names().end());
  std::string text = fmt::format("{} in group {}{}{}", status.members(), status.group(),
                                 names.empty() ? "" : ": ", Listed(names));
  if (status.samples_per_second() > 0) {
    text += fmt::format(", {:.4g} samples/s", status.samples_per_second());
  }
  return text;
}

// Empty for a job that reduces densely alone.
std::string CollectiveText(const v1::Status& status) {
  const bool sparse = status.density() > 0;
  const bool residuals = status.residual_norm_squared() > 0 || status.residuals_undelivered() > 0;
  std::string text = status.collective_text();
  if (text.empty() && sparse) {
    text =
        fmt::format("{} at density {:.4g}", CollectiveName(status.collective()), status.density());
  }
  if (!residuals) return text;
  if (!text.empty()) text += "; ";
  text += fmt::format("residuals of norm {:.4g}", std::sqrt(status.residual_norm_squared()));
  if (status.residuals_undelivered() == 0) return text;
  const bool ended = status.state() == v1::JOB_STATE_DONE ||
                     status.state() == v1::JOB_STATE_STOPPED ||
                     status.state() == v1::JOB_STATE_FAILED;
  return text + fmt::format(", {} never delivered{}", status.residuals_undelivered(),
                            ended ? " (with those left at the end)" : "");
}

}  // namespace

std::string StateName(v1::JobState state) {
  switch (state) {
    case v1::JOB_STATE_WAITING:
      return "waiting";
    case v1::JOB_STATE_RUNNING:
      return "running";
    case v1::JOB_STATE_ENDING:
      return "ending";
    case v1::JOB_STATE_DONE:
      return "done";
    case v1::JOB_STATE_STOPPED:
      return "stopped";
    case v1::JOB_STATE_FAILED:
      return "failed";
    case v1::JOB_STATE_BLOCKED:
      return "blocked";
    case v1::JOB_STATE_PAUSED:
      return "paused";
    default:
      return fmt::format("unknown ({})", static_cast<int>(state));  // A newer coordinator's.
  }
}

ordered_json StatusJson(const v1::Status& status) {
  ordered_json json = {{"job_id", status.job_id()},
                       {"name", status.name()},
                       {"state", StateName(status.state())},
                       {"reason", status.reason()},
                       {"term", status.term()},
                       {"group", status.group()},
                       {"round", status.round()},
                       {"committed_round", status.committed_round()},
                       {"step", status.step()},
                       {"live_step", status.live_step()},
                       {"steps", status.steps()},
                       {"syncs", status.syncs()},
                       {"percent_of_parallel", status.percent_of_parallel()},
                       {"checksum", status.checksum()},
                       {"last_loss", status.last_loss()},
                       {"learning_rate", status.learning_rate()},
                       {"next_length", status.next_length()},
                       {"started_at", status.started_at()},
                       {"seconds", status.seconds()},
                       {"samples_per_second", status.samples_per_second()},
                       {"bytes_sent", status.bytes_sent()},
                       {"bytes_sent_if_parallel", status.bytes_sent_if_parallel()},
                       {"step_seconds", status.step_seconds()},
                       {"reduce_seconds", status.reduce_seconds()},
                       {"control_seconds", status.control_seconds()},
                       {"evaluate_seconds", status.evaluate_seconds()},
                       {"last_evaluation", nullptr},
                       {"members", status.members()},
                       {"events", ordered_json::array()},
                       {"parameters", status.parameters()},
                       {"samples_dropped", status.samples_dropped()},
                       {"checkpoint", status.checkpoint()},
                       {"collective", CollectiveName(status.collective())},
                       {"density", status.density()},
                       {"collective_text", status.collective_text()},
                       {"residual_norm", std::sqrt(status.residual_norm_squared())},
                       {"residuals_undelivered", status.residuals_undelivered()},
                       {"member_names", ordered_json::array()}};
  for (const std::string& name : status.member_names()) json["member_names"].push_back(name);
  if (status.has_last_evaluation()) {
    json["last_evaluation"] = EvaluationJson(status.last_evaluation());
  }
  for (const v1::Notice& event : status.events()) {
    json["events"].push_back({{"number", event.number()},
                              {"at", event.at()},
                              {"kind", event.kind()},
                              {"text", event.text()}});
  }
  return json;
}

std::string StatusText(const v1::Status& status) {
  std::string text = fmt::format("{}: {}{}{}\n", status.job_id(), StateName(status.state()),
                                 status.reason().empty() ? "" : ": ", status.reason());
  text += Row("step", StepText(status));
  text += RoundRows(status);
  if (status.has_last_evaluation()) text += Row("test", TestText(status));
  if (status.members() > 0) text += Row("members", MembersText(status));
  if (const std::string collective = CollectiveText(status); !collective.empty()) {
    text += Row("collective", collective);
  }
  if (status.committed_round() > 0) text += Row("sent", SentText(status));
  if (status.started_at() > 0) {
    text += Row("seconds", fmt::format("{}: {}", SecondsText(status.seconds()), KindsText(status)));
  }
  if (!status.checkpoint().empty()) text += Row("checkpoint", status.checkpoint());
  for (const v1::Notice& event : status.events()) {
    text += Row(event.number() == status.events(0).number() ? "events" : "",
                fmt::format("{}: {}", event.kind(), event.text()));
  }
  return text;
}

std::string ProgressLineText(const v1::Status& status) {
  if (status.group() == 0) {
    return status.reason().empty()
               ? StateName(status.state())
               : fmt::format("{}: {}", StateName(status.state()), status.reason());
  }
  const uint64_t round = status.round() != 0 ? status.round() : status.committed_round();
  std::string line = fmt::format("step {}/{}  round {}", status.live_step(), status.steps(), round);
  if (status.next_length() != 0) line += fmt::format("  H {}", status.next_length());
  const bool halted = status.state() == v1::JOB_STATE_WAITING ||
                      status.state() == v1::JOB_STATE_BLOCKED ||
                      status.state() == v1::JOB_STATE_PAUSED;
  if (halted && !status.reason().empty()) {
    return fmt::format("{}  {}: {}", line, StateName(status.state()), status.reason());
  }
  if (status.committed_round() == 0) return line;
  line += fmt::format("  loss {:.4f}  rate {:.3g}", status.last_loss(), status.learning_rate());
  if (status.samples_per_second() > 0) {
    line += fmt::format("  {:.4g} samples/s", status.samples_per_second());
  }
  line += fmt::format("  {:.1f} % of parallel", status.percent_of_parallel());
  return line;
}

std::string SummaryText(const RunSummary& summary) {
  const v1::Status& status = summary.status;
  std::string text = fmt::format("{}: {}{}{}\n", status.job_id(), StateName(status.state()),
                                 status.reason().empty() ? "" : ": ", status.reason());
  if (status.has_last_evaluation()) text += Row("test", TestText(status));
  text += Row("steps", StepText(status));
  if (summary.rounds == 0) {
    text += Row("rounds", "none was committed");
    text += Row("seconds", SecondsText(summary.seconds));
  } else {
    text += Row("rounds", fmt::format("{}, checksum {}", summary.rounds, status.checksum()));
    text += Row("syncs", SyncsText(status));
    text += Row("sent", SentText(status));
    text += Row("seconds", fmt::format("{}: {}", SecondsText(summary.seconds), KindsText(status)));
  }
  if (!summary.model_path.empty()) text += Row("model", summary.model_path);
  text += Row("state", summary.state_dir);
  return text;
}

ordered_json SummaryJson(const RunSummary& summary) {
  const v1::Status& status = summary.status;
  ordered_json json = {{"steps", status.step()},
                       {"rounds", summary.rounds},
                       {"syncs", status.syncs()},
                       {"checksum", status.checksum()},
                       {"test_accuracy", nullptr},
                       {"test_loss", nullptr},
                       {"seconds", summary.seconds},
                       {"state", StateName(status.state())},
                       {"percent_of_parallel", status.percent_of_parallel()},
                       {"bytes_sent", status.bytes_sent()},
                       {"bytes_sent_if_parallel", status.bytes_sent_if_parallel()},
                       {"step_seconds", status.step_seconds()},
                       {"reduce_seconds", status.reduce_seconds()},
                       {"control_seconds", status.control_seconds()},
                       {"evaluate_seconds", status.evaluate_seconds()},
                       {"model", nullptr},
                       {"state_dir", summary.state_dir}};
  if (status.has_last_evaluation()) {
    const v1::Evaluation& last = status.last_evaluation();
    if (last.has_accuracy()) json["test_accuracy"] = last.accuracy();
    json["test_loss"] = status.last_evaluation().loss();
  }
  if (!summary.model_path.empty()) json["model"] = summary.model_path;
  return json;
}

}  // namespace rondo::cli
