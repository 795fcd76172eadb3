#include "worker/edge/session_decode.h"

#include "common/status_macros.h"
#include "worker/edge/decode_checks.h"

namespace rondo::worker {
namespace {

FileFact DecodeFile(const v1::JobFile& file) { return {file.path(), file.size(), file.sha256()}; }

absl::StatusOr<Fate> DecodeFate(v1::Fate fate) {
  switch (fate) {
    case v1::FATE_COMMITTED:
      return Fate::kCommitted;
    case v1::FATE_ABORTED:
      return Fate::kAborted;
    case v1::FATE_OPEN:
      return Fate::kOpen;
    default:
      return UnknownValue("Welcome.fates.fate", fate);
  }
}

absl::StatusOr<OrderFate> DecodeOrderFate(v1::OrderFate fate) {
  switch (fate) {
    case v1::ORDER_FATE_UNSPECIFIED:
      return OrderFate::kNone;
    case v1::ORDER_FATE_RENEWED:
      return OrderFate::kRenewed;
    case v1::ORDER_FATE_WITHDRAWN:
      return OrderFate::kWithdrawn;
    default:
      return UnknownValue("Welcome.order_fate", fate);
  }
}

}  // namespace

absl::StatusOr<CoordinatorBody> DecodeWelcome(const v1::Welcome& in) {
  Welcome out;
  for (const v1::JobFile& file : in.files()) out.files.push_back(DecodeFile(file));
  for (const v1::StagedFate& fate : in.fates()) {
    RETURN_IF_ERROR(NeedNumber("Welcome.fates.round", fate.round()));
    RETURN_IF_ERROR(NeedNumber("Welcome.fates.group", fate.group()));
    ASSIGN_OR_RETURN(const Fate decoded, DecodeFate(fate.fate()));
    out.fates.push_back({{fate.round()}, {fate.group()}, fate.attempt(), decoded});
  }
  out.assembly = {in.assembly()};
  out.attempt = in.attempt();
  ASSIGN_OR_RETURN(out.order_fate, DecodeOrderFate(in.order_fate()));
  if (!in.has_job()) return MissingField("Welcome.job");
  if (!in.has_limits()) return MissingField("Welcome.limits");
  const v1::SessionLimits& limits = in.limits();
  RETURN_IF_ERROR(NeedPositive("Welcome.limits.heartbeat_seconds", limits.heartbeat_seconds()));
  RETURN_IF_ERROR(NeedPositive("Welcome.limits.silent_seconds", limits.silent_seconds()));
  RETURN_IF_ERROR(NeedPositive("Welcome.limits.collective_seconds", limits.collective_seconds()));
  RETURN_IF_ERROR(NeedPositive("Welcome.limits.abort_seconds", limits.abort_seconds()));
  out.limits = {limits.heartbeat_seconds(), limits.silent_seconds(), limits.collective_seconds(),
                limits.abort_seconds(), limits.coordinator_away_seconds()};
  out.life = in.life();
  if (in.has_reference()) {
    const v1::Reference& reference = in.reference();
    out.reference = Facts{reference.layout_hash(),
                          reference.data_hash(),
                          reference.train_samples(),
                          reference.test_samples(),
                          reference.parameters(),
                          reference.float_buffers(),
                          {}};
  }
  return out;
}

absl::StatusOr<CoordinatorBody> DecodeWait(const v1::Wait& in) {
  Wait out;
  switch (in.reason()) {
    case v1::WAIT_REASON_NAME_IN_USE:
      out.reason = WaitReason::kNameInUse;
      break;
    case v1::WAIT_REASON_STARTING:
      out.reason = WaitReason::kStarting;
      break;
    case v1::WAIT_REASON_FULL:
      out.reason = WaitReason::kFull;
      break;
    case v1::WAIT_REASON_COOL_DOWN:
      out.reason = WaitReason::kCoolDown;
      break;
    default:
      return UnknownValue("Wait.reason", in.reason());
  }
  RETURN_IF_ERROR(NeedPositive("Wait.retry_seconds", in.retry_seconds()));
  out.text = in.text();
  out.retry_seconds = in.retry_seconds();
  return out;
}

absl::StatusOr<CoordinatorBody> DecodeRefuse(const v1::Refuse& in) {
  Refuse out;
  switch (in.reason()) {
    case v1::REFUSE_REASON_OTHER_JOB:
      out.reason = RefuseReason::kOtherJob;
      break;
    case v1::REFUSE_REASON_VERSION:
      out.reason = RefuseReason::kVersion;
      break;
    case v1::REFUSE_REASON_DEVICE:
      out.reason = RefuseReason::kDevice;
      break;
    case v1::REFUSE_REASON_NAME:
      out.reason = RefuseReason::kName;
      break;
    case v1::REFUSE_REASON_FILES:
      out.reason = RefuseReason::kFiles;
      break;
    case v1::REFUSE_REASON_MODEL:
      out.reason = RefuseReason::kModel;
      break;
    case v1::REFUSE_REASON_PROTOCOL:
      out.reason = RefuseReason::kProtocol;
      break;
    case v1::REFUSE_REASON_ENDED:
      out.reason = RefuseReason::kEnded;
      break;
    default:
      return UnknownValue("Refuse.reason", in.reason());
  }
  out.text = in.text();
  return out;
}

absl::StatusOr<CoordinatorBody> DecodeGoodbye(const v1::Goodbye& in) {
  Goodbye out;
  switch (in.reason()) {
    case v1::GOODBYE_REASON_DONE:
      out.reason = GoodbyeReason::kDone;
      break;
    case v1::GOODBYE_REASON_DRAINED:
      out.reason = GoodbyeReason::kDrained;
      break;
    case v1::GOODBYE_REASON_LEFT:
      out.reason = GoodbyeReason::kLeft;
      break;
    case v1::GOODBYE_REASON_STOPPED:
      out.reason = GoodbyeReason::kStopped;
      break;
    case v1::GOODBYE_REASON_FAULT:
      out.reason = GoodbyeReason::kFault;
      break;
    case v1::GOODBYE_REASON_EXCLUDED:
      out.reason = GoodbyeReason::kExcluded;
      break;
    default:
      return UnknownValue("Goodbye.reason", in.reason());
  }
  out.text = in.text();
  out.exit_code = in.exit_code();
  return out;
}

}  // namespace rondo::worker
