// Moves messages between this rank and its peers, all at once, in one thread: the engine under
// every collective.
//
// A collective is written as a list of messages to send and a list of messages to receive. Run
// sends and receives them all: per peer and direction in the order of the list, between peers in
// any order. A message to be sent may be *gated* by one to be received: its bytes leave as they
// come in, so a chunk flows through a ring without waiting for its end.
#ifndef RONDO_WORKER_COLLECTIVES_TCP_EXCHANGE_H_
#define RONDO_WORKER_COLLECTIVES_TCP_EXCHANGE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "worker/collectives/abort_flag.h"
#include "worker/collectives/communicator.h"
#include "worker/collectives/tcp/deadline.h"
#include "worker/collectives/tcp/header.h"
#include "worker/collectives/tcp/lane.h"
#include "worker/collectives/tcp/stream.h"

namespace rondo {

// What all messages of one call have in common.
struct ExchangeCall {
  CallId id;
  Algorithm algorithm = Algorithm::kRing;
  ElementType type = ElementType::kByte;
  int64_t count = 0;
  Deadline deadline;
};

// What all messages of one group have in common.
struct GroupStamp {
  uint64_t job_hash = 0;
  uint64_t group = 0;
  Token token = {};
};

// Threads: one owner thread calls Run; Abort and Counters from any thread.
class Exchange {
 public:
  // `streams` by rank; null at `rank`. Takes them.
  Exchange(int rank, const GroupStamp& stamp, std::vector<std::unique_ptr<Stream>> streams,
           std::shared_ptr<AbortFlag> abort);
  ~Exchange();

  int rank() const { return rank_; }
  int size() const { return static_cast<int>(lanes_.size()); }

  // Blocks until every message is sent (handed to the system) and received, or something fails.
  // Both lists name other ranks than this one. After an error the exchange must not be used again;
  // the caller calls Shutdown. Errors: as Communicator's, without the FailedPrecondition.
  absl::Status Run(const ExchangeCall& call, std::span<Outgoing> outgoing,
                   std::span<Incoming> incoming);

  // Ends all connections. Threads: any.
  void Shutdown();
  // Shutdown, and Run returns Aborted. Threads: any.
  void Abort();
  bool IsAborted() const { return abort_->IsSet(); }

  TrafficCounters Counters() const;

 private:
  absl::Status Loop(const ExchangeCall& call);
  // Sends and receives what is possible without waiting; `moved` if anything was.
  absl::Status Turn(const ExchangeCall& call, bool* moved);
  absl::Status Wait(const ExchangeCall& call);
  MessageHeader HeaderTemplate(const ExchangeCall& call) const;
  std::string WaitedFor() const;

  const int rank_;
  const GroupStamp stamp_;
  const std::shared_ptr<AbortFlag> abort_;
  AtomicTraffic traffic_;
  std::vector<std::unique_ptr<Lane>> lanes_;  // by rank; null at rank_
  std::vector<Lane*> active_;                 // this Run's, in rotation from the next rank
  std::vector<pollfd> polled_;
};

}  // namespace rondo

#endif  // RONDO_WORKER_COLLECTIVES_TCP_EXCHANGE_H_
