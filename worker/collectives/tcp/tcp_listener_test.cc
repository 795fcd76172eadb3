#include "worker/collectives/tcp/tcp_listener.h"

#include <gtest/gtest.h>

#include "common/status_matchers.h"
#include "worker/collectives/tcp/socket_address.h"

namespace rondo {
namespace {

// S57: the port is never probed first; the socket that found it keeps it.
TEST(TcpListenerTest, KeepsThePortThatTheSystemPickedAndAdvertisesIt) {
  ASSERT_OK_AND_ASSIGN(const auto listener, TcpListener::Listen({.bind_address = "127.0.0.1"}));
  EXPECT_NE(listener->port(), 0);
  ASSERT_OK_AND_ASSIGN(const auto addresses, DecodeEndpoint(listener->Endpoint()));
  ASSERT_EQ(addresses.size(), 1u);
  EXPECT_EQ(addresses[0].port(), listener->port());
  EXPECT_TRUE(addresses[0].IsLoopback());
}

TEST(TcpListenerTest, TakesTheNextFreePortOfItsRange) {
  ASSERT_OK_AND_ASSIGN(const auto first, TcpListener::Listen({.bind_address = "127.0.0.1"}));
  const uint16_t taken = first->port();
  const ListenSpec only_taken = {
      .bind_address = "127.0.0.1", .port_first = taken, .port_last = taken};
  EXPECT_THAT(TcpListener::Listen(only_taken),
              StatusIs(absl::StatusCode::kUnavailable, testing::HasSubstr("free port")));
  ListenSpec range = only_taken;
  range.port_first = static_cast<uint16_t>(taken - 20);
  ASSERT_OK_AND_ASSIGN(const auto second, TcpListener::Listen(range));
  EXPECT_GE(second->port(), range.port_first);
  EXPECT_LT(second->port(), taken);
}

// S27, S60: the address that peers dial can be chosen.
TEST(TcpListenerTest, AdvertisesWhatItIsTold) {
  ASSERT_OK_AND_ASSIGN(const auto listener, TcpListener::Listen({.advertised_host = "192.0.2.7"}));
  ASSERT_FALSE(listener->addresses().empty());
  EXPECT_EQ(listener->addresses()[0], SocketAddress::Parse("192.0.2.7", listener->port()).value());
}

TEST(TcpListenerTest, OnAllInterfacesAdvertisesAtLeastOne) {
  ASSERT_OK_AND_ASSIGN(const auto listener, TcpListener::Listen({}));
  EXPECT_FALSE(listener->addresses().empty());
}

TEST(TcpListenerTest, RefusesWhatCannotBe) {
  EXPECT_THAT(TcpListener::Listen({.bind_address = "nonsense"}),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_THAT(TcpListener::Listen({.port_first = 9, .port_last = 8}),
              StatusIs(absl::StatusCode::kInvalidArgument));
  // 192.0.2.0/24 is reserved for documentation: no machine has it.
  EXPECT_THAT(TcpListener::Listen({.bind_address = "192.0.2.1"}),
              StatusIs(absl::StatusCode::kUnavailable));
}

TEST(EndpointTest, CarriesBothFamiliesThereAndBack) {
  const std::vector<SocketAddress> addresses = {SocketAddress::Parse("10.1.2.3", 4000).value(),
                                                SocketAddress::Parse("fd00::7", 65535).value()};
  const std::string blob = EncodeEndpoint(addresses);
  EXPECT_EQ(blob, "rondo-tcp/1 10.1.2.3:4000 [fd00::7]:65535");
  ASSERT_OK_AND_ASSIGN(const auto back, DecodeEndpoint(blob));
  EXPECT_EQ(back, addresses);
}

TEST(EndpointTest, RefusesABlobThatIsNotOne) {
  for (const char* blob : {"", "rondo-tcp/1", "rondo-tcp/2 10.0.0.1:1", "rondo-tcp/1 10.0.0.1",
                           "rondo-tcp/1 10.0.0.1:0", "rondo-tcp/1 10.0.0.1:70000",
                           "rondo-tcp/1 host:80", "rondo-tcp/1  10.0.0.1:1"}) {
    EXPECT_THAT(DecodeEndpoint(blob), StatusIs(absl::StatusCode::kInvalidArgument)) << blob;
  }
  EXPECT_THAT(DecodeEndpoint(std::string(10'000, 'x')),
              StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace rondo
