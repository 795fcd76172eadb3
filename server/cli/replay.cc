#include "server/cli/replay.h"

#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "common/ids.h"
#include "common/status_macros.h"
#include "proto/rondo/v1/job.pb.h"
#include "server/cli/binaries.h"
#include "server/cli/exit_code.h"
#include "server/cli/journal_history.h"
#include "server/cli/progress_line.h"
#include "server/cli/replay_format.h"
#include "server/cli/retrain.h"
#include "server/core/job_machine.h"
#include "server/core/records.h"
#include "server/core/replay.h"
#include "server/core/steady_rounds.h"
#include "server/edge/journal_audit.h"
#include "server/edge/journal_reader.h"
#include "server/runtime/machine_config.h"

namespace rondo::cli {
namespace {

namespace fs = std::filesystem;

struct Options {
  std::string state_dir;
  std::string files_dir;
  std::string bin_dir;
  bool train = false;
  bool json = false;
};

// A folder that goes with this object.
class ScratchDir {
 public:
  static absl::StatusOr<ScratchDir> Make() {
    std::string path = (fs::temp_directory_path() / "rondo-replay-XXXXXX").string();
    if (mkdtemp(path.data()) != nullptr) return ScratchDir(std::move(path));
    return absl::UnavailableError(fmt::format("cannot make a folder {}; set TMPDIR", path));
  }
  ScratchDir(ScratchDir&& other) noexcept : path_(std::exchange(other.path_, "")) {}
  ScratchDir& operator=(ScratchDir&&) = delete;
  ~ScratchDir() {
    std::error_code error;
    if (!path_.empty()) fs::remove_all(path_, error);
  }
  const std::string& path() const { return path_; }

 private:
  explicit ScratchDir(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

absl::StatusOr<TrainView> Train(const Options& options, const v1::Job& job,
                                server::SteadyRounds steady) {
  TrainView view;
  view.ended_by = steady.ended_by;
  view.committed = steady.commits.size();
  if (steady.commits.empty()) return view;
  ASSIGN_OR_RETURN(const Binaries binaries, FindBinaries(options.bin_dir));
  ASSIGN_OR_RETURN(const ScratchDir scratch, ScratchDir::Make());
  RetrainOptions retrain{.job = job,
                         .workers = {},
                         .commits = std::move(steady.commits),
                         .files_dir = options.files_dir,
                         .worker_binary = binaries.worker,
                         .scratch_dir = scratch.path()};
  for (const server::Member& member : steady.members) retrain.workers.push_back(member.name);
  ProgressLine line(stderr, isatty(fileno(stderr)) != 0);
  absl::StatusOr<RetrainReport> report = Retrain(retrain, [&](uint64_t rounds) {
    line.Show(fmt::format("round {}/{}", rounds, retrain.commits.size()), absl::Now());
  });
  line.Finish();
  RETURN_IF_ERROR(report.status());
  view.same = report->rounds;
  view.difference = report->difference;
  return view;
}

// What the journal's tables say beside their records.
absl::Status AddOddRows(const std::string& state_dir, const std::string& scratch,
                        server::ReplayReport* report) {
  if (report->broken_off) return absl::OkStatus();
  ASSIGN_OR_RETURN(
      const std::vector<server::OddRow> rows,
      server::AuditJournal(state_dir + "/journal.db", scratch, server::kDifferencesKept));
  for (const server::OddRow& row : rows) {
    ++report->found;
    if (report->differences.size() >= server::kDifferencesKept) continue;
    report->differences.push_back({static_cast<uint64_t>(row.seq),
                                   fmt::format("the table {}", row.table), "columns",
                                   "others than the record's", "the record's"});
  }
  return absl::OkStatus();
}

absl::StatusOr<int> Replay(const Options& options) {
  ASSIGN_OR_RETURN(const std::unique_ptr<server::JournalReader> reader,
                   OpenHistory(options.state_dir));
  ASSIGN_OR_RETURN(const v1::Job job, reader->Job());
  ASSIGN_OR_RETURN(const std::vector<server::Record> records, reader->Records());
  constexpr std::array<uint64_t, 2> kNoToken = {};
  ASSIGN_OR_RETURN(const server::MachineConfig config,
                   server::MachineConfigFromJob(job, Term{1}, kNoToken));
  ReplayView view;
  view.job_id = job.id();
  view.report = server::Replay(config, records);
  ASSIGN_OR_RETURN(const ScratchDir scratch, ScratchDir::Make());
  RETURN_IF_ERROR(AddOddRows(options.state_dir, scratch.path(), &view.report));
  if (options.train && view.report.found == 0) {
    ASSIGN_OR_RETURN(view.train, Train(options, job, server::FindSteadyRounds(records)));
  }
  if (options.json) {
    fmt::print("{}\n", ReplayJson(view).dump());
  } else {
    fmt::print("{}", ReplayText(view));
  }
  return view.Same() ? kExitDone : kExitFault;
}

}  // namespace

void AddReplayVerb(CLI::App& app, int* exit_code) {
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand(
      "replay",
      "Recomputes every decision in a run's journal and compares; ends with 1 if one differs");
  verb->add_option("--state", options->state_dir, "The run's state directory")->required();
  CLI::Option* train = verb->add_flag("--train", options->train,
                                      "Also trains the rounds again in which the group did not "
                                      "change, with as many workers on this "
                                      "machine, and compares the parameters");
  verb->add_option("--files", options->files_dir, "With --train: the folder with the job's data")
      ->needs(train);
  verb->add_option("--bin-dir", options->bin_dir,
                   "With --train: the folder of rondo-worker, as for `rondo run`")
      ->needs(train);
  verb->add_flag("--json", options->json, "One JSON object instead of text");
  verb->callback([=] {
    if (options->train && options->files_dir.empty()) {
      *exit_code = ReportLocalStatus(absl::InvalidArgumentError(
          "--train needs --files DIR, the folder with the job's data (that of the job file)"));
      return;
    }
    const absl::StatusOr<int> code = Replay(*options);
    *exit_code = code.ok() ? *code : ReportLocalStatus(code.status());
  });
}

}  // namespace rondo::cli
