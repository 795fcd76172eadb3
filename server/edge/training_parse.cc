#include <utility>

#include "common/status_macros.h"
#include "server/edge/field_checks.h"
#include "server/edge/state_file_codec.h"
#include "server/edge/training_codec.h"

namespace rondo::server {
namespace {

constexpr int kListMax = 4096;  // Entries of any list in a worker's message.

std::optional<Device> DeviceOf(v1::DeviceKind value) {
  switch (value) {
    case v1::DEVICE_KIND_CPU:
      return Device::kCpu;
    case v1::DEVICE_KIND_CUDA:
      return Device::kCuda;
    default:
      return std::nullopt;
  }
}

std::optional<Activity> ActivityOf(v1::Activity value) {
  switch (value) {
    case v1::ACTIVITY_PREPARING:
      return Activity::kPreparing;
    case v1::ACTIVITY_WAITING:
      return Activity::kWaiting;
    case v1::ACTIVITY_ASSEMBLING:
      return Activity::kAssembling;
    case v1::ACTIVITY_TRAINING:
      return Activity::kTraining;
    case v1::ACTIVITY_REDUCING:
      return Activity::kReducing;
    case v1::ACTIVITY_EVALUATING:
      return Activity::kEvaluating;
    case v1::ACTIVITY_SAVING:
      return Activity::kSaving;
    default:
      return std::nullopt;
  }
}

// The core's phases stand in the wire's order, less UNSPECIFIED.
static_assert(static_cast<int>(CostPhase::kReduce) + 1 == v1::PHASE_REDUCE);
static_assert(static_cast<int>(CostPhase::kApply) + 1 == v1::PHASE_APPLY);

std::optional<CostPhase> PhaseOf(v1::Phase value) {
  if (value < v1::PHASE_REDUCE_SCATTER || value > v1::PHASE_APPLY) return std::nullopt;
  return static_cast<CostPhase>(static_cast<int>(value) - 1);
}

std::optional<FailureCause> CauseOf(v1::FailureCause value) {
  switch (value) {
    case v1::FAILURE_CAUSE_PEER:
      return FailureCause::kPeer;
    case v1::FAILURE_CAUSE_TIMEOUT:
      return FailureCause::kTimeout;
    case v1::FAILURE_CAUSE_ABORTED:
      return FailureCause::kAborted;
    case v1::FAILURE_CAUSE_NO_FACTOR:
      return FailureCause::kNoFactor;
    case v1::FAILURE_CAUSE_INTERNAL:
      return FailureCause::kInternal;
    case v1::FAILURE_CAUSE_FILE:
      return FailureCause::kFile;
    default:
      return std::nullopt;
  }
}

std::optional<PrepareFault> FaultOf(v1::RefuseReason value) {
  switch (value) {
    case v1::REFUSE_REASON_FILES:
      return PrepareFault::kFiles;
    case v1::REFUSE_REASON_MODEL:
      return PrepareFault::kModel;
    default:
      return std::nullopt;
  }
}

absl::StatusOr<Returning> Parse(const v1::Returning& in, const std::string& job_id) {
  FieldChecks check("Hello.returning");
  Returning out;
  out.job_id = check.RequiredText("job_id", job_id);
  out.round = {in.round()};
  out.state_hash = in.state_hash();
  if (in.has_order()) {
    out.order = OrderInHand{{check.Number("order.term", in.order().term())},
                            {check.Number("order.group", in.order().group())},
                            {check.Number("order.round", in.order().round())},
                            check.Count("order.step", in.order().step()),
                            in.order().done()};
  }
  check.Require(in.staged_size() <= kListMax, "staged", "has more than 4096 entries");
  for (const v1::StagedResult& staged : in.staged()) {
    out.staged.push_back({{check.Number("staged.round", staged.round())},
                          {check.Number("staged.group", staged.group())},
                          staged.attempt(),
                          staged.state_hash(),
                          staged.finite()});
  }
  out.finite = in.finite();
  if (in.has_seen()) {
    check.Number("seen.term", in.seen().term());
    out.seen = Seen{{check.Count("seen.term", in.seen().term())},
                    in.seen().life(),
                    {check.Count("seen.group", in.seen().group())},
                    {check.Count("seen.round", in.seen().round())}};
  }
  RETURN_IF_ERROR(check.status());
  return out;
}

absl::StatusOr<WorkerBody> Parse(const v1::Hello& in, const std::string& job_id) {
  FieldChecks check("Hello");
  Hello out;
  out.name = check.RequiredText("name", in.name());
  out.incarnation = {check.Number("incarnation", in.incarnation())};
  out.dial = check.Number("dial", in.dial());
  out.device = check.Enum("device", in.device(), DeviceOf(in.device()));
  check.Require(in.has_versions(), "versions", "is missing");
  out.protocol = static_cast<uint32_t>(check.Number("versions.protocol", in.versions().protocol()));
  out.rondo_version = check.RequiredText("versions.rondo", in.versions().rondo());
  out.torch_version = check.RequiredText("versions.torch", in.versions().torch());
  out.nccl_version = in.versions().nccl();
  out.host = check.RequiredText("host", in.host());
  out.pid = in.pid();
  check.Require(in.pid() > 0, "pid", "is missing or not above 0");
  RETURN_IF_ERROR(check.status());
  if (in.has_returning()) {
    ASSIGN_OR_RETURN(out.returning, Parse(in.returning(), job_id));
  }
  return out;
}

absl::StatusOr<WorkerBody> Parse(const v1::Prepared& in) {
  FieldChecks check("Prepared");
  Prepared out;
  if (in.has_problem()) {
    const v1::PrepareProblem& problem = in.problem();
    out.problem =
        PrepareProblem{check.Enum("problem.reason", problem.reason(), FaultOf(problem.reason())),
                       check.RequiredText("problem.text", problem.text())};
    RETURN_IF_ERROR(check.status());
    return out;
  }
  out.facts.layout_hash = check.RequiredText("layout_hash", in.layout_hash());
  out.facts.data_hash = check.RequiredText("data_hash", in.data_hash());
  out.facts.train_samples =
      check.Count("train_samples", check.Number("train_samples", in.train_samples()));
  out.facts.test_samples = check.Count("test_samples", in.test_samples());
  out.facts.parameters = check.Count("parameters", check.Number("parameters", in.parameters()));
  out.facts.float_buffers = check.Count("float_buffers", in.float_buffers());
  check.Require(in.files_size() <= kListMax, "files", "has more than 4096 entries");
  for (const v1::JobFile& file : in.files()) {
    out.facts.files.push_back({check.RequiredText("files.path", file.path()),
                               check.Count("files.size", file.size()),
                               check.RequiredText("files.sha256", file.sha256())});
  }
  RETURN_IF_ERROR(check.status());
  return out;
}

absl::StatusOr<WorkerBody> Parse(const v1::Endpoint& in) {
  FieldChecks check("Endpoint");
  Endpoint out{{check.Number("group", in.group())}, check.RequiredText("blob", in.blob())};
  RETURN_IF_ERROR(check.status());
  return out;
}

absl::StatusOr<WorkerBody> Parse(const v1::Formed& in) {
  FieldChecks check("Formed");
  Formed out{{check.Number("group", in.group())},
             in.state_hash(),
             check.Seconds("seconds", in.seconds()),
             check.Count("transfer_bytes", in.transfer_bytes()),
             check.Count("step", in.step()),
             in.moments_zeroed(),
             check.Norm("residual_norm_squared", in.residual_norm_squared())};
  RETURN_IF_ERROR(check.status());
  return out;
}

absl::StatusOr<WorkerBody> Parse(const v1::Progress& in) {
  FieldChecks check("Progress");
  Progress out;
  out.round = {in.round()};
  out.step = check.Count("step", in.step());
  out.loss = in.loss();
  out.samples_per_second = check.Seconds("samples_per_second", in.samples_per_second());
  out.stalled_seconds = check.Seconds("stalled_seconds", in.stalled_seconds());
  out.activity = check.Enum("activity", in.activity(), ActivityOf(in.activity()));
  RETURN_IF_ERROR(check.status());
  return out;
}

SparseStats ParseSparse(const v1::SparseStats& in, FieldChecks& check) {
  return {.reductions = check.Count("sparse.reductions", in.reductions()),
          .selected = check.Count("sparse.selected", in.selected()),
          .region_entries = check.Count("sparse.region_entries", in.region_entries()),
          .merged = check.Count("sparse.merged", in.merged()),
          .delivered = check.Count("sparse.delivered", in.delivered()),
          .largest_part = check.Count("sparse.largest_part", in.largest_part()),
          .cuts = check.Count("sparse.cuts", in.cuts()),
          .thresholds = check.Count("sparse.thresholds", in.thresholds()),
          .rebalanced = check.Count("sparse.rebalanced", in.rebalanced())};
}

// Ready and Reduced have these fields alike.
template <typename Message>
ReduceFacts ParseReduceFacts(const Message& in, bool finite, FieldChecks& check) {
  ReduceFacts out;
  out.state_hash = in.state_hash();
  out.parameter_norm_squared =
      check.Measured("parameter_norm_squared", in.parameter_norm_squared(), finite);
  // A residual is finite also where its worker is not (rule 15).
  out.residual_norm_squared = check.Norm("residual_norm_squared", in.residual_norm_squared());
  check.Require(in.costs_size() <= kListMax, "costs", "has more than 4096 entries");
  for (const v1::PhaseCost& cost : in.costs()) {
    out.costs.push_back({check.Enum("costs.phase", cost.phase(), PhaseOf(cost.phase())),
                         check.Count("costs.bytes_sent", cost.bytes_sent()),
                         check.Count("costs.bytes_received", cost.bytes_received()),
                         check.Count("costs.header_bytes_sent", cost.header_bytes_sent()),
                         check.Seconds("costs.seconds", cost.seconds()),
                         check.Count("costs.calls", cost.calls())});
  }
  out.reduce_seconds = check.Seconds("reduce_seconds", in.reduce_seconds());
  if (in.has_sparse()) out.sparse = ParseSparse(in.sparse(), check);
  return out;
}

absl::StatusOr<WorkerBody> Parse(const v1::Ready& in) {
  FieldChecks check("Ready");
  Ready out;
  out.group = {check.Number("group", in.group())};
  out.round = {check.Number("round", in.round())};
  out.steps = check.Count("steps", in.steps());
  out.samples = check.Count("samples", in.samples());
  out.loss_sum = check.Measured("loss_sum", in.loss_sum(), in.finite());
  out.finite = in.finite();
  out.step_seconds = check.Seconds("step_seconds", in.step_seconds());
  out.reduced = ParseReduceFacts(in, in.finite(), check);
  RETURN_IF_ERROR(check.status());
  return out;
}

absl::StatusOr<WorkerBody> Parse(const v1::Reduced& in) {
  FieldChecks check("Reduced");
  Reduced out;
  out.group = {check.Number("group", in.group())};
  out.round = {check.Number("round", in.round())};
  out.attempt = static_cast<uint32_t>(check.Number("attempt", in.attempt()));
  out.reduced = ParseReduceFacts(in, in.finite(), check);
  out.finite = in.finite();
  RETURN_IF_ERROR(check.status());
  return out;
}

absl::StatusOr<WorkerBody> Parse(const v1::Failed& in) {
  FieldChecks check("Failed");
  Failed out;
  out.group = {check.Number("group", in.group())};
  out.round = {in.round()};
  out.attempt = in.attempt();
  out.step = check.Count("step", in.step());
  out.has_result = in.has_result();
  out.peer = check.Text("peer", in.peer());
  out.cause = check.Enum("cause", in.cause(), CauseOf(in.cause()));
  out.text = check.RequiredText("text", in.text());
  out.finite = !in.not_finite();
  out.loss_sum = check.Measured("loss_sum", in.loss_sum(), out.finite);
  RETURN_IF_ERROR(check.status());
  return out;
}

absl::StatusOr<WorkerBody> Parse(const v1::Evaluated& in) {
  FieldChecks check("Evaluated");
  Evaluated out{{check.Number("group", in.group())},
                {check.Number("round", in.round())},
                in.loss_sum(),
                check.Count("correct", in.correct()),
                check.Count("count", in.count()),
                check.Seconds("seconds", in.seconds())};
  check.Require(in.correct() <= in.count(), "correct", "is above count");
  RETURN_IF_ERROR(check.status());
  return out;
}

absl::StatusOr<WorkerBody> Parse(const v1::Saved& in) {
  FieldChecks check("Saved");
  Saved out{{check.Number("group", in.group())},
            {check.Number("round", in.round())},
            check.Count("step", in.step()),
            {}};
  check.Require(in.files_size() > 0, "files", "is missing");
  check.Require(in.files_size() <= kListMax, "files", "has more than 4096 entries");
  for (const v1::SavedFile& file : in.files()) {
    out.files.push_back({check.Enum("files.file", file.file(), StateFileOf(file.file())),
                         check.Count("files.size", file.size()),
                         check.RequiredText("files.sha256", file.sha256())});
  }
  RETURN_IF_ERROR(check.status());
  return out;
}

absl::StatusOr<WorkerBody> Parse(const v1::SaveFailed& in) {
  FieldChecks check("SaveFailed");
  SaveFailed out{{check.Number("group", in.group())},
                 {check.Number("round", in.round())},
                 check.Count("step", in.step()),
                 check.RequiredText("text", in.text())};
  RETURN_IF_ERROR(check.status());
  return out;
}

absl::StatusOr<WorkerBody> Parse(const v1::Leave& in) {
  FieldChecks check("Leave");
  Leave out{{in.round()},
            check.Count("steps_done", in.steps_done()),
            check.Seconds("grace_seconds", in.grace_seconds()),
            check.Text("text", in.text())};
  RETURN_IF_ERROR(check.status());
  return out;
}

absl::StatusOr<WorkerBody> ParseBody(const v1::WorkerMessage& message) {
  switch (message.body_case()) {
    case v1::WorkerMessage::kHello:
      return Parse(message.hello(), message.job_id());
    case v1::WorkerMessage::kPrepared:
      return Parse(message.prepared());
    case v1::WorkerMessage::kEndpoint:
      return Parse(message.endpoint());
    case v1::WorkerMessage::kFormed:
      return Parse(message.formed());
    case v1::WorkerMessage::kProgress:
      return Parse(message.progress());
    case v1::WorkerMessage::kReady:
      return Parse(message.ready());
    case v1::WorkerMessage::kReduced:
      return Parse(message.reduced());
    case v1::WorkerMessage::kFailed:
      return Parse(message.failed());
    case v1::WorkerMessage::kEvaluated:
      return Parse(message.evaluated());
    case v1::WorkerMessage::kSaved:
      return Parse(message.saved());
    case v1::WorkerMessage::kSaveFailed:
      return Parse(message.save_failed());
    case v1::WorkerMessage::kLeave:
      return Parse(message.leave());
    case v1::WorkerMessage::BODY_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError(
      "WorkerMessage.body: is missing or of a kind that this version does not know");
}

}  // namespace

absl::StatusOr<WorkerMessage> ParseWorkerMessage(const v1::WorkerMessage& message) {
  WorkerMessage out;
  FieldChecks check("WorkerMessage");
  out.job_id = check.Text("job_id", message.job_id());
  out.term = {message.term()};
  if (message.body_case() != v1::WorkerMessage::kHello) {
    check.RequiredText("job_id", message.job_id());
    check.Number("term", message.term());
  }
  RETURN_IF_ERROR(check.status());
  ASSIGN_OR_RETURN(out.body, ParseBody(message));
  return out;
}

}  // namespace rondo::server
