// How a group comes to be: strangers, late and missing peers, abort, both address families, no
// leaks.
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "common/status_matchers.h"
#include "kernels/span.h"
#include "worker/collectives/abort_flag.h"
#include "worker/collectives/communicator.h"
#include "worker/collectives/tcp/header.h"
#include "worker/collectives/tcp/hello.h"
#include "worker/collectives/tcp/loopback_group.h"
#include "worker/collectives/tcp/socket_address.h"
#include "worker/collectives/tcp/tcp_listener.h"
#include "worker/collectives/tcp/tcp_mesh.h"

namespace rondo {
namespace {

using absl::StatusCode;
using testing::HasSubstr;

constexpr absl::Duration kLimit = absl::Seconds(60);
const CallId kCall = {.round = 4, .attempt_or_step = 2, .phase = Phase::kGradients};

std::unique_ptr<TcpListener> Listen() {
  auto listener = TcpListener::Listen({.bind_address = "127.0.0.1"});
  EXPECT_OK(listener);
  return *std::move(listener);
}

MeshSpec Spec(int rank, std::vector<std::string> endpoints) {
  MeshSpec spec;
  spec.rank = rank;
  spec.endpoints = std::move(endpoints);
  spec.token = LoopbackToken();
  spec.job_hash = 1;
  spec.group = 1;
  return spec;
}

GroupStamp Stamp() {
  GroupStamp stamp = {.job_hash = 1, .group = 1};
  std::memcpy(stamp.token.data(), LoopbackToken().data(), stamp.token.size());
  return stamp;
}

// A plain blocking socket of the test, connected to `listener`.
class RawPeer {
 public:
  explicit RawPeer(const TcpListener& listener) {
    const SocketAddress& to = listener.addresses()[0];
    fd_ = socket(to.family(), SOCK_STREAM, 0);
    EXPECT_EQ(connect(fd_, to.system(), to.length()), 0);
  }
  ~RawPeer() { close(fd_); }
  template <typename Bytes>
  void Write(const Bytes& bytes) {
    EXPECT_EQ(send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  void SayHello(HelloKind kind) {
    Write(EncodeHello(Stamp(), {.kind = kind, .sender = 0, .receiver = 1, .ranks = 2}));
  }
  void ReadWelcome() {
    HelloBytes bytes;
    ASSERT_EQ(recv(fd_, bytes.data(), bytes.size(), MSG_WAITALL), kHelloBytes);
    ASSERT_OK_AND_ASSIGN(const Hello welcome, DecodeHello(Stamp(), bytes));
    EXPECT_EQ(welcome.kind, HelloKind::kWelcome);
  }
  // True once the other side has closed.
  bool ReadsEnd() {
    char byte;
    return recv(fd_, &byte, 1, 0) <= 0;
  }

 private:
  int fd_;
};

absl::StatusOr<std::unique_ptr<Communicator>> Connect(const TcpListener& listener,
                                                      const MeshSpec& spec,
                                                      absl::Duration limit = kLimit) {
  return ConnectMesh(listener, spec, limit, std::make_shared<AbortFlag>());
}

TEST(MeshTest, DropsStrangersAndGoesOn) {
  const auto zero = Listen();
  const auto one = Listen();
  const std::vector<std::string> endpoints = {zero->Endpoint(), one->Endpoint()};
  MeshSpec spec = Spec(1, endpoints);
  spec.options.handshake_limit = absl::Milliseconds(50);

  RawPeer silent(*one);  // half open: never says a word
  RawPeer gone(*one);
  RawPeer web(*one);
  web.Write(std::string("GET / HTTP/1.1\r\nHost: somewhere\r\nAccept: anything\r\n\r\n"));
  GroupStamp other = Stamp();
  other.token[15] = std::byte{0};
  RawPeer forger(*one);
  forger.Write(
      EncodeHello(other, {.kind = HelloKind::kHello, .sender = 0, .receiver = 1, .ranks = 2}));
  GroupStamp old = Stamp();
  old.group = 0;
  RawPeer earlier_group(*one);
  earlier_group.Write(
      EncodeHello(old, {.kind = HelloKind::kHello, .sender = 0, .receiver = 1, .ranks = 2}));
  RawPeer wrong_rank(*one);
  wrong_rank.Write(
      EncodeHello(Stamp(), {.kind = HelloKind::kHello, .sender = 1, .receiver = 1, .ranks = 2}));

  absl::StatusOr<std::unique_ptr<Communicator>> made;
  std::thread member([&] { made = Connect(*one, spec); });
  // All strangers are turned away while rank 0 is still missing.
  for (RawPeer* stranger : {&silent, &web, &forger, &earlier_group, &wrong_rank}) {
    EXPECT_TRUE(stranger->ReadsEnd());
  }
  ASSERT_OK_AND_ASSIGN(const auto peer, Connect(*zero, Spec(0, endpoints)));
  member.join();
  ASSERT_OK(made);
  std::thread sender([&] { EXPECT_OK(peer->Send(kCall, 1, {}, kLimit)); });
  EXPECT_OK((*made)->Receive(kCall, 0, {}, kLimit));
  sender.join();
}

// A dialler that gave a connection up leaves it behind with a good hello; the one it dialled next
// counts.
TEST(MeshTest, IgnoresAConnectionThatIsNotConfirmed) {
  const auto zero = Listen();
  const auto one = Listen();
  const std::vector<std::string> endpoints = {zero->Endpoint(), one->Endpoint()};
  {
    RawPeer abandoned(*one);
    abandoned.SayHello(HelloKind::kHello);
  }
  absl::StatusOr<std::unique_ptr<Communicator>> made;
  std::thread member([&] { made = Connect(*one, Spec(1, endpoints)); });
  ASSERT_OK_AND_ASSIGN(const auto peer, Connect(*zero, Spec(0, endpoints)));
  member.join();
  ASSERT_OK(made);
  std::thread sender([&] { EXPECT_OK(peer->Send(kCall, 1, {}, kLimit)); });
  EXPECT_OK((*made)->Receive(kCall, 0, {}, kLimit));
  sender.join();
}

// S17: whoever is missing is named.
TEST(MeshTest, NamesTheMissingRanksWhenTimeIsUp) {
  const auto one = Listen();
  std::string nobody;
  { nobody = Listen()->Endpoint(); }  // closed again: dialling it is refused
  const MeshSpec spec = Spec(1, {nobody, one->Endpoint(), nobody});
  EXPECT_THAT(Connect(*one, spec, absl::Milliseconds(50)),
              StatusIs(StatusCode::kDeadlineExceeded,
                       testing::AllOf(HasSubstr("rank 0 (has not dialled)"),
                                      HasSubstr("rank 2 (127.0.0.1"), HasSubstr("refused"))));
}

// S59: a port that is closed now may be open in a moment.
TEST(MeshTest, RedialsUntilThePeerListens) {
  const auto zero = Listen();
  uint16_t port = 0;
  std::string later;
  {
    const auto closed = Listen();
    port = closed->port();
    later = closed->Endpoint();
  }
  const std::vector<std::string> endpoints = {zero->Endpoint(), later};
  absl::StatusOr<std::unique_ptr<Communicator>> made;
  std::thread early([&] { made = Connect(*zero, Spec(0, endpoints)); });
  ASSERT_OK_AND_ASSIGN(
      const auto one,
      TcpListener::Listen({.bind_address = "127.0.0.1", .port_first = port, .port_last = port}));
  EXPECT_OK(Connect(*one, Spec(1, endpoints)));
  early.join();
  EXPECT_OK(made);
}

// S17: any order of start works; the system holds the dialler's connection until the peer begins.
TEST(MeshTest, WaitsForAPeerThatBeginsLate) {
  const auto zero = Listen();
  const auto one = Listen();
  const std::vector<std::string> endpoints = {zero->Endpoint(), one->Endpoint()};
  absl::StatusOr<std::unique_ptr<Communicator>> made;
  std::thread early([&] {
    MeshSpec spec = Spec(0, endpoints);
    spec.options.handshake_limit = absl::Milliseconds(5);  // gives up and dials again meanwhile
    made = Connect(*zero, spec);
  });
  EXPECT_THAT(Connect(*zero, Spec(1, {endpoints[0], endpoints[0]}), absl::Milliseconds(100)),
              StatusIs(StatusCode::kDeadlineExceeded));  // passes time, as another group
  EXPECT_OK(Connect(*one, Spec(1, endpoints)));
  early.join();
  EXPECT_OK(made);
}

// S03: building a group has its own end.
TEST(MeshTest, AbortEndsTheWait) {
  const auto one = Listen();
  const auto abort = std::make_shared<AbortFlag>();
  std::thread aborter([&] { abort->Set(); });
  const MeshSpec spec = Spec(1, {one->Endpoint(), one->Endpoint()});
  EXPECT_THAT(ConnectMesh(*one, spec, kLimit, abort), StatusIs(StatusCode::kAborted));
  aborter.join();
}

TEST(MeshTest, TheFlagEndsTheGroupsCallsToo) {
  const auto zero = Listen();
  const auto one = Listen();
  const std::vector<std::string> endpoints = {zero->Endpoint(), one->Endpoint()};
  const auto abort = std::make_shared<AbortFlag>();
  absl::StatusOr<std::unique_ptr<Communicator>> made;
  std::thread other([&] { made = Connect(*one, Spec(1, endpoints)); });
  ASSERT_OK_AND_ASSIGN(const auto group, ConnectMesh(*zero, Spec(0, endpoints), kLimit, abort));
  other.join();
  std::thread aborter([&] { abort->Set(); });
  EXPECT_FALSE(group->Receive(kCall, 1, {}, kLimit).ok());
  aborter.join();
}

TEST(MeshTest, RefusesASpecThatCannotBe) {
  const auto listener = Listen();
  MeshSpec spec = Spec(2, {listener->Endpoint(), "nonsense"});
  EXPECT_THAT(Connect(*listener, spec), StatusIs(StatusCode::kInvalidArgument));
  spec.rank = 0;
  EXPECT_THAT(Connect(*listener, spec),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("rank 1")));
  spec.token = "short";
  EXPECT_THAT(Connect(*listener, spec), StatusIs(StatusCode::kInvalidArgument, HasSubstr("token")));
}

TEST(MeshTest, RefusesLoopbackMixedWithRemote) {  // S60
  const auto listener = Listen();
  const MeshSpec spec = Spec(1, {"rondo-tcp/1 192.0.2.7:4000", listener->Endpoint()});
  EXPECT_THAT(Connect(*listener, spec),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("rank 1 is to be reached on loop")));
}

// S88.
TEST(MeshTest, AGroupOfOneNeedsNobody) {
  const auto listener = Listen();
  ASSERT_OK_AND_ASSIGN(const auto group, Connect(*listener, Spec(0, {listener->Endpoint()})));
  EXPECT_EQ(group->size(), 1);
}

TEST(MeshTest, WorksOverIpv6) {
  if (!TcpListener::Listen({.bind_address = "::1"}).ok()) GTEST_SKIP() << "no IPv6 here";
  ASSERT_OK_AND_ASSIGN(const auto group, LoopbackGroup::Make({.ranks = 3, .bind_address = "::1"}));
  for (const auto& status : group->Run([](Communicator& member) {
         std::vector<float> data(50'000, 1.0f);
         return member.AllReduceSum(kCall, DeviceSpan<float>(data.data(), 50'000), kLimit);
       })) {
    EXPECT_OK(status);
  }
}

TEST(MeshTest, OneSocketOnAllInterfacesServesBothFamilies) {
  ASSERT_OK_AND_ASSIGN(const auto group, LoopbackGroup::Make({.ranks = 2, .bind_address = ""}));
  EXPECT_EQ(group->size(), 2);
}

// S67: group after group, failed ones too, over the same listeners.
TEST(MeshTest, TwoHundredRebuildsLeaveNoDescriptorBehind) {
  const auto zero = Listen();
  const auto one = Listen();
  const std::vector<std::string> endpoints = {zero->Endpoint(), one->Endpoint()};
  const auto open_descriptors = [] {
    const std::filesystem::directory_iterator entries("/proc/self/fd");
    return std::distance(begin(entries), end(entries));
  };
  const auto before = open_descriptors();
  for (int i = 0; i < 200; ++i) {
    absl::StatusOr<std::unique_ptr<Communicator>> made;
    MeshSpec high = Spec(1, endpoints);
    MeshSpec low = Spec(0, endpoints);
    high.group = low.group = static_cast<uint64_t>(i);
    std::thread member([&] { made = Connect(*one, high); });
    ASSERT_OK_AND_ASSIGN(const auto group, Connect(*zero, low));
    member.join();
    ASSERT_OK(made);
    if (i % 2 == 1) group->Abort();
    if (i % 10 == 0) {
      low.rank = 1;
      ASSERT_FALSE(Connect(*zero, low, absl::Milliseconds(1)).ok());
    }
  }
  EXPECT_EQ(open_descriptors(), before);
}

// A peer of the right group that then sends a forged header: refused by name, nothing of its
// payload used.
TEST(ForgedHeaderTest, IsRefusedByNameBeforeItsPayloadIsUsed) {
  const std::pair<const char*, std::function<void(MessageHeader&)>> kCases[] = {
      {"sender", [](MessageHeader& h) { h.sender = 7; }},
      {"job", [](MessageHeader& h) { h.job_hash = 7; }},
      {"group", [](MessageHeader& h) { h.group = 7; }},
      {"token", [](MessageHeader& h) { h.token[0] = std::byte{0}; }},
      {"round", [](MessageHeader& h) { h.call.round = 7; }},
      {"sequence", [](MessageHeader& h) { h.sequence = 7; }},
      {"length", [](MessageHeader& h) { h.length = int64_t{1} << 40; }},
  };
  const auto one = Listen();
  for (const auto& [field, change] : kCases) {
    absl::StatusOr<std::unique_ptr<Communicator>> made;
    std::thread member([&] { made = Connect(*one, Spec(1, {one->Endpoint(), one->Endpoint()})); });
    RawPeer peer(*one);
    peer.SayHello(HelloKind::kHello);
    peer.ReadWelcome();
    peer.SayHello(HelloKind::kConfirm);
    member.join();
    ASSERT_OK(made);
    MessageHeader header = {.job_hash = 1, .group = 1, .token = Stamp().token, .call = kCall};
    header.algorithm = Algorithm::kPointToPoint;
    header.count = 16;
    header.length = 16;
    change(header);
    peer.Write(EncodeHeader(header));
    peer.Write(std::string(16, 'x'));
    std::vector<std::byte> data(16);
    EXPECT_THAT((*made)->Receive(kCall, 0, ByteSpan(data.data(), 16), kLimit),
                StatusIs(StatusCode::kInvalidArgument, HasSubstr(field)));
    EXPECT_EQ(data, std::vector<std::byte>(16)) << field;
  }
}

}  // namespace
}  // namespace rondo
