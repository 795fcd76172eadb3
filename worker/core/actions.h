// What happens to a worker (events) and what its machine wants done (commands): plain values. The
// runtime turns commands into work and work into events; tests and the simulation do it in their
// own way.
#ifndef RONDO_WORKER_CORE_ACTIONS_H_
#define RONDO_WORKER_CORE_ACTIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/time/time.h"
#include "common/ids.h"
#include "worker/core/messages.h"

namespace rondo::worker {

// ------------------------------------------------------------------------------------ events

// The stream of this dial could not be opened, or broke. Messages of other dials are dropped.
struct StreamLost {
  uint64_t dial = 0;
  std::string text;
  bool expected = false;  // Right after Goodbye, Refuse or Wait.
};
struct Received {
  uint64_t dial = 0;
  CoordinatorMessage message;
};
// The edge could not read what came: the coordinator speaks another version.
struct Malformed {
  uint64_t dial = 0;
  std::string text;
};
// `wake_at` has come. Early and spurious ones are harmless.
struct TimerFired {};
// It is time to tell the coordinator; `progress` is what the training loop shows.
struct HeartbeatDue {
  Progress progress;
};
// SIGTERM or SIGINT. A second one ends the process at once.
struct LeaveRequested {
  absl::Duration grace;  // Until the process is killed.
  uint64_t steps_done = 0;
  std::string text;
};
// Answers of the runtime, each to the command that it names.
struct PrepareDone {  // Prepare
  Prepared prepared;
};
struct EndpointReady {  // Listen
  Endpoint endpoint;
};
struct GroupFormed {  // FormGroup
  Formed formed;
};
struct GroupFailed {  // Listen, FormGroup; failed.round = 0
  Failed failed;
};
struct StepsDone {  // Train
  Ready ready;
};
struct StepsFailed {  // Train
  Failed failed;
};
struct ReduceDone {  // ReduceState
  Reduced reduced;
};
struct ReduceFailed {  // ReduceState
  Failed failed;
};
struct EvaluateDone {  // Evaluate
  Evaluated evaluated;
};
struct SaveDone {  // Save
  Saved saved;
};
struct SaveStopped {  // Save
  SaveFailed failed;
};
// The runtime cannot go on (a swap failed, memory is out): the process ends with 70.
struct RuntimeBroken {
  std::string text;
};

using Event =
    std::variant<StreamLost, Received, Malformed, TimerFired, HeartbeatDue, LeaveRequested,
                 PrepareDone, EndpointReady, GroupFormed, GroupFailed, StepsDone, StepsFailed,
                 ReduceDone, ReduceFailed, EvaluateDone, SaveDone, SaveStopped, RuntimeBroken>;

// ------------------------------------------------------------------------------------ commands
// Done in order. Those from Prepare on belong to the trainer's thread, except that LeaveGroup and
// DropOrder also interrupt what it is doing.

// Dial; what is sent after it goes on this stream, Hello first. A failure comes as StreamLost.
struct OpenStream {
  uint64_t dial = 0;
};
// No StreamLost is wanted for it.
struct CloseStream {
  uint64_t dial = 0;
};
struct Send {
  WorkerMessage message;
};
// From now on these limits hold.
struct UseLimits {
  SessionLimits limits;
};
// Load model and data of the job that came with Welcome; `files` and `reference` are what they must
// agree with, as far as known. -> PrepareDone
struct Prepare {
  std::vector<FileFact> files;
  std::optional<Facts> reference;
};
// Be reachable for the group's members. -> EndpointReady | GroupFailed
struct Listen {
  GroupId group;
};
// Connect to all members and pass the state on as each one's need says. -> GroupFormed |
// GroupFailed
struct FormGroup {
  Assemble assemble;
  uint32_t rank = 0;
  std::vector<std::string> blobs;
  std::string token;
};
// Abort whatever runs in this group and close its connections. What was running ends with its
// failure event. Training of a local order goes on.
struct LeaveGroup {
  GroupId group;
};
// All rates are there. -> StepsDone | StepsFailed
struct Train {
  Order order;
};
// Stop the order in work and go back to the round's starting state. What was running ends with its
// event, which nobody waits for.
struct DropOrder {
  RoundId round;
};
// -> ReduceDone | ReduceFailed; replaces a staged result.
struct ReduceState {
  Reduce reduce;
};
// The staged result becomes the state.
struct ApplyStaged {
  RoundId round;
  GroupId group;
  uint32_t attempt = 0;
};
struct DropStaged {
  RoundId round;
  GroupId group;
  uint32_t attempt = 0;
};
// This member's share of the test set. -> EvaluateDone
struct Evaluate {
  EvaluateNow what;
  uint32_t rank = 0;
  uint32_t size = 1;
};
// -> SaveDone | SaveStopped
struct Save {
  SaveNow what;
};
// End the process. What was sent before is flushed.
struct Exit {
  int code = 0;
  std::string text;
};

using Command =
    std::variant<OpenStream, CloseStream, Send, UseLimits, Prepare, Listen, FormGroup, LeaveGroup,
                 Train, DropOrder, ReduceState, ApplyStaged, DropStaged, Evaluate, Save, Exit>;

}  // namespace rondo::worker

#endif  // RONDO_WORKER_CORE_ACTIONS_H_
