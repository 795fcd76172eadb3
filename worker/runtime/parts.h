// What the trainer is given from outside: how a job is loaded, how a group's connections are made,
// where checkpoint files go and come from. The edge implements them; tests have their own.
#ifndef RONDO_WORKER_RUNTIME_PARTS_H_
#define RONDO_WORKER_RUNTIME_PARTS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "worker/collectives/abort_flag.h"
#include "worker/collectives/communicator.h"
#include "worker/core/actions.h"
#include "worker/core/messages.h"
#include "worker/data/dataset.h"
#include "worker/engine/engine.h"
#include "worker/engine/optimizer.h"
#include "worker/runtime/train_spec.h"

namespace rondo::worker {

// A job in memory. `test` is null when the job has none.
struct LoadedJob {
  TrainSpec spec;
  std::unique_ptr<Engine> engine;
  std::unique_ptr<Optimizer> optimizer;
  std::shared_ptr<const Dataset> train;
  std::shared_ptr<const Dataset> test;
  Facts facts;
};

// Loads the job that came with the last Welcome, in the state its seed or init file gives. Called
// on the trainer's thread, to which the engine then belongs; called again when the initial state is
// wanted anew. A file or model that does not do is a PrepareProblem.
using JobLoader = std::function<std::variant<LoadedJob, PrepareProblem>(const Prepare&)>;

struct ConnectSpec {
  std::string job_id;
  GroupId group;
  uint32_t rank = 0;
  std::vector<std::string> blobs;  // In rank order.
  std::string token;
};

// Makes the connections of groups. Threads: the trainer's.
class GroupMaker {
 public:
  virtual ~GroupMaker() = default;
  // The blob of the Endpoint message.
  virtual absl::StatusOr<std::string> Listen() = 0;
  // Errors as ConnectMesh of collectives/tcp; `abort` ends the wait and, later, every call.
  virtual absl::StatusOr<std::unique_ptr<Communicator>> Connect(
      const ConnectSpec& spec, absl::Duration limit, std::shared_ptr<AbortFlag> abort) = 0;
};

// Names one member's partial of a long round (worker/runtime/partial).
struct PartialId {
  RoundId round;
  uint64_t step = 0;
  uint64_t members = 0;  // Of the round's order: so many partials of a step are all.
};

// Asked again and again while something lasts: true ends it.
using StopCheck = std::function<bool()>;

// Hands files of a checkpoint in. Threads: the trainer's.
class StateSink {
 public:
  virtual ~StateSink() = default;
  // A path for a file that is about to be handed in.
  virtual std::string TemporaryPath(StateFile file) = 0;
  // Sends the file at `path`, then removes it. While the coordinator is away, or takes too many
  // files already, it is tried again until `stop` says that the file is no longer wanted. Errors:
  // the last try's; DataLoss: other bytes arrived; Internal: the coordinator cannot store it.
  virtual absl::StatusOr<SavedFile> Put(uint64_t step, StateFile file, const std::string& path,
                                        const StopCheck& stop) = 0;
  // The same for a partial; but the training goes on whatever becomes of it, and does not wait for
  // a coordinator that is away.
  virtual absl::Status PutPartial(const PartialId& id, const std::string& path,
                                  const StopCheck& stop) = 0;
};

// Fetches files of complete checkpoints. Threads: the trainer's.
class StateSource {
 public:
  virtual ~StateSource() = default;
  // Path of this worker's copy, whose size and SHA-256 are those of the manifest; good until the
  // next call for a file of its kind. `step` names the checkpoint; of local files it is this
  // worker's own. While the coordinator is away, or serves too many already, it is tried again
  // until `stop`. Errors: NotFound: the checkpoint has no such file; DataLoss: it is damaged;
  // Aborted: stopped while bytes came, else the last try's; Internal: the disk.
  virtual absl::StatusOr<std::string> Get(uint64_t step, StateFile file, const StopCheck& stop) = 0;
};

}  // namespace rondo::worker

#endif  // RONDO_WORKER_RUNTIME_PARTS_H_
