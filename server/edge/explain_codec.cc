#include "server/edge/explain_codec.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/status_macros.h"
#include "server/edge/comm_codec.h"
#include "server/edge/jobs_codec.h"

namespace rondo::server {
namespace {

double UnixSeconds(absl::Time time) {
  return time == absl::InfinitePast() ? 0 : absl::ToDoubleSeconds(time - absl::UnixEpoch());
}

v1::RoundFate Encode(RoundFate fate) {
  switch (fate) {
    case RoundFate::kOpen:
      return v1::ROUND_FATE_OPEN;
    case RoundFate::kCommitted:
      return v1::ROUND_FATE_COMMITTED;
    case RoundFate::kVoided:
      return v1::ROUND_FATE_VOIDED;
    case RoundFate::kUndone:
      return v1::ROUND_FATE_UNDONE;
  }
  return v1::ROUND_FATE_UNSPECIFIED;
}

const char* NameOf(ChangeKind kind) {
  switch (kind) {
    case ChangeKind::kJoined:
      return "joined";
    case ChangeKind::kTookOver:
      return "took_over";
    case ChangeKind::kGone:
      return "gone";
    case ChangeKind::kDropped:
      return "dropped";
  }
  return "unknown";
}

void Encode(const RoundCost& cost, v1::RoundCost* out) {
  out->set_total(cost.total);
  out->set_steps(cost.steps);
  out->set_reduce(cost.reduce);
  out->set_control(cost.control);
  out->set_before(cost.before);
  out->set_evaluate_before(cost.evaluate_before);
}

void Encode(const WorkerSamples& samples, v1::WorkerSamples* out) {
  out->set_worker(samples.worker);
  out->set_count(samples.count);
}

void Encode(const RoundSamples& samples, v1::RoundSamples* out) {
  out->set_used(samples.used);
  for (const WorkerSamples& each : samples.returned) Encode(each, out->add_returned());
  for (const WorkerSamples& each : samples.not_finite) Encode(each, out->add_not_finite());
  out->set_tail_dropped(samples.tail_dropped);
}

}  // namespace

void EncodeStory(const RoundStory& story, v1::RoundExplanation* out) {
  out->set_round(story.round.value);
  out->set_fate(Encode(story.fate));
  out->set_fate_text(story.fate_text);
  out->set_group(story.group.value);
  out->set_mode(story.length.mode == RoundMode::kParallel ? v1::MODE_PARALLEL : v1::MODE_LOCAL);
  out->set_first_step(story.first_step);
  out->set_length(static_cast<uint64_t>(story.length.length));
  out->set_length_reason(std::string(rondo::NameOf(story.length.reason)));
  out->set_length_text(story.length.text);
  out->set_rate_first(story.length.rate);
  out->set_length_wanted(story.length.wanted);
  out->set_collective(EncodeCollective(story.collective));
  out->set_density(story.density);
  out->set_collective_text(story.collective_text);
  if (story.sparse) EncodeSparse(*story.sparse, out->mutable_sparse());
  out->set_orders(story.orders);
  for (const std::string& name : story.members) out->add_members(name);
  for (const std::string& name : story.contributors) out->add_contributors(name);
  for (const MemberChange& change : story.changes) {
    v1::MemberChange* each = out->add_changes();
    each->set_worker(change.worker);
    each->set_kind(NameOf(change.kind));
    each->set_text(change.text);
    each->set_at(UnixSeconds(change.at));
  }
  out->set_attempts(story.attempts);
  for (const Repetition& repeat : story.repeats) {
    v1::Repetition* each = out->add_repeats();
    each->set_kind(repeat.kind);
    each->set_text(repeat.text);
    each->set_at(UnixSeconds(repeat.at));
    each->set_seconds(repeat.seconds);
  }
  Encode(story.cost, out->mutable_cost());
  Encode(story.samples, out->mutable_samples());
  for (const NoticeRecord& notice : story.notices) EncodeNotice(notice, out->add_events());
}

absl::StatusOr<v1::RoundExplanation> ExplainFromJournal(JournalReader& journal,
                                                        ExplainConfig config, RoundId round) {
  if (!round) {
    ASSIGN_OR_RETURN(round, journal.LastOrdered());
    if (!round) return absl::NotFoundError("no round was ordered yet");
  }
  if (config.schedule.steps == 0) {
    ASSIGN_OR_RETURN(const std::optional<ReferenceRecord> reference, journal.Reference());
    if (reference) config.schedule.steps = static_cast<int64_t>(reference->total_steps);
  }
  ASSIGN_OR_RETURN(const std::vector<Record> records, journal.RecordsAround(round));
  ASSIGN_OR_RETURN(const RoundStory story, ExplainRound(config, records, round));
  v1::RoundExplanation explanation;
  EncodeStory(story, &explanation);
  return explanation;
}

}  // namespace rondo::server
