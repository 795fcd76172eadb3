// The worker's stream to its coordinator, over gRPC.
#ifndef RONDO_WORKER_EDGE_SESSION_H_
#define RONDO_WORKER_EDGE_SESSION_H_

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/ids.h"
#include "proto/rondo/v1/job.pb.h"
#include "worker/core/actions.h"
#include "worker/core/messages.h"
#include "worker/runtime/attendant.h"

namespace rondo::worker {

// A message of the coordinator may be so long: an Order carries at most 8,192 rates, a Mesh one
// blob a member.
inline constexpr int kMessageBytesMax = 16 << 20;

struct SessionOptions {
  // A new channel for each dial, so that a name is looked up again and gRPC's own back-off does not
  // add to the machine's. Session keeps the last one for Channel().
  std::function<std::shared_ptr<grpc::Channel>()> make_channel;
  // What happens, for Attendant::Post. Called on gRPC's threads.
  std::function<void(Event)> post;
  // The job that a Welcome brings, before that Welcome is posted. An error makes it Malformed.
  std::function<absl::Status(const v1::Job&, Term)> on_job;
};

// Link over Training.Attend: one call a dial, messages in order, written one at a time; what cannot
// be read becomes Malformed, the end of a call StreamLost. Pings keep watch on a silent coordinator
// (common/keepalive.h); a frozen one becomes StreamLost too.
// Threads: Link's calls from one thread; all else any.
class Session final : public Link {
 public:
  explicit Session(SessionOptions options);
  // Cancels the open call and waits until gRPC has let go of all of them.
  ~Session() override;

  void Open(uint64_t dial) override;
  void Close(uint64_t dial) override;
  void Send(const WorkerMessage& message) override;

  // Half-closes the open call once everything is written, and waits for its end, at most `limit`.
  void Finish(absl::Duration limit);
  // Of the last dial; null before the first. For PutState.
  std::shared_ptr<grpc::Channel> Channel();

 private:
  class Call;
  struct Shared;

  const std::shared_ptr<Shared> shared_;
  std::vector<std::unique_ptr<Call>> calls_;  // The last one is the open one, if any is.
};

// A channel as the session wants it: pings, message sizes, no shared sub-channels.
std::shared_ptr<grpc::Channel> MakeSessionChannel(
    const std::string& target, const std::shared_ptr<grpc::ChannelCredentials>& credentials);

}  // namespace rondo::worker

#endif  // RONDO_WORKER_EDGE_SESSION_H_
