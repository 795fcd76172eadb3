// The streams between workers and the coordinator's process: delays, breaks, doubles, stragglers.
// Each way keeps its order; between streams there is none. Both codecs are in the path.
#ifndef RONDO_TESTS_SIMULATION_NETWORK_H_
#define RONDO_TESTS_SIMULATION_NETWORK_H_

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "absl/time/time.h"
#include "common/ids.h"
#include "proto/rondo/v1/training.pb.h"
#include "server/core/job_machine.h"
#include "tests/simulation/weather.h"
#include "tests/simulation/world.h"

namespace rondo::simulation {

// A worker's end of the network.
class Caller {
 public:
  virtual ~Caller() = default;
  virtual const std::string& id() const = 0;
  virtual void Hear(uint64_t dial, const v1::CoordinatorMessage& message) = 0;
  virtual void StreamLost(uint64_t dial) = 0;
};

class Network {
 public:
  Network(World* world, const Weather* weather) : world_(world), weather_(weather) {}

  // The coordinator's process is there and hears what happens through `sink`.
  void CoordinatorStarts(std::function<void(const server::Event&)> sink);
  // All streams break; dials fail.
  void CoordinatorDies();

  // The worker's side. A caller has one stream at a time, the newest dial.
  void Open(Caller* caller, uint64_t dial);
  void CloseByWorker(Caller* caller, uint64_t dial);
  void SendUp(Caller* caller, uint64_t dial, const v1::WorkerMessage& message);
  // The coordinator's side; nothing happens on streams that are closed.
  void SendDown(StreamId stream, const server::CoordinatorMessage& message);
  void CloseByCoordinator(StreamId stream);
  // Who is at its other end.
  std::string WorkerOf(StreamId stream) const;
  // The caller's stream breaks.
  void Break(Caller* caller);

 private:
  struct Stream {
    StreamId id;
    Caller* caller = nullptr;
    uint64_t dial = 0;
    uint64_t life = 0;  // Of the coordinator.
    bool open = true;
    bool up_cut = false;  // A message was lost: none follows it.
    bool down_cut = false;
    absl::Time last_up;
    absl::Time last_down;
  };
  using StreamPtr = std::shared_ptr<Stream>;

  absl::Duration InOrder(absl::Time& last);
  StreamPtr StreamOf(Caller* caller, uint64_t dial) const;
  StreamPtr Find(StreamId id) const;
  void BreakStream(const StreamPtr& stream);
  void MayBreak(const StreamPtr& stream);
  // False: it is lost with its broken stream.
  bool Arrives(const Stream& stream, bool& cut);
  void Submit(const Stream& stream, const server::Event& event);

  World* const world_;
  const Weather* const weather_;
  std::function<void(const server::Event&)> sink_;
  uint64_t life_ = 0;
  std::deque<StreamPtr> streams_;            // By id - 1.
  std::map<std::string, StreamPtr> newest_;  // By the caller's id: the order must not be chance.
};

}  // namespace rondo::simulation

#endif  // RONDO_TESTS_SIMULATION_NETWORK_H_
