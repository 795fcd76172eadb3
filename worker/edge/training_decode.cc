#include <fmt/format.h>

#include <cmath>
#include <string>
#include <variant>

#include "absl/status/status.h"
#include "common/status_macros.h"
#include "worker/edge/decode_checks.h"
#include "worker/edge/session_decode.h"
#include "worker/edge/training_codec.h"

namespace rondo::worker {
namespace {

absl::StatusOr<Purpose> DecodePurpose(v1::Purpose purpose) {
  switch (purpose) {
    case v1::PURPOSE_START:
      return Purpose::kStart;
    case v1::PURPOSE_JOIN:
      return Purpose::kJoin;
    case v1::PURPOSE_RETRY:
      return Purpose::kRetry;
    case v1::PURPOSE_REPAIR:
      return Purpose::kRepair;
    default:
      return UnknownValue("Assemble.purpose", purpose);
  }
}

absl::StatusOr<StateNeed> DecodeNeed(v1::StateNeed need) {
  switch (need) {
    case v1::STATE_NEED_HOLDS:
      return StateNeed::kHolds;
    case v1::STATE_NEED_INITIAL:
      return StateNeed::kInitial;
    case v1::STATE_NEED_ALL:
      return StateNeed::kAll;
    case v1::STATE_NEED_VALUES:
      return StateNeed::kValues;
    case v1::STATE_NEED_STEP:
      return StateNeed::kStep;
    case v1::STATE_NEED_MOMENTS:
      return StateNeed::kMoments;
    case v1::STATE_NEED_FILE:
      return StateNeed::kFile;
    case v1::STATE_NEED_PARTIAL:
      return StateNeed::kPartial;
    default:
      return UnknownValue("Assemble.members.need", need);
  }
}

absl::StatusOr<CoordinatorBody> Decode(const v1::Assemble& in) {
  Assemble out;
  ASSIGN_OR_RETURN(out.purpose, DecodePurpose(in.purpose()));
  RETURN_IF_ERROR(NeedNumber("Assemble.group", in.group()));
  RETURN_IF_ERROR(NeedPositive("Assemble.limit_seconds", in.limit_seconds()));
  if (in.members().empty()) return MissingField("Assemble.members");
  for (const v1::Member& member : in.members()) {
    if (member.name().empty()) return MissingField("Assemble.members.name");
    RETURN_IF_ERROR(NeedNumber("Assemble.members.incarnation", member.incarnation()));
    ASSIGN_OR_RETURN(const StateNeed need, DecodeNeed(member.need()));
    out.members.push_back({member.name(), {member.incarnation()}, need});
  }
  if (in.giver() >= out.members.size()) {
    return absl::InvalidArgumentError(fmt::format("Assemble.giver is {}, the group has {} members",
                                                  in.giver(), out.members.size()));
  }
  out.group = {in.group()};
  out.giver = in.giver();
  out.round = {in.round()};
  out.state_hash = in.state_hash();
  out.step = in.step();
  out.limit_seconds = in.limit_seconds();
  return out;
}

absl::StatusOr<CoordinatorBody> Decode(const v1::Mesh& in) {
  RETURN_IF_ERROR(NeedNumber("Mesh.group", in.group()));
  if (in.blobs().empty()) return MissingField("Mesh.blobs");
  if (in.token().size() != 16) {
    return absl::InvalidArgumentError(
        fmt::format("Mesh.token has {} bytes, it must have 16", in.token().size()));
  }
  return Mesh{{in.group()}, {in.blobs().begin(), in.blobs().end()}, in.token()};
}

absl::Status DecodeOrderKinds(const v1::Order& in, Order* out) {
  switch (in.mode()) {
    case v1::MODE_PARALLEL:
      out->mode = Mode::kParallel;
      break;
    case v1::MODE_LOCAL:
      out->mode = Mode::kLocal;
      break;
    default:
      return UnknownValue("Order.mode", in.mode());
  }
  switch (in.collective()) {
    case v1::COLLECTIVE_KIND_RING:
      out->collective = Collective::kRing;
      break;
    case v1::COLLECTIVE_KIND_SPARSE:
      out->collective = Collective::kSparse;
      break;
    case v1::COLLECTIVE_KIND_TOPK_GATHER:
      out->collective = Collective::kTopkGather;
      break;
    default:
      return UnknownValue("Order.collective", in.collective());
  }
  if (out->collective != Collective::kRing && !(in.density() > 0 && in.density() <= 1)) {
    return absl::InvalidArgumentError(fmt::format(
        "Order.density is {}, of a sparse collective it must be above 0, up to 1", in.density()));
  }
  return absl::OkStatus();
}

absl::StatusOr<CoordinatorBody> Decode(const v1::Order& in) {
  Order out;
  RETURN_IF_ERROR(NeedNumber("Order.group", in.group()));
  RETURN_IF_ERROR(NeedNumber("Order.round", in.round()));
  RETURN_IF_ERROR(DecodeOrderKinds(in, &out));
  RETURN_IF_ERROR(NeedPositive("Order.weight_sum", in.weight_sum()));
  if (static_cast<uint64_t>(in.rates_size()) > in.length()) {
    return absl::InvalidArgumentError(
        fmt::format("Order has {} rates for {} steps", in.rates_size(), in.length()));
  }
  out.group = {in.group()};
  out.round = {in.round()};
  out.density = in.density();
  out.first_step = in.first_step();
  out.length = in.length();
  out.rates.assign(in.rates().begin(), in.rates().end());
  for (const v1::SampleRun& run : in.runs()) {
    RETURN_IF_ERROR(NeedNumber("Order.runs.stride", run.stride()));
    RETURN_IF_ERROR(NeedNumber("Order.runs.steps", run.steps()));
    out.runs.push_back({run.epoch(), run.first(), run.count(), run.stride(), run.steps(),
                        run.advance(), run.same_steps()});
  }
  out.weight = in.weight();
  out.weight_sum = in.weight_sum();
  out.evaluation_due = in.evaluation_due();
  out.save_due = in.save_due();
  return out;
}

absl::StatusOr<CoordinatorBody> Decode(const v1::Rates& in) {
  RETURN_IF_ERROR(NeedNumber("Rates.group", in.group()));
  RETURN_IF_ERROR(NeedNumber("Rates.round", in.round()));
  return Rates{{in.group()}, {in.round()}, in.first(), {in.values().begin(), in.values().end()}};
}

absl::StatusOr<CoordinatorBody> Decode(const v1::Reduce& in) {
  RETURN_IF_ERROR(NeedNumber("Reduce.group", in.group()));
  RETURN_IF_ERROR(NeedNumber("Reduce.round", in.round()));
  RETURN_IF_ERROR(NeedNumber("Reduce.attempt", in.attempt()));
  Reduce out{{in.group()}, {in.round()}, in.attempt(), {}};
  for (const v1::Contributor& contributor : in.contributors()) {
    if (contributor.rank() != out.contributors.size()) {
      return absl::InvalidArgumentError("Reduce.contributors are not in rank order");
    }
    if (!std::isfinite(contributor.weight()) || contributor.weight() < 0) {
      return absl::InvalidArgumentError(
          fmt::format("Reduce.contributors.weight is {}", contributor.weight()));
    }
    out.contributors.push_back({contributor.rank(), contributor.weight()});
  }
  if (out.contributors.empty()) return MissingField("Reduce.contributors");
  return out;
}

absl::StatusOr<CoordinatorBody> Decode(const v1::Commit& in) {
  RETURN_IF_ERROR(NeedNumber("Commit.group", in.group()));
  RETURN_IF_ERROR(NeedNumber("Commit.round", in.round()));
  return Commit{{in.group()}, {in.round()}, in.attempt(), in.state_hash(), in.next_step()};
}

absl::StatusOr<CoordinatorBody> Decode(const v1::Abort& in) {
  RETURN_IF_ERROR(NeedNumber("Abort.group", in.group()));
  return Abort{{in.group()}, {in.round()}, in.attempt(), in.text()};
}

absl::StatusOr<CoordinatorBody> Decode(const v1::EvaluateNow& in) {
  RETURN_IF_ERROR(NeedNumber("EvaluateNow.group", in.group()));
  return EvaluateNow{{in.group()}, {in.round()}};
}

absl::StatusOr<CoordinatorBody> Decode(const v1::SaveNow& in) {
  SaveNow out{{in.group()}, {in.round()}, in.step(), {}};
  for (const int file : in.files()) {
    switch (file) {
      case v1::STATE_FILE_PARAMETERS:
        out.files.push_back(StateFile::kParameters);
        break;
      case v1::STATE_FILE_BUFFERS:
        out.files.push_back(StateFile::kBuffers);
        break;
      case v1::STATE_FILE_LOCAL:
        out.files.push_back(StateFile::kLocal);
        break;
      default:
        return UnknownValue("SaveNow.files", file);
    }
  }
  if (out.files.empty()) return MissingField("SaveNow.files");
  return out;
}

absl::StatusOr<CoordinatorBody> DecodeBody(const v1::CoordinatorMessage& in) {
  using M = v1::CoordinatorMessage;
  switch (in.body_case()) {
    case M::kWelcome:
      return DecodeWelcome(in.welcome());
    case M::kWait:
      return DecodeWait(in.wait());
    case M::kRefuse:
      return DecodeRefuse(in.refuse());
    case M::kAssemble:
      return Decode(in.assemble());
    case M::kMesh:
      return Decode(in.mesh());
    case M::kOrder:
      return Decode(in.order());
    case M::kRates:
      return Decode(in.rates());
    case M::kReduce:
      return Decode(in.reduce());
    case M::kCommit:
      return Decode(in.commit());
    case M::kAbort:
      return Decode(in.abort());
    case M::kEvaluate:
      return Decode(in.evaluate());
    case M::kSave:
      return Decode(in.save());
    case M::kGoodbye:
      return DecodeGoodbye(in.goodbye());
    case M::BODY_NOT_SET:
      break;
  }
  return absl::InvalidArgumentError("a message of the coordinator has no body that is known here");
}

}  // namespace

absl::StatusOr<CoordinatorMessage> DecodeCoordinatorMessage(const v1::CoordinatorMessage& message) {
  CoordinatorMessage out;
  out.job_id = message.job_id();
  out.term = {message.term()};
  ASSIGN_OR_RETURN(out.body, DecodeBody(message));
  if (std::holds_alternative<Welcome>(out.body)) {
    if (out.job_id.empty()) return MissingField("Welcome's job_id");
    RETURN_IF_ERROR(NeedNumber("Welcome's term", out.term.value));
  }
  return out;
}

}  // namespace rondo::worker
