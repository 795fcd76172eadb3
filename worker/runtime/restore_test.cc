// Members that go on from a checkpoint's files.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "worker/runtime/test_workers.h"

namespace rondo::worker {
namespace {

std::vector<double> Equal(int members) { return std::vector<double>(members, 2.0); }

// A group that goes on from the checkpoint of round 1, step 3.
Assemble Restored(const TestWorkers& workers, uint64_t group, uint64_t hash,
                  std::vector<StateNeed> needs) {
  Assemble assemble = workers.MakeAssemble(group, Purpose::kStart, std::move(needs));
  assemble.round = {1};
  assemble.state_hash = hash;
  assemble.step = 3;
  return assemble;
}

uint64_t TrainAndSave(TestWorkers& workers) {
  workers.Start();
  workers.Train(1, 1, Mode::kLocal, 0, 3);
  const uint64_t hash = workers.ReduceAll(1, 1, Equal(workers.size()))[0].reduced.state_hash;
  workers.Apply(1, 1, 1);
  workers.SaveAll(1, 1, 3);
  return hash;
}

TEST(RestoreTest, NewProcessesGoOnFromTheirFilesWithTheSameBits) {  // S23, S40, rule 21
  TestWorkers first(2, {});
  const uint64_t hash = TrainAndSave(first);
  first.Train(1, 2, Mode::kLocal, 3, 4);
  first.ReduceAll(1, 2, Equal(2));
  first.Apply(1, 2, 1);

  TestWorkers second(std::vector<QuadraticOptions>(2), first.files());
  const std::vector<Formed> formed =
      second.Form(Restored(second, 5, hash, {StateNeed::kFile, StateNeed::kFile}));
  EXPECT_EQ(formed[0].state_hash, hash);
  EXPECT_EQ(second[1].optimizer().step_count(), 3);
  second.Train(5, 9, Mode::kLocal, 3, 4);
  second.ReduceAll(5, 9, Equal(2));
  second.Apply(5, 9, 1);
  for (int rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(second[rank].parameters(), first[rank].parameters());
    EXPECT_EQ(second[rank].velocity(), first[rank].velocity());
    EXPECT_EQ(second[rank].engine().integer_buffers()[0],
              first[rank].engine().integer_buffers()[0]);
  }
}

TEST(RestoreTest, AProcessThatTrainedOnGoesBackToItsFile) {
  TestWorkers workers(1, {});
  const uint64_t hash = TrainAndSave(workers);
  const std::vector<float> parameters = workers[0].parameters();
  const std::vector<float> velocity = workers[0].velocity();
  workers.Train(1, 2, Mode::kLocal, 3, 4);
  workers[0].Do(DropOrder{RoundId{2}});
  const auto formed = workers.Form(Restored(workers, 2, hash, {StateNeed::kFile}));
  EXPECT_EQ(formed[0].state_hash, hash);
  EXPECT_EQ(workers[0].parameters(), parameters);
  EXPECT_EQ(workers[0].velocity(), velocity);
  EXPECT_EQ(workers[0].optimizer().step_count(), 3);
}

TEST(RestoreTest, ANameWithoutALocalFileTakesTheGiversMoments) {
  TestWorkers first(1, {});
  const uint64_t hash = TrainAndSave(first);
  TestWorkers second(std::vector<QuadraticOptions>(2), first.files());
  second.Form(Restored(second, 2, hash, {StateNeed::kFile, StateNeed::kAll}));
  EXPECT_EQ(second[1].parameters(), first[0].parameters());
  EXPECT_EQ(second[1].velocity(), first[0].velocity());
}

TEST(RestoreTest, WithoutItsLocalFileMomentsAreZero) {
  TestWorkers first(1, {});
  const uint64_t hash = TrainAndSave(first);
  first.files()->erase({3, "local-w0"});
  first.Form(Restored(first, 2, hash, {StateNeed::kFile}));
  EXPECT_EQ(first[0].velocity(), std::vector<float>(kWidth, 0.0f));
  EXPECT_EQ(first[0].optimizer().step_count(), 0);
}

// What a member says that cannot use the files.
Failed FailToRestore(TestWorkers& workers, const Assemble& assemble) {
  const std::string blob = workers[0].groups().Listen().value();
  workers[0].Do(FormGroup{assemble, 0, {blob}, "0123456789abcdef"});
  return workers[0].Await<GroupFailed>().failed;
}

TEST(RestoreTest, FilesOfAnotherStateOrModelAreNamedAsTheCause) {  // S22, S84
  TestWorkers workers(1, {});
  const uint64_t hash = TrainAndSave(workers);
  const Assemble assemble = Restored(workers, 2, hash, {StateNeed::kFile});
  EXPECT_EQ(FailToRestore(workers, Restored(workers, 2, hash + 1, {StateNeed::kFile})).cause,
            FailureCause::kFile);
  const std::string whole = (*workers.files())[{3, "parameters"}];
  (*workers.files())[{3, "parameters"}] = whole.substr(0, whole.size() - 1);
  EXPECT_EQ(FailToRestore(workers, assemble).cause, FailureCause::kFile);
  (*workers.files())[{3, "parameters"}] = (*workers.files())[{3, "buffers"}];
  EXPECT_EQ(FailToRestore(workers, assemble).cause, FailureCause::kFile);
  workers.files()->erase({3, "parameters"});
  EXPECT_EQ(FailToRestore(workers, assemble).cause, FailureCause::kFile);
  (*workers.files())[{3, "parameters"}] = whole;
  EXPECT_EQ(workers.Form(assemble)[0].state_hash, hash);
}

// Two members that keep partials every 2 steps, with their whole first round of 7 steps.
std::vector<Ready> TrainFirstRound(TestWorkers& workers) {
  workers.Start();
  return workers.Train(1, 1, Mode::kLocal, 0, 7);
}

std::vector<QuadraticOptions> WithPartials() {
  return std::vector<QuadraticOptions>(2, {.partial_every = 2});
}

TEST(PartialTest, ARoundGoesOnFromItsNewestPartialWithTheSameBits) {  // S47
  TestWorkers first(WithPartials());
  const std::vector<Ready> whole = TrainFirstRound(first);
  EXPECT_TRUE(first.files()->contains({2, "partial-w0"}));
  EXPECT_TRUE(first.files()->contains({6, "partial-w1"}));
  EXPECT_FALSE(first.files()->contains({7, "partial-w0"}));
  for (const uint64_t step : {2, 4, 6}) {
    TestWorkers second(WithPartials(), first.files());
    Assemble assemble =
        second.MakeAssemble(2, Purpose::kStart, {StateNeed::kPartial, StateNeed::kPartial});
    assemble.step = step;
    second.Form(assemble);
    const std::vector<Ready> ready = second.Train(2, 1, Mode::kLocal, 0, 7);
    for (int rank = 0; rank < 2; ++rank) {
      EXPECT_EQ(second[rank].parameters(), first[rank].parameters());
      EXPECT_EQ(second[rank].velocity(), first[rank].velocity());
      EXPECT_EQ(second[rank].optimizer().step_count(), 7);
      EXPECT_EQ(ready[rank].loss_sum, whole[rank].loss_sum);
      EXPECT_EQ(ready[rank].samples, whole[rank].samples);
    }
    // Base is the round's start, not where the partial was.
    second[0].Do(DropOrder{RoundId{1}});
    second[0].Settle();
    EXPECT_EQ(second[0].parameters(), std::vector<float>(kWidth, 3.0f));
  }
}

TEST(PartialTest, ALaterRoundTakesItsBaseFromTheCheckpointOfItsStart) {
  TestWorkers first(WithPartials());
  const uint64_t hash = TrainAndSave(first);
  first.Train(1, 2, Mode::kLocal, 3, 6);
  TestWorkers second(WithPartials(), first.files());
  Assemble assemble = Restored(second, 5, hash, {StateNeed::kPartial, StateNeed::kPartial});
  assemble.step = 6;
  const std::vector<Formed> formed = second.Form(assemble);
  EXPECT_EQ(formed[0].state_hash, hash);
  second.Train(5, 2, Mode::kLocal, 3, 6);
  EXPECT_EQ(second[1].parameters(), first[1].parameters());
  EXPECT_EQ(second[1].velocity(), first[1].velocity());
}

TEST(PartialTest, AnotherOrderBeginsAtTheBase) {
  TestWorkers first(WithPartials());
  TrainFirstRound(first);
  TestWorkers second(WithPartials(), first.files());
  Assemble assemble =
      second.MakeAssemble(2, Purpose::kStart, {StateNeed::kPartial, StateNeed::kPartial});
  assemble.step = 4;
  second.Form(assemble);
  second.Train(2, 9, Mode::kLocal, 0, 1);
  TestWorkers fresh(2, {});
  fresh.Start();
  fresh.Train(1, 9, Mode::kLocal, 0, 1);
  // The first step's gradient is the fresh one's; the moments are the partial's.
  EXPECT_NE(second[0].parameters(), first[0].parameters());
  EXPECT_EQ(second[0].engine().integer_buffers()[0], fresh[0].engine().integer_buffers()[0]);
}

}  // namespace
}  // namespace rondo::worker
