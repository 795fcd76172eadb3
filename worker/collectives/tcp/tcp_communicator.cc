#include "worker/collectives/tcp/tcp_communicator.h"

#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "worker/collectives/call_checks.h"
#include "worker/collectives/tcp/deadline.h"
#include "worker/collectives/tcp/doubling.h"
#include "worker/collectives/tcp/ring.h"

namespace rondo {
namespace {

absl::Status CheckHostMemory(const Device& device) {
  if (device.kind == DeviceKind::kCpu) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "the tcp backend moves host memory; memory on a GPU needs the nccl backend");
}

void CopyOwn(ConstByteSpan from, ByteSpan to) {
  if (from.size > 0 && from.data != to.data) std::memmove(to.data, from.data, from.size);
}

class TcpCommunicator final : public Communicator {
 public:
  TcpCommunicator(std::unique_ptr<Exchange> exchange, int64_t doubling_bytes_max)
      : exchange_(std::move(exchange)),
        doubling_(exchange_.get()),
        doubling_bytes_max_(doubling_bytes_max) {}

  int rank() const override { return exchange_->rank(); }
  int size() const override { return exchange_->size(); }
  void Abort() override { exchange_->Abort(); }
  TrafficCounters Counters() const override { return exchange_->Counters(); }

  absl::Status AllReduceSum(const CallId& call, DeviceSpan<float> data,
                            absl::Duration timeout) override {
    return Guarded(timeout, CheckHostMemory(data.device), [&](Deadline deadline) {
      if (data.size * int64_t{sizeof(float)} > doubling_bytes_max_) {
        return RingAllReduce(*exchange_, call, data, deadline);
      }
      const std::span<float> values(data.data, static_cast<size_t>(data.size));
      return doubling_.Sum(call, values, deadline);
    });
  }

  absl::Status AllReduceSum(const CallId& call, std::span<uint64_t> data,
                            absl::Duration timeout) override {
    return Guarded(timeout, absl::OkStatus(),
                   [&](Deadline deadline) { return doubling_.Sum(call, data, deadline); });
  }

  absl::Status AllGather(const CallId& call, ConstByteSpan mine, ByteSpan all,
                         absl::Duration timeout) override {
    const std::vector<int64_t> sizes(static_cast<size_t>(size()), mine.size);
    return AllGatherV(call, mine, sizes, all, timeout);
  }

  absl::Status AllGatherV(const CallId& call, ConstByteSpan mine, std::span<const int64_t> sizes,
                          ByteSpan all, absl::Duration timeout) override {
    absl::Status arguments = CheckHostMemory(mine.device);
    arguments.Update(CheckHostMemory(all.device));
    arguments.Update(CheckGatherSizes(sizes, size(), rank(), mine.size, all.size));
    return Guarded(timeout, arguments, [&](Deadline deadline) {
      return RunAllGather(call, mine, sizes, all, deadline);
    });
  }

  absl::Status AllToAllV(const CallId& call, std::span<const ConstByteSpan> send,
                         std::span<const ByteSpan> receive, absl::Duration timeout) override {
    absl::Status arguments = CheckAllToAll(send, receive, size(), rank());
    for (const ConstByteSpan& span : send) arguments.Update(CheckHostMemory(span.device));
    for (const ByteSpan& span : receive) arguments.Update(CheckHostMemory(span.device));
    return Guarded(timeout, arguments,
                   [&](Deadline deadline) { return RunAllToAll(call, send, receive, deadline); });
  }

  absl::Status Broadcast(const CallId& call, int root, ByteSpan data,
                         absl::Duration timeout) override {
    absl::Status arguments = CheckHostMemory(data.device);
    arguments.Update(CheckPeer("root", root, size()));
    return Guarded(timeout, arguments,
                   [&](Deadline deadline) { return RunBroadcast(call, root, data, deadline); });
  }

  absl::Status Send(const CallId& call, int to, ConstByteSpan data,
                    absl::Duration timeout) override {
    absl::Status arguments = CheckHostMemory(data.device);
    arguments.Update(CheckPeer("receiver", to, size(), rank()));
    return Guarded(timeout, arguments, [&](Deadline deadline) {
      Outgoing out[] = {{.peer = to, .data = data.data, .length = data.size}};
      return exchange_->Run(ByteCall(call, Algorithm::kPointToPoint, data.size, deadline), out, {});
    });
  }

  absl::Status Receive(const CallId& call, int from, ByteSpan data,
                       absl::Duration timeout) override {
    absl::Status arguments = CheckHostMemory(data.device);
    arguments.Update(CheckPeer("sender", from, size(), rank()));
    return Guarded(timeout, arguments, [&](Deadline deadline) {
      Incoming in[] = {{.peer = from, .data = data.data, .length = data.size}};
      return exchange_->Run(ByteCall(call, Algorithm::kPointToPoint, data.size, deadline), {}, in);
    });
  }

 private:
  static ExchangeCall ByteCall(const CallId& call, Algorithm algorithm, int64_t count,
                               Deadline deadline) {
    return {.id = call,
            .algorithm = algorithm,
            .type = ElementType::kByte,
            .count = count,
            .deadline = deadline};
  }

  // Runs a call of an unbroken group; any failure breaks it and takes the connections down, so that
  // all peers learn of it at once (S01).
  template <typename Call>
  absl::Status Guarded(absl::Duration timeout, absl::Status arguments, Call run) {
    if (broken_ || exchange_->IsAborted()) {
      return absl::FailedPreconditionError(
          "this group is broken by an earlier error or abort; wait for the next group");
    }
    absl::Status status = std::move(arguments);
    status.Update(CheckTimeout(timeout));
    if (status.ok()) status = run(Deadline::After(timeout));
    if (!status.ok()) {
      broken_ = true;
      exchange_->Shutdown();
    }
    return status;
  }

  absl::Status RunAllGather(const CallId& call, ConstByteSpan mine, std::span<const int64_t> sizes,
                            ByteSpan all, Deadline deadline) {
    std::vector<Outgoing> outgoing;
    std::vector<Incoming> incoming;
    int64_t begin = 0;
    for (int peer = 0; peer < size(); ++peer) {
      const ByteSpan place = all.Sub(begin, sizes[peer]);
      begin += sizes[peer];
      if (peer == rank()) {
        CopyOwn(mine, place);
        continue;
      }
      outgoing.push_back({.peer = peer, .data = mine.data, .length = mine.size});
      incoming.push_back({.peer = peer, .data = place.data, .length = place.size});
    }
    return exchange_->Run(ByteCall(call, Algorithm::kAllGather, all.size, deadline), outgoing,
                          incoming);
  }

  absl::Status RunAllToAll(const CallId& call, std::span<const ConstByteSpan> send,
                           std::span<const ByteSpan> receive, Deadline deadline) {
    std::vector<Outgoing> outgoing;
    std::vector<Incoming> incoming;
    for (int peer = 0; peer < size(); ++peer) {
      if (peer == rank()) {
        CopyOwn(send[peer], receive[peer]);
        continue;
      }
      outgoing.push_back({.peer = peer, .data = send[peer].data, .length = send[peer].size});
      incoming.push_back({.peer = peer, .data = receive[peer].data, .length = receive[peer].size});
    }
    return exchange_->Run(ByteCall(call, Algorithm::kAllToAll, 0, deadline), outgoing, incoming);
  }

  // Small data go straight from the root to all; large ones along the chain root, root+1, ..., so
  // that no rank sends them more than once.
  absl::Status RunBroadcast(const CallId& call, int root, ByteSpan data, Deadline deadline) {
    const bool chain = data.size > doubling_bytes_max_;
    const int place = (rank() - root + size()) % size();
    std::vector<Outgoing> outgoing;
    std::vector<Incoming> incoming;
    if (place > 0) {
      const int from = chain ? (rank() + size() - 1) % size() : root;
      incoming.push_back({.peer = from, .data = data.data, .length = data.size});
    }
    const Incoming* const gate = incoming.empty() ? nullptr : &incoming[0];
    const int receivers = chain ? (place + 1 < size() ? 1 : 0) : (place == 0 ? size() - 1 : 0);
    for (int i = 1; i <= receivers; ++i) {
      outgoing.push_back(
          {.peer = (rank() + i) % size(), .data = data.data, .length = data.size, .gate = gate});
    }
    return exchange_->Run(ByteCall(call, Algorithm::kBroadcast, data.size, deadline), outgoing,
                          incoming);
  }

  const std::unique_ptr<Exchange> exchange_;
  DoublingAllReduce doubling_;
  const int64_t doubling_bytes_max_;
  bool broken_ = false;
};

}  // namespace

std::unique_ptr<Communicator> MakeTcpCommunicator(std::unique_ptr<Exchange> exchange,
                                                  int64_t doubling_bytes_max) {
  return std::make_unique<TcpCommunicator>(std::move(exchange), doubling_bytes_max);
}

}  // namespace rondo
