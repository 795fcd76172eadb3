#include "worker/collectives/tcp/ring.h"

#include <vector>

namespace rondo {

absl::Status RingAllReduce(Exchange& exchange, const CallId& call, DeviceSpan<float> data,
                           Deadline deadline) {
  const int ranks = exchange.size();
  const int next = (exchange.rank() + 1) % ranks;
  const int previous = (exchange.rank() + ranks - 1) % ranks;
  const int steps = 2 * (ranks - 1);
  // n*c stays below 2^63 for every n that fits in memory.
  const auto chunk = [&](int index) {
    const int64_t c = (index % ranks + ranks) % ranks;
    const int64_t begin = data.size * c / ranks;
    return data.Sub(begin, data.size * (c + 1) / ranks - begin);
  };
  std::vector<Incoming> incoming;
  std::vector<Outgoing> outgoing;
  incoming.reserve(steps);  // gates point into it
  outgoing.reserve(steps);
  for (int step = 0; step < steps; ++step) {
    const bool reduce = step < ranks - 1;
    const DeviceSpan<float> out = chunk(exchange.rank() - step);
    const DeviceSpan<float> in = chunk(exchange.rank() - step - 1);
    // What leaves in a step is what came in the step before.
    outgoing.push_back({.peer = next,
                        .data = reinterpret_cast<const std::byte*>(out.data),
                        .length = out.size * int64_t{sizeof(float)},
                        .gate = step == 0 ? nullptr : &incoming[step - 1]});
    incoming.push_back({.peer = previous,
                        .data = reinterpret_cast<std::byte*>(in.data),
                        .length = in.size * int64_t{sizeof(float)},
                        .sink = reduce ? Sink::kAddFloats : Sink::kStore});
  }
  const ExchangeCall exchange_call = {.id = call,
                                      .algorithm = Algorithm::kRing,
                                      .type = ElementType::kFloat32,
                                      .count = data.size,
                                      .deadline = deadline};
  return exchange.Run(exchange_call, outgoing, incoming);
}

}  // namespace rondo
