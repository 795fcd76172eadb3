// What worker and coordinator say to each other, as the worker's core sees it: plain values, parsed
// and checked by edge/training_codec. Field by field as in proto/rondo/v1/training.proto, whose
// comments say what each means. The job itself goes past the core: the edge hands it to the
// runtime.
#ifndef RONDO_WORKER_CORE_MESSAGES_H_
#define RONDO_WORKER_CORE_MESSAGES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "common/checkpoint_files.h"
#include "common/ids.h"
#include "common/reduction_costs.h"

namespace rondo::worker {

enum class Device { kCpu, kCuda };
enum class Mode { kParallel, kLocal };
enum class Collective { kRing, kSparse, kTopkGather };

// ------------------------------------------------------------------------------------ to say

struct OrderInHand {
  Term term;
  GroupId group;
  RoundId round;
  uint64_t step = 0;
  bool done = false;
};

struct StagedResult {
  RoundId round;
  GroupId group;
  uint32_t attempt = 0;
  uint64_t state_hash = 0;
  bool finite = true;
};

// The newest numbers that it was given.
struct Seen {
  Term term;
  uint64_t life = 0;
  GroupId group;
  RoundId round;
};

struct Returning {
  RoundId round;
  uint64_t state_hash = 0;
  std::optional<OrderInHand> order;
  std::vector<StagedResult> staged;
  bool finite = true;  // The moments that it holds.
  Seen seen = {};
};

struct Hello {
  std::string name;
  Incarnation incarnation;
  uint64_t dial = 0;
  Device device = Device::kCpu;
  uint32_t protocol = 0;
  std::string rondo_version;
  std::string torch_version;
  uint32_t nccl_version = 0;
  std::string host;
  int64_t pid = 0;
  std::optional<Returning> returning;
};

struct FileFact {
  std::string path;
  uint64_t size = 0;
  std::string sha256;
};

enum class PrepareFault { kFiles, kModel };

struct PrepareProblem {
  PrepareFault fault = PrepareFault::kFiles;
  std::string text;
};

// The first prepared worker's facts become the job's reference.
struct Facts {
  std::string layout_hash;
  std::string data_hash;
  uint64_t train_samples = 0;
  uint64_t test_samples = 0;
  uint64_t parameters = 0;
  uint64_t float_buffers = 0;
  std::vector<FileFact> files;
};

struct Prepared {
  Facts facts;
  std::optional<PrepareProblem> problem;
};

struct Endpoint {
  GroupId group;
  std::string blob;
};

struct Formed {
  GroupId group;
  uint64_t state_hash = 0;
  double seconds = 0;
  uint64_t transfer_bytes = 0;
  uint64_t step = 0;
  bool moments_zeroed = false;
  double residual_norm_squared = 0;
};

enum class Activity {
  kPreparing,
  kWaiting,
  kAssembling,
  kTraining,
  kReducing,
  kEvaluating,
  kSaving
};

struct Progress {
  RoundId round;
  uint64_t step = 0;
  double loss = 0;
  double samples_per_second = 0;
  double stalled_seconds = 0;
  Activity activity = Activity::kWaiting;
};

// What a reduce gave: part of Reduced (local mode) and of Ready (parallel mode).
struct ReduceFacts {
  uint64_t state_hash = 0;
  double parameter_norm_squared = 0;
  double residual_norm_squared = 0;
  std::vector<PhaseCost> costs;
  double reduce_seconds = 0;
  std::optional<SparseStats> sparse;  // Of a sparse order.
};

struct Ready {
  GroupId group;
  RoundId round;
  uint64_t steps = 0;
  uint64_t samples = 0;
  double loss_sum = 0;
  bool finite = true;
  double step_seconds = 0;
  ReduceFacts reduced;  // Parallel mode.
};

struct Reduced {
  GroupId group;
  RoundId round;
  uint32_t attempt = 0;
  ReduceFacts reduced;
  bool finite = true;
};

enum class FailureCause { kPeer, kTimeout, kAborted, kNoFactor, kInternal, kFile };

struct Failed {
  GroupId group;
  RoundId round;
  uint32_t attempt = 0;
  uint64_t step = 0;
  bool has_result = false;
  std::string peer;
  FailureCause cause = FailureCause::kInternal;
  std::string text;
  bool finite = true;
  double loss_sum = 0;
};

struct Evaluated {
  GroupId group;
  RoundId round;
  double loss_sum = 0;
  uint64_t correct = 0;
  uint64_t count = 0;
  double seconds = 0;
};

struct SavedFile {
  StateFile file = StateFile::kParameters;
  uint64_t size = 0;
  std::string sha256;
};

struct Saved {
  GroupId group;
  RoundId round;
  uint64_t step = 0;
  std::vector<SavedFile> files;
};

struct SaveFailed {
  GroupId group;
  RoundId round;
  uint64_t step = 0;
  std::string text;
};

struct Leave {
  RoundId round;
  uint64_t steps_done = 0;
  double grace_seconds = 0;
  std::string text;
};

using WorkerBody = std::variant<Hello, Prepared, Endpoint, Formed, Progress, Ready, Reduced, Failed,
                                Evaluated, Saved, SaveFailed, Leave>;

struct WorkerMessage {
  std::string job_id;
  Term term;
  WorkerBody body;
};

// ------------------------------------------------------------------------------------ to hear

enum class Fate { kCommitted, kAborted, kOpen };
enum class OrderFate { kNone, kRenewed, kWithdrawn };

struct StagedFate {
  RoundId round;
  GroupId group;
  uint32_t attempt = 0;
  Fate fate = Fate::kOpen;
};

// What the worker's own waits are bounded by; all positive but coordinator_away (0: for ever).
struct SessionLimits {
  double heartbeat_seconds = 1;
  double silent_seconds = 5;
  double collective_seconds = 30;
  double abort_seconds = 10;
  double coordinator_away_seconds = 0;
};

struct Welcome {
  std::vector<FileFact> files;
  std::vector<StagedFate> fates;
  GroupId assembly;
  uint32_t attempt = 0;
  OrderFate order_fate = OrderFate::kNone;
  SessionLimits limits;
  std::optional<Facts> reference;  // Its `files` is empty: Welcome's list has them.
  uint64_t life = 0;
};

enum class WaitReason { kNameInUse, kStarting, kFull, kCoolDown };

struct Wait {
  WaitReason reason = WaitReason::kStarting;
  std::string text;
  double retry_seconds = 1;
};

enum class RefuseReason { kOtherJob, kVersion, kDevice, kName, kFiles, kModel, kProtocol, kEnded };

struct Refuse {
  RefuseReason reason = RefuseReason::kProtocol;
  std::string text;
};

enum class Purpose { kStart, kJoin, kRetry, kRepair };
enum class StateNeed { kHolds, kInitial, kAll, kValues, kStep, kMoments, kFile, kPartial };

struct Member {
  std::string name;
  Incarnation incarnation;
  StateNeed need = StateNeed::kHolds;
};

struct Assemble {
  Purpose purpose = Purpose::kStart;
  GroupId group;
  std::vector<Member> members;  // Index = rank.
  uint32_t giver = 0;
  RoundId round;
  uint64_t state_hash = 0;
  uint64_t step = 0;
  double limit_seconds = 0;
};

struct Mesh {
  GroupId group;
  std::vector<std::string> blobs;
  std::string token;
};

struct SampleRun {
  uint64_t epoch = 0;
  uint64_t first = 0;
  uint64_t count = 0;
  uint64_t stride = 1;
  uint64_t steps = 0;
  uint64_t advance = 0;
  bool same_steps = false;
};

// `rates` holds the first ones; Rates messages bring the others.
struct Order {
  GroupId group;
  RoundId round;
  Mode mode = Mode::kLocal;
  Collective collective = Collective::kRing;
  double density = 0;
  uint64_t first_step = 0;
  uint64_t length = 0;
  std::vector<double> rates;
  std::vector<SampleRun> runs;
  double weight = 0;
  double weight_sum = 0;
  bool evaluation_due = false;
  bool save_due = false;
};

struct Rates {
  GroupId group;
  RoundId round;
  uint64_t first = 0;
  std::vector<double> values;
};

struct Contributor {
  uint32_t rank = 0;
  double weight = 0;
};

struct Reduce {
  GroupId group;
  RoundId round;
  uint32_t attempt = 0;
  std::vector<Contributor> contributors;
};

struct Commit {
  GroupId group;
  RoundId round;
  uint32_t attempt = 0;
  uint64_t state_hash = 0;
  uint64_t next_step = 0;
};

struct Abort {
  GroupId group;
  RoundId round;
  uint32_t attempt = 0;
  std::string text;
};

struct EvaluateNow {
  GroupId group;
  RoundId round;
};

struct SaveNow {
  GroupId group;
  RoundId round;
  uint64_t step = 0;
  std::vector<StateFile> files;
};

enum class GoodbyeReason { kDone, kDrained, kLeft, kStopped, kFault, kExcluded };

struct Goodbye {
  GoodbyeReason reason = GoodbyeReason::kDone;
  std::string text;
  uint32_t exit_code = 0;
};

using CoordinatorBody = std::variant<Welcome, Wait, Refuse, Assemble, Mesh, Order, Rates, Reduce,
                                     Commit, Abort, EvaluateNow, SaveNow, Goodbye>;

struct CoordinatorMessage {
  std::string job_id;
  Term term;
  CoordinatorBody body;
};

}  // namespace rondo::worker

#endif  // RONDO_WORKER_CORE_MESSAGES_H_
