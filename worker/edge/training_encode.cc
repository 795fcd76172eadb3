#include <algorithm>
#include <variant>
#include <vector>

#include "worker/edge/training_codec.h"

namespace rondo::worker {
namespace {

v1::DeviceKind EncodeDevice(Device device) {
  switch (device) {
    case Device::kCpu:
      return v1::DEVICE_KIND_CPU;
    case Device::kCuda:
      return v1::DEVICE_KIND_CUDA;
  }
  return v1::DEVICE_KIND_UNSPECIFIED;
}

v1::Activity EncodeActivity(Activity activity) {
  switch (activity) {
    case Activity::kPreparing:
      return v1::ACTIVITY_PREPARING;
    case Activity::kWaiting:
      return v1::ACTIVITY_WAITING;
    case Activity::kAssembling:
      return v1::ACTIVITY_ASSEMBLING;
    case Activity::kTraining:
      return v1::ACTIVITY_TRAINING;
    case Activity::kReducing:
      return v1::ACTIVITY_REDUCING;
    case Activity::kEvaluating:
      return v1::ACTIVITY_EVALUATING;
    case Activity::kSaving:
      return v1::ACTIVITY_SAVING;
  }
  return v1::ACTIVITY_UNSPECIFIED;
}

v1::Phase EncodePhase(CostPhase phase) {
  switch (phase) {
    case CostPhase::kReduceScatter:
      return v1::PHASE_REDUCE_SCATTER;
    case CostPhase::kAllGather:
      return v1::PHASE_ALL_GATHER;
    case CostPhase::kDoubling:
      return v1::PHASE_DOUBLING;
    case CostPhase::kBuffers:
      return v1::PHASE_BUFFERS;
    case CostPhase::kState:
      return v1::PHASE_STATE;
    case CostPhase::kReduce:
      return v1::PHASE_REDUCE;
    case CostPhase::kSelect:
      return v1::PHASE_SELECT;
    case CostPhase::kAgree:
      return v1::PHASE_AGREE;
    case CostPhase::kSplit:
      return v1::PHASE_SPLIT;
    case CostPhase::kThreshold:
      return v1::PHASE_THRESHOLD;
    case CostPhase::kBalance:
      return v1::PHASE_BALANCE;
    case CostPhase::kGather:
      return v1::PHASE_GATHER;
    case CostPhase::kApply:
      return v1::PHASE_APPLY;
  }
  return v1::PHASE_UNSPECIFIED;
}

v1::FailureCause EncodeCause(FailureCause cause) {
  switch (cause) {
    case FailureCause::kPeer:
      return v1::FAILURE_CAUSE_PEER;
    case FailureCause::kTimeout:
      return v1::FAILURE_CAUSE_TIMEOUT;
    case FailureCause::kAborted:
      return v1::FAILURE_CAUSE_ABORTED;
    case FailureCause::kNoFactor:
      return v1::FAILURE_CAUSE_NO_FACTOR;
    case FailureCause::kInternal:
      return v1::FAILURE_CAUSE_INTERNAL;
    case FailureCause::kFile:
      return v1::FAILURE_CAUSE_FILE;
  }
  return v1::FAILURE_CAUSE_UNSPECIFIED;
}

// A clock that was set back in between makes no negative time.
double Seconds(double measured) { return std::max(measured, 0.0); }

template <typename Message>
void EncodeCosts(const std::vector<PhaseCost>& costs, Message* out) {
  for (const PhaseCost& cost : costs) {
    v1::PhaseCost* encoded = out->add_costs();
    encoded->set_phase(EncodePhase(cost.phase));
    encoded->set_bytes_sent(cost.bytes_sent);
    encoded->set_bytes_received(cost.bytes_received);
    encoded->set_header_bytes_sent(cost.header_bytes_sent);
    encoded->set_seconds(Seconds(cost.seconds));
    encoded->set_calls(cost.calls);
  }
}

void EncodeSparse(const SparseStats& stats, v1::SparseStats* out) {
  out->set_reductions(stats.reductions);
  out->set_selected(stats.selected);
  out->set_region_entries(stats.region_entries);
  out->set_merged(stats.merged);
  out->set_delivered(stats.delivered);
  out->set_largest_part(stats.largest_part);
  out->set_cuts(stats.cuts);
  out->set_thresholds(stats.thresholds);
  out->set_rebalanced(stats.rebalanced);
}

template <typename Message>
void EncodeReduceFacts(const ReduceFacts& facts, Message* out) {
  out->set_state_hash(facts.state_hash);
  out->set_parameter_norm_squared(facts.parameter_norm_squared);
  out->set_residual_norm_squared(facts.residual_norm_squared);
  out->set_reduce_seconds(Seconds(facts.reduce_seconds));
  EncodeCosts(facts.costs, out);
  if (facts.sparse) EncodeSparse(*facts.sparse, out->mutable_sparse());
}

void EncodeReturning(const Returning& in, v1::Returning* out) {
  out->set_round(in.round.value);
  out->set_state_hash(in.state_hash);
  if (in.order) {
    v1::OrderInHand* order = out->mutable_order();
    order->set_term(in.order->term.value);
    order->set_group(in.order->group.value);
    order->set_round(in.order->round.value);
    order->set_step(in.order->step);
    order->set_done(in.order->done);
  }
  for (const StagedResult& staged : in.staged) {
    v1::StagedResult* encoded = out->add_staged();
    encoded->set_round(staged.round.value);
    encoded->set_group(staged.group.value);
    encoded->set_attempt(staged.attempt);
    encoded->set_state_hash(staged.state_hash);
    encoded->set_finite(staged.finite);
  }
  out->set_finite(in.finite);
  v1::Seen* seen = out->mutable_seen();
  seen->set_term(in.seen.term.value);
  seen->set_life(in.seen.life);
  seen->set_group(in.seen.group.value);
  seen->set_round(in.seen.round.value);
}

void Encode(const Hello& in, v1::WorkerMessage* message) {
  v1::Hello* out = message->mutable_hello();
  out->set_name(in.name);
  out->set_incarnation(in.incarnation.value);
  out->set_dial(in.dial);
  out->set_device(EncodeDevice(in.device));
  out->mutable_versions()->set_protocol(in.protocol);
  out->mutable_versions()->set_rondo(in.rondo_version);
  out->mutable_versions()->set_torch(in.torch_version);
  out->mutable_versions()->set_nccl(in.nccl_version);
  out->set_host(in.host);
  out->set_pid(in.pid);
  if (in.returning) EncodeReturning(*in.returning, out->mutable_returning());
}

void Encode(const Prepared& in, v1::WorkerMessage* message) {
  v1::Prepared* out = message->mutable_prepared();
  if (in.problem) {
    out->mutable_problem()->set_reason(in.problem->fault == PrepareFault::kFiles
                                           ? v1::REFUSE_REASON_FILES
                                           : v1::REFUSE_REASON_MODEL);
    out->mutable_problem()->set_text(in.problem->text);
    return;
  }
  out->set_layout_hash(in.facts.layout_hash);
  out->set_data_hash(in.facts.data_hash);
  out->set_train_samples(in.facts.train_samples);
  out->set_test_samples(in.facts.test_samples);
  out->set_parameters(in.facts.parameters);
  out->set_float_buffers(in.facts.float_buffers);
  for (const FileFact& file : in.facts.files) {
    v1::JobFile* encoded = out->add_files();
    encoded->set_path(file.path);
    encoded->set_size(file.size);
    encoded->set_sha256(file.sha256);
  }
}

void Encode(const Endpoint& in, v1::WorkerMessage* message) {
  message->mutable_endpoint()->set_group(in.group.value);
  message->mutable_endpoint()->set_blob(in.blob);
}

void Encode(const Formed& in, v1::WorkerMessage* message) {
  v1::Formed* out = message->mutable_formed();
  out->set_group(in.group.value);
  out->set_state_hash(in.state_hash);
  out->set_seconds(Seconds(in.seconds));
  out->set_transfer_bytes(in.transfer_bytes);
  out->set_step(in.step);
  out->set_moments_zeroed(in.moments_zeroed);
  out->set_residual_norm_squared(in.residual_norm_squared);
}

void Encode(const Progress& in, v1::WorkerMessage* message) {
  v1::Progress* out = message->mutable_progress();
  out->set_round(in.round.value);
  out->set_step(in.step);
  out->set_loss(in.loss);
  out->set_samples_per_second(in.samples_per_second);
  out->set_stalled_seconds(in.stalled_seconds);
  out->set_activity(EncodeActivity(in.activity));
}

void Encode(const Ready& in, v1::WorkerMessage* message) {
  v1::Ready* out = message->mutable_ready();
  out->set_group(in.group.value);
  out->set_round(in.round.value);
  out->set_steps(in.steps);
  out->set_samples(in.samples);
  out->set_loss_sum(in.loss_sum);
  out->set_finite(in.finite);
  out->set_step_seconds(Seconds(in.step_seconds));
  EncodeReduceFacts(in.reduced, out);
}

void Encode(const Reduced& in, v1::WorkerMessage* message) {
  v1::Reduced* out = message->mutable_reduced();
  out->set_group(in.group.value);
  out->set_round(in.round.value);
  out->set_attempt(in.attempt);
  out->set_finite(in.finite);
  EncodeReduceFacts(in.reduced, out);
}

void Encode(const Failed& in, v1::WorkerMessage* message) {
  v1::Failed* out = message->mutable_failed();
  out->set_group(in.group.value);
  out->set_round(in.round.value);
  out->set_attempt(in.attempt);
  out->set_step(in.step);
  out->set_has_result(in.has_result);
  out->set_peer(in.peer);
  out->set_cause(EncodeCause(in.cause));
  out->set_text(in.text);
  out->set_not_finite(!in.finite);
  out->set_loss_sum(in.loss_sum);
}

void Encode(const Evaluated& in, v1::WorkerMessage* message) {
  v1::Evaluated* out = message->mutable_evaluated();
  out->set_group(in.group.value);
  out->set_round(in.round.value);
  out->set_loss_sum(in.loss_sum);
  out->set_correct(in.correct);
  out->set_count(in.count);
  out->set_seconds(Seconds(in.seconds));
}

void Encode(const Saved& in, v1::WorkerMessage* message) {
  v1::Saved* out = message->mutable_saved();
  out->set_group(in.group.value);
  out->set_round(in.round.value);
  out->set_step(in.step);
  for (const SavedFile& file : in.files) {
    v1::SavedFile* encoded = out->add_files();
    encoded->set_file(EncodeStateFile(file.file));
    encoded->set_size(file.size);
    encoded->set_sha256(file.sha256);
  }
}

void Encode(const SaveFailed& in, v1::WorkerMessage* message) {
  v1::SaveFailed* out = message->mutable_save_failed();
  out->set_group(in.group.value);
  out->set_round(in.round.value);
  out->set_step(in.step);
  out->set_text(in.text);
}

void Encode(const Leave& in, v1::WorkerMessage* message) {
  v1::Leave* out = message->mutable_leave();
  out->set_round(in.round.value);
  out->set_steps_done(in.steps_done);
  out->set_grace_seconds(in.grace_seconds);
  out->set_text(in.text);
}

}  // namespace

v1::StateFile EncodeStateFile(StateFile file) {
  switch (file) {
    case StateFile::kParameters:
      return v1::STATE_FILE_PARAMETERS;
    case StateFile::kBuffers:
      return v1::STATE_FILE_BUFFERS;
    case StateFile::kLocal:
      return v1::STATE_FILE_LOCAL;
    case StateFile::kPartial:
      return v1::STATE_FILE_PARTIAL;
  }
  return v1::STATE_FILE_UNSPECIFIED;
}

v1::WorkerMessage EncodeWorkerMessage(const WorkerMessage& message) {
  v1::WorkerMessage out;
  out.set_job_id(message.job_id);
  out.set_term(message.term.value);
  std::visit([&](const auto& body) { Encode(body, &out); }, message.body);
  return out;
}

}  // namespace rondo::worker
