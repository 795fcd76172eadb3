#include "common/dial_target.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace rondo {
namespace {

using ::testing::HasSubstr;

TEST(DialTargetTest, AcceptsHostAndPort) {
  for (const char* target : {"localhost:7000", "127.0.0.1:1", "[::1]:65535", "dns:///host:7000",
                             "dns://8.8.8.8/host:7000", "ipv4:1.2.3.4:5", "unix:/tmp/socket"}) {
    EXPECT_EQ(WrongDialTarget(target), "") << target;
  }
}

TEST(DialTargetTest, SaysWhatIsWrong) {
  EXPECT_THAT(WrongDialTarget(""), HasSubstr("empty"));
  EXPECT_THAT(WrongDialTarget("localhost"), HasSubstr("no port"));
  EXPECT_THAT(WrongDialTarget("dns:///localhost"), HasSubstr("no port"));
  EXPECT_THAT(WrongDialTarget("[::1]"), HasSubstr("no port"));
  EXPECT_THAT(WrongDialTarget("::1"), HasSubstr("[ADDRESS]:PORT"));
  EXPECT_THAT(WrongDialTarget(":7000"), HasSubstr("no host"));
  EXPECT_THAT(WrongDialTarget("host:"), HasSubstr("no port"));
  EXPECT_THAT(WrongDialTarget("host:0"), HasSubstr("1 to 65535"));
  EXPECT_THAT(WrongDialTarget("host:65536"), HasSubstr("1 to 65535"));
  EXPECT_THAT(WrongDialTarget("host:http"), HasSubstr("1 to 65535"));
}

}  // namespace
}  // namespace rondo
