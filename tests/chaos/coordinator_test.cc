// Coordinators that get in each other's way, or move.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <optional>
#include <string>

#include "tests/chaos/crew.h"
#include "tests/chaos/name_server.h"
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

// A job that no test waits to see the end of.
e2e::DigitsJob EndlessJob() {
  e2e::DigitsJob job;
  job.schedule = "{kind: constant, steps: 100000000, peak: 0.01}";
  job.workers = "{min: 1, max: 1}";
  return job;
}

// S61: the coordinator comes back at another address of its name.
TEST(CoordinatorTest, WorkersFindItAgainWhenItsNameHasAnotherAddress) {
  const std::string folder = e2e::MakeJobFolder(EndlessJob());
  const std::string state = folder + "/state";
  const auto start = [&](const std::string& listen) {
    return e2e::Program({e2e::Runfile("server/rondo-coordinator"), "--job", folder + "/job.yaml",
                         "--state", state, "--listen", listen});
  };
  NameServer names;
  names.SetAddress({127, 0, 0, 1});
  std::optional<e2e::Program> coordinator(start("127.0.0.1:0"));
  const std::string line = coordinator->WaitForLine("address=", kPatience);
  const std::string port = line.substr(line.rfind(':') + 1);
  e2e::Program worker({e2e::Runfile("worker/rondo-worker"), "--insecure", "--coordinator",
                       fmt::format("dns://127.0.0.1:{}/coordinator.test:{}", names.port(), port),
                       "--name", "w0", "--files", folder, "--data-host", "192.0.2.1"});
  ASSERT_NE(coordinator->WaitForLogLine("group_formed", kPatience), "") << worker.Wait({});
  coordinator.reset();
  names.SetAddress({127, 0, 0, 2});
  coordinator.emplace(start("127.0.0.2:" + port));
  ASSERT_NE(coordinator->WaitForLine("address=", kPatience), "") << coordinator->Wait();
  ASSERT_NE(coordinator->WaitForLogLine("group_formed", kPatience), "") << worker.Wait({});
  coordinator->Signal(SIGTERM);
  EXPECT_EQ(coordinator->Wait(kPatience).exit_code, 0);
  const e2e::Ended ended = worker.Wait(kPatience);
  EXPECT_EQ(ended.exit_code, 0) << ended;
}

}  // namespace
}  // namespace rondo::chaos
