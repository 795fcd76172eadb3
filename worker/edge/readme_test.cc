// The table of flags in worker/README.md beside what --help prints.
#include <gtest/gtest.h>

#include <variant>

#include "common/flag_table.h"
#include "worker/edge/flags.h"

namespace rondo::worker {
namespace {

TEST(WorkerReadmeTest, ListsTheFlagsOfHelpWithTheirDefaults) {
  const char* const argv[] = {"rondo-worker", "--help"};
  const auto parsed = ParseFlags(2, argv);
  const auto* help = std::get_if<UsageExit>(&parsed);
  ASSERT_NE(help, nullptr);
  const auto flags = FlagsOfHelp(help->text);
  EXPECT_GT(flags.size(), 10u) << help->text;
  EXPECT_EQ(FlagsOfTable("worker/README.md", "## Flags"), flags);
}

}  // namespace
}  // namespace rondo::worker
