// S66, S67: groups are made anew a hundred times, and no process holds more for it.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "tests/chaos/crew.h"
#include "tests/e2e/digits_job.h"
#include "tests/e2e/program.h"

namespace rondo::chaos {
namespace {

constexpr int kWorkers = 3;
// Caches fill, threads make their arenas.
constexpr int kRebuildsToWarmUp = 30;
constexpr int kRebuilds = 100;
// A buffer of the model is 0.7 MB: one that leaked in each rebuild would be 70.
constexpr int64_t kGrowthBytesMax = int64_t{12} << 20;

struct Holdings {
  int64_t resident_bytes = 0;
  int64_t descriptors = 0;
};

Holdings HoldingsOf(pid_t pid) {
  std::istringstream statm(e2e::ReadFile(fmt::format("/proc/{}/statm", pid)));
  int64_t size_pages = 0;
  int64_t resident_pages = 0;
  statm >> size_pages >> resident_pages;
  const std::filesystem::directory_iterator descriptors(fmt::format("/proc/{}/fd", pid));
  return {resident_pages * sysconf(_SC_PAGESIZE),
          std::distance(begin(descriptors), end(descriptors))};
}

std::vector<Holdings> HoldingsOfAll(const Crew& crew) {
  std::vector<Holdings> all = {HoldingsOf(crew.coordinator_pid())};
  for (int i = 0; i < crew.size(); ++i) all.push_back(HoldingsOf(crew.worker_pid(i)));
  return all;
}

// The connections between the workers break, and a round is committed by a new group.
bool Rebuild(Crew* crew) {
  Trap& assemble = crew->relay().Watch(
      [](const Passing& p) { return p.to_worker != nullptr && p.to_worker->has_assemble(); });
  crew->door(kWorkers - 1).Cut();
  if (!assemble.Wait(kPatience)) return false;
  crew->door(kWorkers - 1).Heal();
  Trap& commit = crew->relay().Watch(
      [](const Passing& p) { return p.to_worker != nullptr && p.to_worker->has_commit(); });
  return commit.Wait(kPatience);
}

TEST(RebuildTest, AHundredNewGroupsLeaveMemoryAndDescriptorsAsTheyWere) {
  e2e::DigitsJob job;
  job.model = "{builtin: mlp, layers: [64, 512, 256, 10]}";
  job.schedule = "{kind: constant, steps: 100000000, peak: 0.001}";
  job.workers = fmt::format("{{min: {0}, max: {0}}}", kWorkers);
  Crew crew(e2e::MakeJobFolder(job), kWorkers);
  ASSERT_TRUE(crew.StartAll());
  for (int i = 0; i < kRebuildsToWarmUp; ++i) ASSERT_TRUE(Rebuild(&crew)) << crew.Chronicle();
  const std::vector<Holdings> before = HoldingsOfAll(crew);
  for (int i = 0; i < kRebuilds; ++i) ASSERT_TRUE(Rebuild(&crew)) << crew.Chronicle();
  const std::vector<Holdings> after = HoldingsOfAll(crew);
  for (size_t i = 0; i < before.size(); ++i) {
    const std::string who = i == 0 ? "coordinator" : WorkerName(static_cast<int>(i) - 1);
    EXPECT_LE(after[i].resident_bytes - before[i].resident_bytes, kGrowthBytesMax) << who;
    // A connection may be on its way in or out.
    EXPECT_LE(after[i].descriptors - before[i].descriptors, kWorkers) << who;
  }
}

}  // namespace
}  // namespace rondo::chaos
