// The coordinator is killed right after each kind of journal write, as soon as the row can be seen,
// whatever it was about to say; a new one goes on, and the model is that of the undisturbed job,
// bit for bit (S69, S70, S73: what is half written is not believed).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "tests/chaos/crew.h"
#include "tests/chaos/journal_file.h"
#include "tests/chaos/relay.h"
#include "tests/chaos/verdict.h"
#include "tests/e2e/digits_job.h"
#include "tests/e2e/program.h"

namespace rondo::chaos {
namespace {

constexpr int kWorkers = 2;
constexpr uint64_t kSteps = 400;

struct Write {
  const char* table = "";
  int64_t rows = 0;  // The write that brings it to so many.
  bool parallel = false;
};

std::string JobFolder(bool parallel) {
  e2e::DigitsJob job;
  job.schedule =
      fmt::format("{{kind: cosine, steps: {}, peak: 0.05, final: 1e-3, warmup_steps: 5}}", kSteps);
  job.sync = parallel ? "{policy: parallel, round_steps: 4}" : "{policy: constant, base_steps: 4}";
  job.workers = fmt::format("{{min: {0}, max: {0}}}", kWorkers);
  job.more =
      "evaluate: {every_steps: 200}\n"
      "checkpoint: {every_steps: 200}\n";
  return e2e::MakeJobFolder(job);
}

void ExpectEndsWell(Crew* crew) {
  const e2e::Ended coordinator = crew->WaitForCoordinator();
  EXPECT_EQ(coordinator.exit_code, 0) << coordinator;
  for (int i = 0; i < kWorkers; ++i) {
    const e2e::Ended worker = crew->WaitForWorker(i);
    EXPECT_EQ(worker.exit_code, 0) << worker;
  }
  for (const std::string& problem :
       JudgeJournal(crew->state_dir() + "/journal.db", crew->overheard(), kSteps)) {
    ADD_FAILURE() << problem;
  }
}

std::string ModelOf(const Crew& crew) {
  const std::string path = crew.state_dir() + "/model.safetensors";
  const e2e::Ended ended =
      e2e::RunToEnd(e2e::Rondo({"export", "--state", crew.state_dir(), "--out", path}));
  EXPECT_EQ(ended.exit_code, 0) << ended;
  return e2e::ReadFile(path);
}

const std::string& UndisturbedModel(bool parallel) {
  static auto* models = new std::map<bool, std::string>;
  const auto [it, is_new] = models->try_emplace(parallel);
  if (is_new) {
    Crew crew(JobFolder(parallel), kWorkers);
    EXPECT_TRUE(crew.StartAll());
    ExpectEndsWell(&crew);
    it->second = ModelOf(crew);
  }
  return it->second;
}

class JournalKillTest : public testing::TestWithParam<Write> {};

TEST_P(JournalKillTest, ANewCoordinatorGoesOnAndNothingIsLost) {
  const Write& write = GetParam();
  Crew crew(JobFolder(write.parallel), kWorkers);
  ASSERT_TRUE(crew.StartAll());
  ASSERT_TRUE(AwaitRows(crew.state_dir() + "/journal.db", write.table, write.rows, kPatience))
      << crew.Chronicle();
  crew.KillCoordinator();
  ASSERT_TRUE(crew.StartCoordinator()) << crew.Chronicle();
  ExpectEndsWell(&crew);
  EXPECT_EQ(ModelOf(crew), UndisturbedModel(write.parallel));
  if (HasFailure()) fmt::print("--- what the processes logged\n{}", crew.Chronicle());
}

// The last write of all: the end is known, and nobody has been told.
TEST(EndedJobTest, WorkersHearOfTheEndFromANewCoordinator) {
  Crew crew(JobFolder(false), kWorkers);
  Trap& goodbye = crew.relay().Hold(
      [](const Passing& p) { return p.to_worker != nullptr && p.to_worker->has_goodbye(); });
  ASSERT_TRUE(crew.StartAll());
  ASSERT_TRUE(goodbye.Wait(kPatience)) << crew.Chronicle();
  crew.KillCoordinator();
  goodbye.Lose();
  ASSERT_TRUE(crew.StartCoordinator(crew.coordinator_address())) << crew.Chronicle();
  ExpectEndsWell(&crew);
}

std::vector<Write> Writes() {
  std::vector<Write> writes;
  for (const bool parallel : {false, true}) {
    for (Write write :
         {Write{"terms", 1}, Write{"reference", 1}, Write{"groups", 1}, Write{"orders", 1},
          Write{"orders", 20}, Write{"commits", 1}, Write{"commits", 21}, Write{"notices", 3},
          Write{"evaluations", 1}, Write{"checkpoints", 1}}) {
      write.parallel = parallel;
      writes.push_back(write);
    }
  }
  return writes;
}

INSTANTIATE_TEST_SUITE_P(Writes, JournalKillTest, testing::ValuesIn(Writes()),
                         [](const auto& info) {
                           return fmt::format("{}_{}_{}", info.param.table, info.param.rows,
                                              info.param.parallel ? "parallel" : "local");
                         });

}  // namespace
}  // namespace rondo::chaos
