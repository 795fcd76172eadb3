// S65: heartbeats have a thread of their own. A step that lasts longer than the silent limit, on a
// machine whose cores are all busy, is no death.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "tests/chaos/crew.h"
#include "tests/e2e/digits_job.h"

namespace rondo::chaos {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr double kSilentSeconds = 1.5;

// Threads that only compute, one more than there are cores.
class Hogs {
 public:
  Hogs() {
    for (unsigned i = 0; i <= std::thread::hardware_concurrency(); ++i) {
      threads_.emplace_back([this] {
        while (!stop_) ++turns_;
      });
    }
  }
  ~Hogs() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  std::atomic<bool> stop_ = false;
  std::atomic<uint64_t> turns_ = 0;
  std::vector<std::thread> threads_;
};

// "{builtin: mlp, layers: [64, 4096, ..., 10]}"
std::string MlpWithWideLayers(int layers) {
  std::string text = "{builtin: mlp, layers: [64";
  for (int i = 0; i < layers; ++i) text += ", 4096";
  return text + ", 10]}";
}

TEST(HeartbeatTest, AStepLongerThanTheSilentLimitOnABusyMachineIsNoDeath) {
  e2e::DigitsJob job;
  job.batch = "{per_worker: 700}";
  job.schedule = "{kind: constant, steps: 2, peak: 0.001}";
  job.sync = "{policy: constant, base_steps: 2}";
  job.workers = "{min: 2, max: 2}";
  job.more =
      fmt::format("limits: {{heartbeat_seconds: 0.2, silent_seconds: {}, lost_seconds: {}}}\n",
                  kSilentSeconds, kSilentSeconds);
  // How much work takes that long depends on the machine: more of it until it does.
  bool long_step_seen = false;
  for (int layers = 2; layers <= 8 && !long_step_seen; layers *= 2) {
    job.model = MlpWithWideLayers(layers);
    Crew crew(e2e::MakeJobFolder(job), 2);
    Trap& long_step = crew.relay().Watch([](const Passing& p) {
      return p.from_worker != nullptr && p.from_worker->has_progress() &&
             p.from_worker->progress().activity() == v1::ACTIVITY_TRAINING &&
             p.from_worker->progress().stalled_seconds() > kSilentSeconds;
    });
    ASSERT_TRUE(crew.StartAll());
    const Hogs hogs;
    const e2e::Ended ended = crew.WaitForCoordinator();
    EXPECT_EQ(ended.exit_code, 0) << ended;
    EXPECT_THAT(ended.err, Not(HasSubstr("worker_silent")));
    EXPECT_THAT(ended.err, Not(HasSubstr("worker_lost")));
    long_step_seen = long_step.sprung();
  }
  EXPECT_TRUE(long_step_seen) << "no step took long enough";
}

}  // namespace
}  // namespace rondo::chaos
