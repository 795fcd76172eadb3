#include "worker/edge/flags.h"

#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

namespace rondo::worker {
namespace {

std::variant<Flags, UsageExit> Parse(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "rondo-worker");
  return ParseFlags(static_cast<int>(arguments.size()), arguments.data());
}

struct Case {
  const char* says;
  std::vector<const char*> arguments;
};

TEST(FlagsTest, WrongUsageExitsTwoAndNamesTheFlag) {
  const Case kCases[] = {
      {"--coordinator", {}},
      {"cuda is not built yet", {"--coordinator", "localhost:1", "--device", "cuda"}},
      {"'tpu' is none", {"--coordinator", "localhost:1", "--device", "tpu"}},
      {"--name", {"--coordinator", "localhost:1", "--name", "a b"}},
      {"no port", {"--coordinator", "localhost"}},
      {"--insecure", {"--coordinator", "10.0.0.7:4000"}},
      {"--data-port", {"--coordinator", "localhost:1", "--data-port", "9-3"}},
      {"log format", {"--coordinator", "localhost:1", "--log-format", "xml"}},
      {"--threads", {"--coordinator", "localhost:1", "--threads", "0"}},
      {"--away-seconds: must be 0 or at least 0.001",
       {"--coordinator", "localhost:1", "--away-seconds", "1e-12"}},
  };
  for (const Case& c : kCases) {
    const auto parsed = Parse(c.arguments);
    ASSERT_TRUE(std::holds_alternative<UsageExit>(parsed)) << c.says;
    EXPECT_EQ(std::get<UsageExit>(parsed).code, 2);
    EXPECT_NE(std::get<UsageExit>(parsed).text.find(c.says), std::string::npos)
        << std::get<UsageExit>(parsed).text;
  }
}

TEST(FlagsTest, HelpExitsZero) {
  const auto parsed = Parse({"--help"});
  ASSERT_TRUE(std::holds_alternative<UsageExit>(parsed));
  EXPECT_EQ(std::get<UsageExit>(parsed).code, 0);
}

TEST(FlagsTest, ReadsPortsAndPicksAName) {
  const auto parsed = Parse({"--coordinator", "[::1]:7000", "--data-port", "4000-4010"});
  ASSERT_TRUE(std::holds_alternative<Flags>(parsed));
  const Flags& flags = std::get<Flags>(parsed);
  EXPECT_EQ(flags.data_port_first, 4000);
  EXPECT_EQ(flags.data_port_last, 4010);
  EXPECT_FALSE(flags.name.empty());
}

TEST(FlagsTest, KnowsLoopback) {
  for (const char* target :
       {"localhost:1", "127.0.0.1:1", "[::1]:1", "dns:///localhost:1", "unix:/run/rondo.sock"}) {
    EXPECT_TRUE(IsLoopbackTarget(target)) << target;
  }
  for (const char* target : {"10.0.0.1:1", "head:1", "[fd00::1]:1", "localhost.example:1"}) {
    EXPECT_FALSE(IsLoopbackTarget(target)) << target;
  }
}

TEST(FlagsTest, SaysItsVersion) {
  const auto parsed = Parse({"--version"});
  ASSERT_TRUE(std::holds_alternative<UsageExit>(parsed));
  EXPECT_EQ(std::get<UsageExit>(parsed).code, 0);
  EXPECT_EQ(std::get<UsageExit>(parsed).text.rfind("rondo-worker 0.", 0), 0u);
  EXPECT_EQ(std::get<UsageExit>(parsed).text.back(), '\n');
}

}  // namespace
}  // namespace rondo::worker
