// Who there is: one entry a worker name, with what the coordinator knows of its present
// incarnation. Pure bookkeeping and the rules of arrival (rules 2, 4 and 12 of proto/RULES.md).
#ifndef RONDO_SERVER_CORE_MEMBERSHIP_H_
#define RONDO_SERVER_CORE_MEMBERSHIP_H_

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "common/ids.h"
#include "server/core/messages.h"

namespace rondo::server {

// What a worker must be given before it can go on with a group.
enum class Debt {
  kNone,
  kAll,      // It holds no state.
  kValues,   // It missed a result, its moments are good.
  kMoments,  // Its moments are not finite.
};

enum class Standing {
  kPreparing,  // Said Hello.
  kPrepared,   // Candidate, or member of the group.
  kLost,       // Away for too long: its name is free.
  kLeft,       // Let go.
  kRefused,
};

struct Worker {
  std::string name;
  Incarnation incarnation;
  uint64_t dial = 0;
  Device device = Device::kCpu;
  std::string host;
  int64_t pid = 0;

  StreamId stream;  // 0: none.
  absl::Time heard = absl::InfinitePast();
  absl::Time broke = absl::InfinitePast();  // When its last stream ended.
  bool fell_silent = false;                 // That is why it ended: nobody waits for its return.

  Standing standing = Standing::kPreparing;
  std::string text;  // Why lost, left or refused.
  RefuseReason refused = RefuseReason::kProtocol;
  Goodbye goodbye;  // What it was told when it was let go.
  absl::Time gone_since = absl::InfiniteFuture();
  // A new process under its name has come and was told to wait until then.
  absl::Time cools_down_until = absl::InfinitePast();
  absl::Time candidate_since = absl::InfiniteFuture();

  // The last committed round whose result it holds (0: the initial state). Nothing: no state.
  std::optional<RoundId> holds;
  Debt debt = Debt::kAll;  // While it does not hold the last commit, or kMoments.
  int form_mismatches = 0;
  uint32_t not_finite_rounds = 0;  // In a row.

  std::optional<Leave> leaving;
  absl::Time leave_by = absl::InfiniteFuture();
  Progress progress;

  bool gone() const {
    return standing == Standing::kLost || standing == Standing::kLeft ||
           standing == Standing::kRefused;
  }
  bool present() const { return stream && !gone(); }
  bool prepared() const { return standing == Standing::kPrepared; }
};

// A broken stream is not yet death: until when `worker` is waited for, if it was missed at `since`.
// InfinitePast if it is not waited for.
absl::Time AwaitedUntil(const Worker& worker, absl::Time since, absl::Duration return_wait);

// So many of those who are gone are remembered, for so long.
inline constexpr size_t kGoneKept = 1'000;
inline constexpr absl::Duration kGoneKeptFor = absl::Hours(1);

// The entries. Pointers stay good until the entry's name gets another incarnation, or Forget.
class Roster {
 public:
  Worker* Find(const std::string& name);
  const Worker* Find(const std::string& name) const;
  // The worker of that name if it is still that incarnation.
  Worker* Find(const std::string& name, Incarnation incarnation);
  Worker* FindByStream(StreamId stream);
  // A fresh entry for this incarnation, in place of any other of the name.
  Worker& Enter(const Hello& hello, absl::Time now);
  // An entry for a member of an earlier term's group, away since `now`: it was prepared then.
  Worker& Expect(const Member& member, absl::Time now);
  // Workers that take one of the job's places: not lost, left or refused.
  uint64_t CountPlaces() const;
  // Drops who has been gone for longer than kGoneKeptFor, and all but the kGoneKept last gone.
  // Those that are `needed` stay. Who comes back later is as new.
  void Forget(absl::Time now, const std::function<bool(const Worker&)>& needed);

  std::map<std::string, Worker>& workers() { return workers_; }
  const std::map<std::string, Worker>& workers() const { return workers_; }

 private:
  std::map<std::string, Worker> workers_;
};

// What a stream's Hello must agree with.
struct HelloPolicy {
  std::string job_id;
  Device device = Device::kCpu;
  uint64_t workers_max = 1;
  // Of the first worker; empty and 0 before it.
  std::string torch_version;
  uint32_t nccl_version = 0;
  bool ended = false;
};

inline constexpr uint32_t kProtocolVersion = 1;

enum class HelloVerdict {
  kWelcome,   // This incarnation comes (back) on this stream.
  kReplaces,  // As kWelcome; another incarnation had the name and is lost.
  kWait,
  kRefuse,
  kLeft,   // It was let go and has not heard it.
  kOver,   // The job is over.
  kStale,  // An older dial than the one that holds: close it.
};

struct HelloDecision {
  HelloVerdict verdict = HelloVerdict::kWelcome;
  WaitReason wait = WaitReason::kNameInUse;
  RefuseReason refuse = RefuseReason::kProtocol;
  std::string text = {};
};

// `job_id` is the one in the envelope; empty for a worker that never had a Welcome.
HelloDecision DecideHello(const HelloPolicy& policy, const Roster& roster,
                          const std::string& job_id, const Hello& hello);

}  // namespace rondo::server

#endif  // RONDO_SERVER_CORE_MEMBERSHIP_H_
