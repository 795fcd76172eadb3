// Coordinators that get in each other's way, or move.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <string>

#include "tests/chaos/crew.h"
#include "tests/e2e/digits_job.h"
#include "tests/e2e/program.h"

namespace rondo::chaos {
namespace {

using testing::HasSubstr;

// S72: two of them on one state.
TEST(CoordinatorTest, ASecondOneOnTheSameStateExitsAndTheFirstGoesOn) {
  e2e::DigitsJob job;
  job.workers = "{min: 2, max: 2}";
  const std::string folder = e2e::MakeJobFolder(job);
  Crew crew(folder, 2);
  Trap& order = crew.relay().Hold(
      [](const Passing& p) { return p.to_worker != nullptr && p.to_worker->has_order(); });
  ASSERT_TRUE(crew.StartAll());
  ASSERT_TRUE(order.Wait(kPatience)) << crew.Chronicle();
  const e2e::Ended second = e2e::RunToEnd({e2e::Runfile("server/rondo-coordinator"), "--job",
                                           folder + "/job.yaml", "--state", crew.state_dir()},
                                          "", kPatience);
  EXPECT_EQ(second.exit_code, 2) << second;
  EXPECT_THAT(second.err, HasSubstr(crew.state_dir())) << "which folder is in use";
  order.Release();
  const e2e::Ended first = crew.WaitForCoordinator();
  EXPECT_EQ(first.exit_code, 0) << first;
}

}  // namespace
}  // namespace rondo::chaos
