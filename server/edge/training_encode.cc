#include <algorithm>
#include <span>
#include <type_traits>

#include "server/edge/comm_codec.h"
#include "server/edge/state_file_codec.h"
#include "server/edge/training_codec.h"

namespace rondo::server {
namespace {

v1::Fate WireOf(Fate fate) {
  switch (fate) {
    case Fate::kCommitted:
      return v1::FATE_COMMITTED;
    case Fate::kAborted:
      return v1::FATE_ABORTED;
    case Fate::kOpen:
      return v1::FATE_OPEN;
  }
  return v1::FATE_UNSPECIFIED;
}

v1::OrderFate WireOf(OrderFate fate) {
  switch (fate) {
    case OrderFate::kNone:
      return v1::ORDER_FATE_UNSPECIFIED;
    case OrderFate::kRenewed:
      return v1::ORDER_FATE_RENEWED;
    case OrderFate::kWithdrawn:
      return v1::ORDER_FATE_WITHDRAWN;
  }
  return v1::ORDER_FATE_UNSPECIFIED;
}

v1::WaitReason WireOf(WaitReason reason) {
  switch (reason) {
    case WaitReason::kNameInUse:
      return v1::WAIT_REASON_NAME_IN_USE;
    case WaitReason::kStarting:
      return v1::WAIT_REASON_STARTING;
    case WaitReason::kFull:
      return v1::WAIT_REASON_FULL;
    case WaitReason::kCoolDown:
      return v1::WAIT_REASON_COOL_DOWN;
  }
  return v1::WAIT_REASON_UNSPECIFIED;
}

v1::RefuseReason WireOf(RefuseReason reason) {
  switch (reason) {
    case RefuseReason::kOtherJob:
      return v1::REFUSE_REASON_OTHER_JOB;
    case RefuseReason::kVersion:
      return v1::REFUSE_REASON_VERSION;
    case RefuseReason::kDevice:
      return v1::REFUSE_REASON_DEVICE;
    case RefuseReason::kName:
      return v1::REFUSE_REASON_NAME;
    case RefuseReason::kFiles:
      return v1::REFUSE_REASON_FILES;
    case RefuseReason::kModel:
      return v1::REFUSE_REASON_MODEL;
    case RefuseReason::kProtocol:
      return v1::REFUSE_REASON_PROTOCOL;
    case RefuseReason::kEnded:
      return v1::REFUSE_REASON_ENDED;
  }
  return v1::REFUSE_REASON_UNSPECIFIED;
}

v1::Purpose WireOf(Purpose purpose) {
  switch (purpose) {
    case Purpose::kStart:
      return v1::PURPOSE_START;
    case Purpose::kJoin:
      return v1::PURPOSE_JOIN;
    case Purpose::kRetry:
      return v1::PURPOSE_RETRY;
    case Purpose::kRepair:
      return v1::PURPOSE_REPAIR;
  }
  return v1::PURPOSE_UNSPECIFIED;
}

v1::StateNeed WireOf(StateNeed need) {
  switch (need) {
    case StateNeed::kHolds:
      return v1::STATE_NEED_HOLDS;
    case StateNeed::kInitial:
      return v1::STATE_NEED_INITIAL;
    case StateNeed::kAll:
      return v1::STATE_NEED_ALL;
    case StateNeed::kValues:
      return v1::STATE_NEED_VALUES;
    case StateNeed::kStep:
      return v1::STATE_NEED_STEP;
    case StateNeed::kMoments:
      return v1::STATE_NEED_MOMENTS;
    case StateNeed::kFile:
      return v1::STATE_NEED_FILE;
    case StateNeed::kPartial:
      return v1::STATE_NEED_PARTIAL;
  }
  return v1::STATE_NEED_UNSPECIFIED;
}

v1::GoodbyeReason WireOf(GoodbyeReason reason) {
  switch (reason) {
    case GoodbyeReason::kDone:
      return v1::GOODBYE_REASON_DONE;
    case GoodbyeReason::kDrained:
      return v1::GOODBYE_REASON_DRAINED;
    case GoodbyeReason::kLeft:
      return v1::GOODBYE_REASON_LEFT;
    case GoodbyeReason::kStopped:
      return v1::GOODBYE_REASON_STOPPED;
    case GoodbyeReason::kFault:
      return v1::GOODBYE_REASON_FAULT;
    case GoodbyeReason::kExcluded:
      return v1::GOODBYE_REASON_EXCLUDED;
  }
  return v1::GOODBYE_REASON_UNSPECIFIED;
}

void Encode(const Welcome& in, v1::CoordinatorMessage& envelope) {
  v1::Welcome& out = *envelope.mutable_welcome();
  for (const StagedFate& fate : in.fates) {
    v1::StagedFate& f = *out.add_fates();
    f.set_round(fate.round.value);
    f.set_group(fate.group.value);
    f.set_attempt(fate.attempt);
    f.set_fate(WireOf(fate.fate));
  }
  out.set_assembly(in.assembly.value);
  out.set_attempt(in.attempt);
  out.set_order_fate(WireOf(in.order_fate));
  out.set_life(in.life);
  if (!in.reference) return;
  v1::Reference& reference = *out.mutable_reference();
  reference.set_layout_hash(in.reference->layout_hash);
  reference.set_data_hash(in.reference->data_hash);
  reference.set_train_samples(in.reference->train_samples);
  reference.set_test_samples(in.reference->test_samples);
  reference.set_parameters(in.reference->parameters);
  reference.set_float_buffers(in.reference->float_buffers);
}

void Encode(const Wait& in, v1::CoordinatorMessage& envelope) {
  v1::Wait& out = *envelope.mutable_wait();
  out.set_reason(WireOf(in.reason));
  out.set_text(in.text);
  out.set_retry_seconds(in.retry_seconds);
}

void Encode(const Refuse& in, v1::CoordinatorMessage& envelope) {
  v1::Refuse& out = *envelope.mutable_refuse();
  out.set_reason(WireOf(in.reason));
  out.set_text(in.text);
}

void Encode(const Assemble& in, v1::CoordinatorMessage& envelope) {
  v1::Assemble& out = *envelope.mutable_assemble();
  out.set_purpose(WireOf(in.purpose));
  out.set_group(in.group.value);
  for (const Member& member : in.members) {
    v1::Member& m = *out.add_members();
    m.set_name(member.name);
    m.set_incarnation(member.incarnation.value);
    m.set_need(WireOf(member.need));
  }
  out.set_giver(in.giver);
  out.set_round(in.round.value);
  out.set_state_hash(in.state_hash);
  out.set_step(in.step);
  out.set_limit_seconds(in.limit_seconds);
}

void Encode(const Mesh& in, v1::CoordinatorMessage& envelope) {
  v1::Mesh& out = *envelope.mutable_mesh();
  out.set_group(in.group.value);
  for (const std::string& blob : in.blobs) out.add_blobs(blob);
  out.set_token(in.token);
}

void Encode(const Order& in, v1::CoordinatorMessage& envelope) {
  v1::Order& out = *envelope.mutable_order();
  out.set_group(in.group.value);
  out.set_round(in.round.value);
  out.set_mode(in.mode == RoundMode::kParallel ? v1::MODE_PARALLEL : v1::MODE_LOCAL);
  out.set_collective(EncodeCollective(in.collective));
  out.set_density(in.density);
  out.set_first_step(in.first_step);
  out.set_length(in.length);
  const size_t rates = std::min(in.rates.size(), kRatesInOrder);
  out.mutable_rates()->Add(in.rates.begin(), in.rates.begin() + static_cast<ptrdiff_t>(rates));
  for (const SampleRun& run : in.runs) {
    v1::SampleRun& r = *out.add_runs();
    r.set_epoch(run.epoch);
    r.set_first(run.first);
    r.set_count(run.count);
    r.set_stride(run.stride);
    r.set_steps(run.steps);
    r.set_advance(run.advance);
    r.set_same_steps(run.same_steps);
  }
  out.set_weight(in.weight);
  out.set_weight_sum(in.weight_sum);
  out.set_evaluation_due(in.evaluation_due);
  out.set_save_due(in.save_due);
}

void Encode(const Reduce& in, v1::CoordinatorMessage& envelope) {
  v1::Reduce& out = *envelope.mutable_reduce();
  out.set_group(in.group.value);
  out.set_round(in.round.value);
  out.set_attempt(in.attempt);
  for (const Contributor& contributor : in.contributors) {
    v1::Contributor& c = *out.add_contributors();
    c.set_rank(contributor.rank);
    c.set_weight(contributor.weight);
  }
}

void Encode(const Commit& in, v1::CoordinatorMessage& envelope) {
  v1::Commit& out = *envelope.mutable_commit();
  out.set_group(in.group.value);
  out.set_round(in.round.value);
  out.set_attempt(in.attempt);
  out.set_state_hash(in.state_hash);
  out.set_next_step(in.next_step);
}

void Encode(const Abort& in, v1::CoordinatorMessage& envelope) {
  v1::Abort& out = *envelope.mutable_abort();
  out.set_group(in.group.value);
  out.set_round(in.round.value);
  out.set_attempt(in.attempt);
  out.set_text(in.text);
}

void Encode(const EvaluateNow& in, v1::CoordinatorMessage& envelope) {
  v1::EvaluateNow& out = *envelope.mutable_evaluate();
  out.set_group(in.group.value);
  out.set_round(in.round.value);
}

void Encode(const SaveNow& in, v1::CoordinatorMessage& envelope) {
  v1::SaveNow& out = *envelope.mutable_save();
  out.set_group(in.group.value);
  out.set_round(in.round.value);
  out.set_step(in.step);
  for (StateFile file : in.files) out.add_files(EncodeStateFile(file));
}

void Encode(const Goodbye& in, v1::CoordinatorMessage& envelope) {
  v1::Goodbye& out = *envelope.mutable_goodbye();
  out.set_reason(WireOf(in.reason));
  out.set_text(in.text);
  out.set_exit_code(in.exit_code);
}

v1::CoordinatorMessage EnvelopeOf(const CoordinatorMessage& message) {
  v1::CoordinatorMessage envelope;
  envelope.set_job_id(message.job_id);
  envelope.set_term(message.term.value);
  return envelope;
}

void AddRates(const CoordinatorMessage& message, const Order& order,
              std::vector<v1::CoordinatorMessage>& out) {
  for (size_t first = kRatesInOrder; first < order.rates.size(); first += kRatesPerMessage) {
    const size_t last = std::min(order.rates.size(), first + kRatesPerMessage);
    v1::Rates& rates = *out.emplace_back(EnvelopeOf(message)).mutable_rates();
    rates.set_group(order.group.value);
    rates.set_round(order.round.value);
    rates.set_first(first);
    const std::span<const double> values(order.rates.data() + first, last - first);
    rates.mutable_values()->Add(values.begin(), values.end());
  }
}

}  // namespace

std::vector<v1::CoordinatorMessage> EncodeCoordinatorMessage(const CoordinatorMessage& message) {
  std::vector<v1::CoordinatorMessage> out;
  v1::CoordinatorMessage envelope = EnvelopeOf(message);
  std::visit([&](const auto& body) { Encode(body, envelope); }, message.body);
  out.push_back(std::move(envelope));
  if (const auto* order = std::get_if<Order>(&message.body)) AddRates(message, *order, out);
  return out;
}

}  // namespace rondo::server
