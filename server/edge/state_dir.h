// The folder of one run: DIR/lock, DIR/journal.db, DIR/checkpoints/.
#ifndef RONDO_SERVER_EDGE_STATE_DIR_H_
#define RONDO_SERVER_EDGE_STATE_DIR_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/rondo/v1/job.pb.h"
#include "server/edge/recovery.h"
#include "server/edge/same_job.h"

namespace rondo::server {

// Holds the folder for this process: an flock on DIR/lock, gone with the process.
class StateDir {
 public:
  // Makes the folder if need be. Errors: FailedPrecondition when another coordinator has it;
  // Unavailable when it cannot be made or written.
  static absl::StatusOr<StateDir> Lock(const std::string& path);

  StateDir(StateDir&& other) noexcept;
  StateDir& operator=(StateDir&& other) noexcept;
  ~StateDir();

  // True while a coordinator holds the folder at `path`. Holds the lock itself for an instant.
  static bool IsHeld(const std::string& path);

  const std::string& path() const { return path_; }
  std::string journal_path() const { return path_ + "/journal.db"; }
  std::string checkpoints_path() const { return path_ + "/checkpoints"; }
  // HOST:PORT of the coordinator that holds the folder; gone once that has ended in order.
  std::string address_path() const { return path_ + "/coordinator.address"; }

 private:
  StateDir(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}

  std::string path_;
  int fd_ = -1;
};

struct FormerRun {
  // kOpen: it goes on, whatever ended it before its last step.
  enum class Kind { kNone, kOpen, kDone } kind = Kind::kNone;
  std::string text;  // That it is done, or where it goes on; empty for kNone.
  Recovered recovered;
};

// With `checkpoint.shared_dir` makes this job's folder there (common/checkpoint_files), and
// DIR/checkpoints a link to it, so that whoever knows DIR finds the checkpoints. The shared folder
// itself must be there; that of the job is made only when its run `begins`: what is missing later
// was deleted, or is not mounted. Errors: FailedPrecondition names the folder and what to do.
absl::Status LinkSharedCheckpoints(const StateDir& dir, const v1::Job& job,
                                   const std::string& files_dir, bool begins);

// What a start of `job` finds in the folder. Errors: InvalidArgument (another job: names the keys
// that differ, or --workers), FailedPrecondition (journal.db is no file), those of RecoverJournal.
absl::StatusOr<FormerRun> ExamineFormerRun(const StateDir& dir, const v1::Job& job,
                                           const GivenWorkers& given = {});

}  // namespace rondo::server

#endif  // RONDO_SERVER_EDGE_STATE_DIR_H_
