// The calls that move bytes: gathers, all-to-all, broadcast, point to point; sizes from zero up.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <vector>

#include "common/status_matchers.h"
#include "kernels/span.h"
#include "worker/collectives/communicator.h"
#include "worker/collectives/tcp/header.h"
#include "worker/collectives/tcp/loopback_group.h"

namespace rondo {
namespace {

constexpr absl::Duration kLimit = absl::Seconds(60);
const CallId kCall = {.round = 1, .attempt_or_step = 9, .phase = Phase::kSparseSplit};

using Buffer = std::vector<uint8_t>;

ByteSpan Span(Buffer& buffer) {
  return AsWritableBytes(DeviceSpan<uint8_t>(buffer.data(), static_cast<int64_t>(buffer.size())));
}
ConstByteSpan ConstSpan(const Buffer& buffer) {
  return AsBytes(DeviceSpan<const uint8_t>(buffer.data(), static_cast<int64_t>(buffer.size())));
}

// Bytes that tell where they come from and where they go.
Buffer Pattern(int from, int to, int64_t size) {
  Buffer buffer(size);
  for (int64_t i = 0; i < size; ++i) {
    buffer[i] = static_cast<uint8_t>(31 * from + 7 * to + i + i / 251);
  }
  return buffer;
}

class CallsTest : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    ASSERT_OK_AND_ASSIGN(group_, LoopbackGroup::Make({.ranks = GetParam()}));
  }
  void Run(const std::function<absl::Status(Communicator&)>& body) {
    for (const absl::Status& status : group_->Run(body)) ASSERT_OK(status);
  }
  std::unique_ptr<LoopbackGroup> group_;
};

TEST_P(CallsTest, AllGatherPutsTheRanksPiecesInRankOrder) {
  for (const int64_t size : {0, 1, 1000, 300'000}) {
    Buffer expected;
    for (int rank = 0; rank < GetParam(); ++rank) {
      const Buffer piece = Pattern(rank, 0, size);
      expected.insert(expected.end(), piece.begin(), piece.end());
    }
    Run([&](Communicator& member) {
      const Buffer mine = Pattern(member.rank(), 0, size);
      Buffer all(expected.size());
      absl::Status status = member.AllGather(kCall, ConstSpan(mine), Span(all), kLimit);
      if (status.ok() && all != expected) status = absl::DataLossError("wrong bytes");
      return status;
    });
  }
}

TEST_P(CallsTest, AllGatherWorksInPlace) {
  Run([&](Communicator& member) {
    Buffer all(static_cast<size_t>(member.size()) * 10);
    for (int i = 0; i < 10; ++i) all[member.rank() * 10 + i] = static_cast<uint8_t>(member.rank());
    const ByteSpan mine = Span(all).Sub(member.rank() * 10, 10);
    absl::Status status = member.AllGather(kCall, mine, Span(all), kLimit);
    for (int i = 0; i < member.size() * 10; ++i) {
      if (all[i] != i / 10) status.Update(absl::DataLossError("wrong bytes"));
    }
    return status;
  });
}

TEST_P(CallsTest, AllGatherVTakesADifferentSizeFromEachRank) {
  const int ranks = GetParam();
  std::vector<int64_t> sizes;
  Buffer expected;
  for (int rank = 0; rank < ranks; ++rank) {
    sizes.push_back(rank % 3 == 1 ? 0 : 70'000 * rank + 3);
    const Buffer piece = Pattern(rank, 0, sizes.back());
    expected.insert(expected.end(), piece.begin(), piece.end());
  }
  Run([&](Communicator& member) {
    const Buffer mine = Pattern(member.rank(), 0, sizes[member.rank()]);
    Buffer all(expected.size());
    absl::Status status = member.AllGatherV(kCall, ConstSpan(mine), sizes, Span(all), kLimit);
    if (status.ok() && all != expected) status = absl::DataLossError("wrong bytes");
    return status;
  });
}

TEST_P(CallsTest, AllToAllVBringsEachPairsBytesAcross) {
  const int ranks = GetParam();
  const auto size = [](int from, int to) -> int64_t {
    return (from + to) % 4 == 3 ? 0 : 50'000 * from + to;
  };
  Run([&](Communicator& member) {
    std::vector<int64_t> to_each;
    std::vector<Buffer> out;
    std::vector<Buffer> in;
    for (int peer = 0; peer < ranks; ++peer) {
      to_each.push_back(size(member.rank(), peer));
      out.push_back(Pattern(member.rank(), peer, to_each.back()));
    }
    const auto from_each = ExchangeSizes(member, kCall, to_each, kLimit);
    if (!from_each.ok()) return from_each.status();
    std::vector<ConstByteSpan> send;
    std::vector<ByteSpan> receive;
    for (int peer = 0; peer < ranks; ++peer) in.emplace_back((*from_each)[peer]);
    for (int peer = 0; peer < ranks; ++peer) {
      send.push_back(ConstSpan(out[peer]));
      receive.push_back(Span(in[peer]));
    }
    absl::Status status = member.AllToAllV(kCall, send, receive, kLimit);
    for (int peer = 0; peer < ranks && status.ok(); ++peer) {
      if (in[peer] != Pattern(peer, member.rank(), size(peer, member.rank()))) {
        status = absl::DataLossError("wrong bytes");
      }
    }
    return status;
  });
}

TEST_P(CallsTest, BroadcastReachesAllFromAnyRoot) {
  for (int root = 0; root < GetParam(); ++root) {
    for (const int64_t size : {0, 5, 65'536, 1'500'001}) {
      Run([&](Communicator& member) {
        Buffer data = member.rank() == root ? Pattern(root, 1, size) : Buffer(size);
        absl::Status status = member.Broadcast(kCall, root, Span(data), kLimit);
        if (status.ok() && data != Pattern(root, 1, size)) status = absl::DataLossError("wrong");
        return status;
      });
    }
  }
}

// Large data leave each rank at most once: the root's link is not P-1 times as busy as the others'.
TEST_P(CallsTest, BroadcastSendsLargeDataOnceARank) {
  const int64_t size = 1 << 20;
  Run([&](Communicator& member) {
    Buffer data(size);
    return member.Broadcast(kCall, 0, Span(data), kLimit);
  });
  for (int rank = 0; rank < GetParam(); ++rank) {
    EXPECT_EQ(group_->member(rank).Counters().payload_bytes_sent, rank + 1 < GetParam() ? size : 0);
  }
}

TEST_P(CallsTest, PointToPointCarriesAnySizeBetweenTwoRanksOnly) {
  const int last = GetParam() - 1;
  if (last == 0) return;  // a group of one has no two ranks
  for (const int64_t size : {0, 1, 20'000'003}) {
    Run([&](Communicator& member) -> absl::Status {
      if (member.rank() == 0) {
        return member.Send(kCall, last, ConstSpan(Pattern(0, last, size)), kLimit);
      }
      if (member.rank() != last) return absl::OkStatus();
      Buffer data(size);
      absl::Status status = member.Receive(kCall, 0, Span(data), kLimit);
      if (status.ok() && data != Pattern(0, last, size)) status = absl::DataLossError("wrong");
      return status;
    });
  }
  const TrafficCounters traffic = group_->member(last).Counters();
  EXPECT_EQ(traffic.payload_bytes_received, 20'000'004);
  EXPECT_EQ(traffic.header_bytes_received, 3 * kHeaderBytes);
}

INSTANTIATE_TEST_SUITE_P(Ranks, CallsTest, testing::Values(1, 2, 3, 5));

}  // namespace
}  // namespace rondo
