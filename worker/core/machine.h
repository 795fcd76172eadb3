// A worker's decisions: events in, commands out. Pure: no lock, no log, no clock, no I/O; the same
// events at the same times give the same commands.
//
//   stream, trainer, timers ──event, now──▶ Machine ──commands──▶ session, trainer
//
// It keeps the stream (dial, redial, term fence, limits, exit) and hands everything that concerns
// groups and rounds to Duties. Threads: one caller at a time; the runtime holds the lock.
#ifndef RONDO_WORKER_CORE_MACHINE_H_
#define RONDO_WORKER_CORE_MACHINE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/ids.h"
#include "worker/core/actions.h"
#include "worker/core/duties.h"
#include "worker/core/messages.h"
#include "worker/core/redial.h"

namespace rondo::worker {

// Exit codes that a worker chooses itself; Goodbye brings the others.
inline constexpr int kExitRefused = 3;
inline constexpr int kExitCoordinatorAway = 4;
inline constexpr int kExitLeft = 5;
inline constexpr int kExitInternal = 70;

struct MachineConfig {
  std::string name;
  Incarnation incarnation;  // Random, not 0.
  Device device = Device::kCpu;
  uint32_t protocol = 1;
  std::string rondo_version;
  std::string torch_version;
  uint32_t nccl_version = 0;
  std::string host;
  int64_t pid = 0;
  uint64_t seed = 0;  // Of the redial pauses' jitter.
  // Until the first Welcome brings the job's.
  SessionLimits limits;
};

struct Effects {
  std::vector<Command> commands;  // In order.
  // Earliest time at which TimerFired is wanted; InfiniteFuture: none. Replaces the former wish.
  absl::Time wake_at = absl::InfiniteFuture();
};

class Machine {
 public:
  explicit Machine(MachineConfig config);

  // Call once, first: dials.
  Effects Start(absl::Time now);
  // Never fails: what the rules forbid or no longer concerns this worker is dropped.
  Effects Handle(const Event& event, absl::Time now);

  bool exited() const { return exited_; }
  bool welcomed() const { return stream_ == Stream::kIn; }
  const std::string& job_id() const { return job_id_; }
  Term term() const { return term_; }
  const Duties& duties() const { return duties_; }

 private:
  enum class Stream { kNone, kHello, kIn };  // kHello: opened, not yet answered.

  void On(const StreamLost& event, absl::Time now);
  void On(const Received& event, absl::Time now);
  void On(const Malformed& event, absl::Time now);
  void On(const TimerFired& event, absl::Time now);
  void On(const HeartbeatDue& event, absl::Time now);
  void On(const LeaveRequested& event, absl::Time now);
  void On(const PrepareDone& event, absl::Time now);
  void On(const RuntimeBroken& event, absl::Time now);
  // All other events are the duties'.
  template <typename T>
  void On(const T& event, absl::Time now);

  void OnWelcome(const CoordinatorMessage& message, const Welcome& welcome, absl::Time now);
  void OnWait(const Wait& wait, absl::Time now);
  void OnGoodbye(const Goodbye& goodbye);
  void Dial(absl::Time now);
  void LoseStream(absl::Time now);
  void Say(WorkerBody body);
  void SayLeave(absl::Time now);
  void End(int code, std::string text);
  void Take(Outcome outcome, absl::Time now);
  void CheckTimes(absl::Time now);
  absl::Time AwayUntil() const;
  absl::Time WakeAt() const;

  const MachineConfig config_;
  SessionLimits limits_;
  RedialPauses pauses_;
  std::string job_id_;  // Empty until the first Welcome.
  Term term_;
  uint64_t life_ = 0;  // Of the coordinator, as the last Welcome says.

  Stream stream_ = Stream::kNone;
  uint64_t dial_ = 0;
  absl::Time dial_at_ = absl::InfiniteFuture();  // When kNone.
  absl::Time hello_at_;                          // When kHello.
  absl::Time welcomed_at_;                       // When kIn.
  absl::Time heard_at_;  // Since then the coordinator has been away, unless welcomed.

  bool preparing_ = false;
  std::optional<Prepared> prepared_;
  std::optional<Leave> leave_;
  absl::Time leave_until_ = absl::InfiniteFuture();
  Duties duties_;
  absl::Time abort_until_ = absl::InfiniteFuture();
  bool exited_ = false;
  Effects effects_;
};

}  // namespace rondo::worker

#endif  // RONDO_WORKER_CORE_MACHINE_H_
