// The group: from Assemble to Formed.
#include <algorithm>

#include "worker/core/duties.h"
#include "worker/core/state_need.h"

namespace rondo::worker {

void Duties::Handle(const Assemble& assemble, Outcome* out) {
  if (assemble.group <= newest_group_) return;  // A duplicate, or of a group that is over.
  const auto me = std::find_if(
      assemble.members.begin(), assemble.members.end(),
      [&](const Member& m) { return m.name == name_ && m.incarnation == incarnation_; });
  if (me == assemble.members.end()) return;
  newest_group_ = assemble.group;
  newest_round_ = std::max(newest_round_, assemble.round);
  LeaveAssembly(out);
  const bool at_border = assemble.purpose == Purpose::kStart || assemble.purpose == Purpose::kJoin;
  if (at_border || ReplacesState(me->need)) DropOrderInHand(out);
  // Rule 21: the job went back, what it held is undone.
  if (me->need == StateNeed::kFile || me->need == StateNeed::kPartial) {
    DropStagedInHand(out);
    ForgetState();
  }
  save_.reset();
  assembly_ =
      Assembly{.assemble = assemble, .rank = static_cast<uint32_t>(me - assemble.members.begin())};
  out->commands.push_back(Listen{assemble.group});
}

void Duties::Handle(const EndpointReady& event, Outcome* out) {
  if (group() != event.endpoint.group || assembly_->endpoint) return;
  assembly_->endpoint = event.endpoint;
  out->messages.push_back(event.endpoint);
}

void Duties::Handle(const Mesh& mesh, Outcome* out) {
  if (group() != mesh.group || assembly_->stage != Stage::kListening) return;
  if (!assembly_->endpoint || mesh.blobs.size() != assembly_->assemble.members.size()) return;
  assembly_->stage = Stage::kForming;
  // What comes replaces the state piece by piece: until it is whole there is none (S22).
  if (ReplacesState(assembly_->assemble.members[assembly_->rank].need)) {
    ForgetState();
  }
  out->commands.push_back(FormGroup{assembly_->assemble, assembly_->rank, mesh.blobs, mesh.token});
}

void Duties::Handle(const GroupFormed& event, Outcome* out) {
  out->abort_ended = true;
  if (group() != event.formed.group || assembly_->stage != Stage::kForming) return;
  assembly_->stage = Stage::kFormed;
  assembly_->formed = event.formed;
  const Purpose purpose = assembly_->assemble.purpose;
  if (purpose == Purpose::kRepair) {
    NoteRepair(event.formed.step);
  } else {
    held_round_ = assembly_->assemble.round;
    held_hash_ = event.formed.state_hash;
    if (purpose != Purpose::kRetry) held_finite_ = true;  // A border's exchange sees to it.
  }
  if (staged_ && staged_->round <= held_round_) DropStagedInHand(out);  // Decided long ago.
  out->messages.push_back(event.formed);
}

void Duties::Handle(const GroupFailed& event, Outcome* out) {
  out->abort_ended = true;
  if (group() != event.failed.group) return;
  if (assembly_->stage != Stage::kForming && assembly_->stage != Stage::kListening) return;
  assembly_->stage = Stage::kFailed;
  assembly_->failed = event.failed;
  out->messages.push_back(event.failed);
}

}  // namespace rondo::worker
