#include "server/cli/source.h"

#include <fmt/format.h>

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "common/dial_target.h"
#include "common/status_macros.h"
#include "server/cli/address_file.h"
#include "server/cli/jobs_client.h"
#include "server/cli/journal_history.h"
#include "server/cli/status_format.h"
#include "server/edge/journal_reader.h"
#include "server/edge/state_dir.h"

namespace rondo::cli {
namespace {

// `ask` of a live coordinator; `read` of the journal when there is a state directory and nobody
// answers. T is what both give.
template <typename T, typename Ask, typename Read>
absl::StatusOr<T> AskOrRead(const Source& source, Ask ask, Read read) {
  absl::Status unanswered;
  if (const std::string address = LiveAddress(source); !address.empty()) {
    JobsClient client(address);
    absl::StatusOr<T> answer = ask(client);
    if (!absl::IsUnavailable(answer.status())) return answer;
    unanswered = answer.status();
  }
  if (source.state_dir.empty()) return unanswered;
  ASSIGN_OR_RETURN(const std::unique_ptr<server::JournalReader> reader,
                   OpenHistory(source.state_dir));
  return read(*reader);
}

}  // namespace

void AddSourceFlags(CLI::App& verb, Source& source) {
  CLI::Option_group* group = verb.add_option_group("run", "Which run (one of the two)");
  const auto not_empty = [](const std::string& value) {
    return value.empty() ? std::string("its value is empty") : std::string();
  };
  const auto target = [](const std::string& value) { return WrongDialTarget(value); };
  group->add_option("--coordinator", source.coordinator, "HOST:PORT of a live coordinator")
      ->check(target);
  group->add_option("--state", source.state_dir, "State directory of a run, live or ended")
      ->check(not_empty);
  group->require_option(1);
}

std::string LiveAddress(const Source& source) {
  if (!source.coordinator.empty()) return source.coordinator;
  return ReadAddressFile(AddressFileOf(source.state_dir));
}

absl::StatusOr<v1::Status> LoadStatus(const Source& source) {
  return AskOrRead<v1::Status>(
      source, [](JobsClient& client) { return client.GetStatus(); },
      [&](server::JournalReader& reader) {
        return StatusFromJournal(reader, server::StateDir::IsHeld(source.state_dir));
      });
}

absl::StatusOr<std::optional<EndedRun>> LoadEnded(const Source& source) {
  if (source.state_dir.empty() || server::StateDir::IsHeld(source.state_dir)) return std::nullopt;
  ASSIGN_OR_RETURN(const std::unique_ptr<server::JournalReader> reader,
                   OpenHistory(source.state_dir));
  EndedRun run;
  ASSIGN_OR_RETURN(run.status, StatusFromJournal(*reader, /*held=*/false));
  ASSIGN_OR_RETURN(const std::optional<server::EndRecord> end, reader->End());
  run.killed = !end.has_value();
  return run;
}

std::string NothingTo(const std::string& verb, const EndedRun& run, const std::string& state_dir) {
  const v1::Status& status = run.status;
  const std::string why =
      run.killed
          ? fmt::format("does not run, its coordinator was killed after step {}", status.step())
          : fmt::format("has ended ({})", StateName(status.state()));
  std::string text = fmt::format("job {} {}: there is nothing to {}", status.job_id(), why, verb);
  if (status.state() == v1::JOB_STATE_DONE) return text;
  return text + fmt::format(
                    "; it goes on when `rondo run` (or rondo-coordinator) is given the same job "
                    "file and --state {} again",
                    state_dir);
}

absl::StatusOr<std::vector<v1::Round>> LoadRounds(const Source& source, uint64_t first_round) {
  return AskOrRead<std::vector<v1::Round>>(
      source, [&](JobsClient& client) { return client.ListRounds(first_round); },
      [&](server::JournalReader& reader) { return RoundsFromJournal(reader, first_round); });
}

absl::StatusOr<v1::CommStats> LoadCommStats(const Source& source, uint64_t first_round) {
  return AskOrRead<v1::CommStats>(
      source, [&](JobsClient& client) { return client.GetCommStats(first_round); },
      [&](server::JournalReader& reader) { return CommStatsFromJournal(reader, first_round); });
}

absl::StatusOr<v1::RoundExplanation> LoadExplanation(const Source& source, uint64_t round) {
  return AskOrRead<v1::RoundExplanation>(
      source, [&](JobsClient& client) { return client.ExplainRound(round); },
      [&](server::JournalReader& reader) { return ExplanationFromJournal(reader, round); });
}

}  // namespace rondo::cli
