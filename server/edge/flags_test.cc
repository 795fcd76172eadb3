#include "server/edge/flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/log.h"
#include "common/status_matchers.h"

namespace rondo::server {
namespace {

using testing::HasSubstr;

absl::StatusOr<Flags> Parse(std::vector<const char*> arguments, bool* text = nullptr) {
  arguments.insert(arguments.begin(), "rondo-coordinator");
  std::optional<FlagsText> shown;
  auto flags = ParseFlags(static_cast<int>(arguments.size()), arguments.data(), &shown);
  if (text != nullptr) *text = shown.has_value();
  return flags;
}

TEST(FlagsTest, FillsInDefaults) {
  ASSERT_OK_AND_ASSIGN(const Flags flags, Parse({"--job", "jobs/a.yaml", "--state", "s"}));
  EXPECT_EQ(flags.files_dir, "jobs");
  EXPECT_EQ(flags.listen.Text(), "127.0.0.1:0");
  EXPECT_FALSE(flags.workers.has_value());
  EXPECT_FALSE(flags.fresh_workers);
  EXPECT_EQ(flags.log_format, LogFormat::kText);
  ASSERT_OK_AND_ASSIGN(const Flags here, Parse({"--job", "a.yaml", "--state", "s"}));
  EXPECT_EQ(here.files_dir, ".");
}

TEST(FlagsTest, SaysItsVersion) {
  const std::vector<const char*> arguments = {"rondo-coordinator", "--version"};
  std::optional<FlagsText> shown;
  ASSERT_TRUE(ParseFlags(2, arguments.data(), &shown).ok());
  ASSERT_TRUE(shown.has_value());
  EXPECT_THAT(shown->text, testing::MatchesRegex("rondo-coordinator [0-9]+[.][0-9]+[.][0-9]+\n"));
}

TEST(FlagsTest, TakesEveryFlag) {
  ASSERT_OK_AND_ASSIGN(const Flags flags, Parse({"--job",
                                                 "a",
                                                 "--state",
                                                 "s",
                                                 "--files",
                                                 "f",
                                                 "--listen",
                                                 "0.0.0.0:7",
                                                 "--insecure",
                                                 "--address-file",
                                                 "x",
                                                 "--workers",
                                                 "4",
                                                 "--fresh-workers",
                                                 "--gone-workers",
                                                 "w0,w1",
                                                 "--log-format",
                                                 "json",
                                                 "--log-level",
                                                 "debug"}));
  EXPECT_EQ(flags.files_dir, "f");
  EXPECT_EQ(flags.listen.port, 7);
  EXPECT_EQ(flags.workers, 4u);
  EXPECT_TRUE(flags.fresh_workers);
  EXPECT_THAT(flags.gone_workers, testing::ElementsAre("w0", "w1"));
  EXPECT_EQ(flags.address_file, "x");
  EXPECT_EQ(flags.log_format, LogFormat::kJson);
  EXPECT_EQ(flags.log_level, LogLevel::kDebug);
}

TEST(FlagsTest, NamesTheFlagThatIsWrong) {
  const std::vector<std::pair<std::vector<const char*>, const char*>> cases = {
      {{"--state", "s"}, "--job"},
      {{"--job", "a"}, "--state"},
      {{"--job", "a", "--state", "s", "--nonsense"}, "--nonsense"},
      {{"--job", "a", "--state", "s", "--workers", "0"}, "--workers"},
      {{"--job", "a", "--state", "s", "--workers", "many"}, "--workers"},
      {{"--job", "a", "--state", "s", "--listen", "nowhere"}, "--listen"},
      {{"--job", "a", "--state", "s", "--log-level", "loud"}, "loud"},
      {{"--job", "a", "--state", "s", "--listen", "0.0.0.0:0"}, "--insecure"},
  };
  for (const auto& [arguments, word] : cases) {
    EXPECT_THAT(Parse(arguments), StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr(word)));
  }
}

TEST(FlagsTest, ShowsHelpInsteadOfRunning) {
  bool text = false;
  ASSERT_OK(Parse({"--help"}, &text));
  EXPECT_TRUE(text);
}

}  // namespace
}  // namespace rondo::server
