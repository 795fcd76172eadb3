#include "server/edge/listen_address.h"

#include <gtest/gtest.h>

#include "absl/status/status.h"
#include "common/status_matchers.h"

namespace rondo::server {
namespace {

TEST(ListenAddressTest, ReadsNamesAndAddressesOfBothKinds) {
  ASSERT_OK_AND_ASSIGN(const ListenAddress v4, ParseListenAddress("127.0.0.1:7000"));
  EXPECT_EQ(v4.Text(), "127.0.0.1:7000");
  EXPECT_TRUE(v4.loopback);
  ASSERT_OK_AND_ASSIGN(const ListenAddress v6, ParseListenAddress("[::1]:0"));
  EXPECT_EQ(v6.host, "::1");
  EXPECT_EQ(v6.Text(), "[::1]:0");
  EXPECT_TRUE(v6.loopback);
  ASSERT_OK_AND_ASSIGN(const ListenAddress name, ParseListenAddress("node-3:65535"));
  EXPECT_EQ(name.port, 65535);
}

TEST(ListenAddressTest, KnowsWhatOtherMachinesCanReach) {
  for (const char* text : {"0.0.0.0:1", "[::]:1", "10.0.0.1:1", "127.evil.example:1", "node:1"}) {
    ASSERT_OK_AND_ASSIGN(const ListenAddress address, ParseListenAddress(text));
    EXPECT_FALSE(address.loopback) << text;
  }
  ASSERT_OK_AND_ASSIGN(const ListenAddress local, ParseListenAddress("localhost:1"));
  EXPECT_TRUE(local.loopback);
}

TEST(ListenAddressTest, RefusesWhatIsNoAddress) {
  for (const char* text : {"", "7000", ":7000", "host", "host:", "host:x", "host:65536", "host:-1",
                           "::1:7000", "[::1:7000", "[]:1", "host: 1"}) {
    EXPECT_THAT(ParseListenAddress(text), StatusIs(absl::StatusCode::kInvalidArgument)) << text;
  }
}

}  // namespace
}  // namespace rondo::server
