#include "tests/simulation/network.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "server/edge/training_codec.h"
#include "tests/simulation/trace.h"

namespace rondo::simulation {

void Network::CoordinatorStarts(std::function<void(const server::Event&)> sink) {
  ++life_;
  sink_ = std::move(sink);
}

void Network::CoordinatorDies() {
  ++life_;
  sink_ = nullptr;
  for (auto& [id, stream] : newest_) {
    if (!stream->open) continue;
    stream->open = false;
    world_->After(InOrder(stream->last_down),
                  [stream = stream]() { stream->caller->StreamLost(stream->dial); });
  }
}

Network::StreamPtr Network::Find(StreamId id) const {
  if (!id || id.value > streams_.size()) return nullptr;
  return streams_[id.value - 1];
}

Network::StreamPtr Network::StreamOf(Caller* caller, uint64_t dial) const {
  const auto it = newest_.find(caller->id());
  return it == newest_.end() || it->second->dial != dial ? nullptr : it->second;
}

absl::Duration Network::InOrder(absl::Time& last) {
  const absl::Duration longest =
      world_->Strikes(weather_->slow) ? absl::Seconds(4) : absl::Milliseconds(30);
  const absl::Time at = world_->now() + world_->Between(absl::Microseconds(100), longest);
  last = std::max(at, last + absl::Nanoseconds(1));
  return last - world_->now();
}

bool Network::Arrives(const Stream& stream, bool& cut) {
  if (cut) return false;
  if (stream.open) return true;
  cut = !world_->Chance(weather_->stragglers);
  return !cut;
}

void Network::Submit(const Stream& stream, const server::Event& event) {
  if (stream.life == life_ && sink_) sink_(event);
}

void Network::Open(Caller* caller, uint64_t dial) {
  if (!sink_) {  // Connection refused.
    world_->After(world_->Between(absl::Milliseconds(1), absl::Milliseconds(30)),
                  [caller, dial]() { caller->StreamLost(dial); });
    return;
  }
  auto stream = std::make_shared<Stream>();
  stream->id = StreamId{streams_.size() + 1};
  stream->caller = caller;
  stream->dial = dial;
  stream->life = life_;
  stream->last_up = stream->last_down = world_->now();
  streams_.push_back(stream);
  newest_[caller->id()] = stream;
  world_->After(InOrder(stream->last_up), [this, stream]() {
    if (Arrives(*stream, stream->up_cut)) Submit(*stream, server::StreamOpened{stream->id});
  });
}

void Network::CloseByWorker(Caller* caller, uint64_t dial) {
  const StreamPtr stream = StreamOf(caller, dial);
  if (stream == nullptr || !stream->open) return;
  // The coordinator hears the last words before the end.
  world_->After(InOrder(stream->last_up), [this, stream]() {
    if (!std::exchange(stream->open, false)) return;
    Submit(*stream, server::StreamClosed{stream->id});
  });
}

void Network::Break(Caller* caller) {
  const auto it = newest_.find(caller->id());
  if (it != newest_.end()) BreakStream(it->second);
}

void Network::BreakStream(const StreamPtr& stream) {
  if (!std::exchange(stream->open, false)) return;
  world_->Log(fmt::format("stream {} of {} breaks", stream->id, stream->caller->id()));
  const absl::Duration longest = absl::Milliseconds(300);
  world_->After(world_->Between(absl::ZeroDuration(), longest),
                [this, stream]() { Submit(*stream, server::StreamClosed{stream->id}); });
  world_->After(world_->Between(absl::ZeroDuration(), longest),
                [stream]() { stream->caller->StreamLost(stream->dial); });
}

void Network::MayBreak(const StreamPtr& stream) {
  if (!world_->Strikes(weather_->breaks)) return;
  world_->After(world_->Between(absl::ZeroDuration(), absl::Milliseconds(50)),
                [this, stream]() { BreakStream(stream); });
}

void Network::SendUp(Caller* caller, uint64_t dial, const v1::WorkerMessage& message) {
  const StreamPtr stream = StreamOf(caller, dial);
  if (stream == nullptr || !stream->open) return;
  auto parsed = server::ParseWorkerMessage(message);
  if (!parsed.ok()) return world_->Violate(parsed.status().ToString());
  const auto shared = std::make_shared<server::WorkerMessage>(*std::move(parsed));
  const int times = world_->Chance(weather_->twice) ? 2 : 1;
  for (int i = 0; i < times; ++i) {
    world_->After(InOrder(stream->last_up), [this, stream, shared]() {
      if (!Arrives(*stream, stream->up_cut)) return;
      if (world_->keep_log && !std::holds_alternative<server::Progress>(shared->body)) {
        world_->Log(fmt::format("{:>8} -> C        {}{}", stream->caller->id(), Describe(*shared),
                                stream->open ? "" : " (late)"));
      }
      Submit(*stream, server::Received{stream->id, *shared});
    });
  }
  MayBreak(stream);
}

void Network::SendDown(StreamId id, const server::CoordinatorMessage& message) {
  const StreamPtr stream = Find(id);
  if (stream == nullptr || !stream->open) return;
  for (v1::CoordinatorMessage& encoded : server::EncodeCoordinatorMessage(message)) {
    if (encoded.has_welcome()) {
      encoded.mutable_welcome()->mutable_job()->set_name("simulated");
      v1::SessionLimits& limits = *encoded.mutable_welcome()->mutable_limits();
      limits.set_heartbeat_seconds(1);
      limits.set_silent_seconds(5);
      limits.set_collective_seconds(30);
      limits.set_abort_seconds(10);
    }
    const auto shared = std::make_shared<v1::CoordinatorMessage>(std::move(encoded));
    std::string described;
    if (world_->keep_log) described = Describe(message);
    const int times = world_->Chance(weather_->twice) ? 2 : 1;
    for (int i = 0; i < times; ++i) {
      world_->After(InOrder(stream->last_down), [this, stream, shared, described]() {
        if (!Arrives(*stream, stream->down_cut)) return;
        if (world_->keep_log) {
          world_->Log(fmt::format("         C -> {:<8} {}{}", stream->caller->id(), described,
                                  stream->open ? "" : " (late)"));
        }
        stream->caller->Hear(stream->dial, *shared);
      });
    }
  }
  MayBreak(stream);
}

void Network::CloseByCoordinator(StreamId id) {
  const StreamPtr stream = Find(id);
  if (stream == nullptr || !stream->open) return;
  world_->After(InOrder(stream->last_down), [stream]() {
    if (!std::exchange(stream->open, false)) return;
    stream->caller->StreamLost(stream->dial);
  });
}

std::string Network::WorkerOf(StreamId id) const {
  const StreamPtr stream = Find(id);
  return stream == nullptr ? "" : stream->caller->id();
}

}  // namespace rondo::simulation
