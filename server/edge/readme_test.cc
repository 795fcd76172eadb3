// The table of flags in server/README.md beside what --help prints.
#include <gtest/gtest.h>

#include <optional>

#include "common/flag_table.h"
#include "server/edge/flags.h"

namespace rondo::server {
namespace {

TEST(ServerReadmeTest, ListsTheFlagsOfHelpWithTheirDefaults) {
  const char* const argv[] = {"rondo-coordinator", "--help"};
  std::optional<FlagsText> help;
  ASSERT_TRUE(ParseFlags(2, argv, &help).ok());
  ASSERT_TRUE(help.has_value());
  const auto flags = FlagsOfHelp(help->text);
  EXPECT_GT(flags.size(), 10u) << help->text;
  EXPECT_EQ(FlagsOfTable("server/README.md", "## Flags of rondo-coordinator"), flags);
}

}  // namespace
}  // namespace rondo::server
