// One member dies, freezes or sends less than was agreed, at each call of a step: the others fail
// within the limit, nothing has changed, and the next group's attempt gives the bytes that the
// first would have given.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "common/status_matchers.h"
#include "kernels/sparse_oracle.h"
#include "worker/collectives/communicator.h"
#include "worker/collectives/sparse/plain_sparse.h"
#include "worker/collectives/sparse/sparse_allreduce.h"
#include "worker/collectives/sparse/sparse_members.h"
#include "worker/collectives/sparse/striking_communicator.h"

namespace rondo {
namespace {

using absl::StatusCode;

constexpr int kRanks = 4;
constexpr int kVictim = 3;
constexpr int64_t kSize = 2000;
const SparseSpec kSpec = {.size = kSize, .k = 100};
const std::vector<float> kOnes(kRanks, 1.0f);

// Half of each member's entries lie where all have some, half have their places to themselves and
// are larger towards the end. The first half makes the regions of ranks 0 and 1, so most of the
// winners of the second lie with rank 3, and the step is re-blocked.
Vectors UnevenValues(uint32_t seed) {
  Vectors values = ValuesOf(Shape::kNormal, kRanks, kSize, seed);
  for (int rank = 0; rank < kRanks; ++rank) {
    std::vector<float>& of_rank = values[static_cast<size_t>(rank)];
    for (float& x : of_rank) x *= 0.1f;
    for (size_t i = 0; i < 50; ++i) of_rank[i] += 10;
    for (size_t i = 0; i < 50; ++i) {
      const size_t at = 100 + 4 * 9 * i + static_cast<size_t>(rank);
      of_rank[at] += 12 + 0.01f * static_cast<float>(at);
    }
  }
  return values;
}

// A group in mid-run.
SparseMembers Members() {
  SparseMembers members(kRanks, kSpec);
  Vectors residuals = ValuesOf(Shape::kNormal, kRanks, kSize, 9);
  for (auto& of_rank : residuals) {
    for (float& x : of_rank) x *= 0.1f;
  }
  for (auto& x : residuals[0]) x *= 5;
  members.SetResiduals(residuals);
  return members;
}

std::vector<Phase> PhasesOfAStep() {
  SparseMembers members = Members();
  std::vector<Phase> phases;
  const auto group = NewGroupOf(kRanks);
  const CallId call{.round = 1, .attempt_or_step = 1, .phase = Phase::kGradients};
  const Vectors values = UnevenValues(1);
  for (const auto& status : group->Run([&](Communicator& member) {
         StrikingCommunicator counting(member, Strike::kNone, 0, nullptr);
         std::vector<float> mean(kSize);
         const absl::Status status =
             members.member(member.rank())
                 .Reduce(call, {.values = {values[member.rank()].data(), kSize}},
                         {mean.data(), kSize}, absl::Seconds(60), &counting);
         if (member.rank() == 0) phases = counting.phases();
         return status;
       })) {
    EXPECT_OK(status);
  }
  return phases;
}

TEST(FailureTest, TheStepStruckAtBelowHasAllPhases) {
  const std::vector<Phase> phases = PhasesOfAStep();
  for (const Phase phase : {Phase::kSparseSelection, Phase::kSparseSplit, Phase::kSparseThreshold,
                            Phase::kSparseBalance, Phase::kSparseGather}) {
    EXPECT_NE(std::find(phases.begin(), phases.end(), phase), phases.end()) << PhaseName(phase);
  }
}

class StrikeTest : public testing::TestWithParam<Strike> {};

TEST_P(StrikeTest, AtAnyCallFailsTheOthersChangesNothingAndARetryGivesTheSameBytes) {
  const auto calls = static_cast<int>(PhasesOfAStep().size());
  ASSERT_GE(calls, 9);
  for (int at = 0; at < calls; ++at) {
    SCOPED_TRACE("call " + std::to_string(at));
    SparseMembers members = Members();
    const Vectors residuals = members.Residuals();
    const Vectors values = UnevenValues(1);
    const PlainResult expected = PlainReduce({residuals, values, kOnes}, kSpec.k);
    const auto group = NewGroupOf(kRanks);
    absl::Mutex mutex;
    int failed = 0;
    const auto others_failed = [&] {
      absl::MutexLock lock(&mutex);
      const auto all = [&] { return failed == kRanks - 1; };
      mutex.Await(absl::Condition(&all));
    };
    const CallId call{.round = 1, .attempt_or_step = 1, .phase = Phase::kGradients};
    const absl::Duration limit =
        GetParam() == Strike::kFreeze ? absl::Milliseconds(500) : absl::Seconds(60);
    const auto statuses = group->Run([&](Communicator& member) {
      const bool victim = member.rank() == kVictim;
      StrikingCommunicator striking(member, victim ? GetParam() : Strike::kNone, at, others_failed);
      std::vector<float> mean(kSize);
      const absl::Status status =
          members.member(member.rank())
              .Reduce(call, {.values = {values[static_cast<size_t>(member.rank())].data(), kSize}},
                      {mean.data(), kSize}, limit, &striking);
      absl::MutexLock lock(&mutex);
      failed += !victim;
      return status;
    });
    for (int rank = 0; rank < kRanks; ++rank) {
      EXPECT_FALSE(statuses[rank].ok()) << "rank " << rank;
      if (rank == kVictim) continue;
      const StatusCode code = statuses[rank].code();
      EXPECT_TRUE(code == StatusCode::kUnavailable || code == StatusCode::kInvalidArgument ||
                  (code == StatusCode::kDeadlineExceeded && GetParam() == Strike::kFreeze))
          << statuses[rank];
    }
    members.Commit();  // nothing is staged
    ASSERT_EQ(members.Residuals(), residuals);
    const auto next_group = NewGroupOf(kRanks);
    for (int rank = 0; rank < kRanks; ++rank) members.member(rank).BeginGroup();
    for (const auto& status : members.Reduce(*next_group, values, kOnes, 1)) ASSERT_OK(status);
    members.Commit();
    ASSERT_EQ(members.delivered(0), expected.delivered);
    ASSERT_EQ(members.mean(3), expected.mean);
    ASSERT_EQ(members.Residuals(), expected.residuals);
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, StrikeTest,
                         testing::Values(Strike::kDie, Strike::kFreeze, Strike::kShorten));

// Rule 18: one member fails at the very end, the others have the result; it gets it from
// one of them and stages what it would have.
TEST(AdoptTest, AMemberThatFailedLateTakesTheResultFromAnother) {
  SparseMembers members = Members();
  const Vectors residuals = members.Residuals();
  const Vectors values = UnevenValues(2);
  const PlainResult expected = PlainReduce({residuals, values, kOnes}, kSpec.k);
  SparseMembers alone = Members();
  const auto calls = static_cast<int>(PhasesOfAStep().size());
  const auto group = NewGroupOf(kRanks);
  const CallId call{.round = 1, .attempt_or_step = 1, .phase = Phase::kGradients};
  // All of a first set of members fail at the gather; a second set, alike, gets through.
  group->Run([&](Communicator& member) {
    StrikingCommunicator striking(member, Strike::kDie, calls - 1, nullptr);
    std::vector<float> mean(kSize);
    return alone.member(member.rank())
        .Reduce(call, {.values = {values[static_cast<size_t>(member.rank())].data(), kSize}},
                {mean.data(), kSize}, absl::Seconds(60), &striking);
  });
  for (const auto& status : members.Reduce(GroupOf(kRanks), values, kOnes, 1)) ASSERT_OK(status);
  std::vector<float> mean(kSize);
  for (int rank = 0; rank < kRanks; ++rank) {
    ASSERT_OK(alone.member(rank).Adopt(members.member(0).result(), members.member(0).factor_sum(),
                                       {mean.data(), kSize}));
    EXPECT_EQ(mean, expected.mean);
  }
  EXPECT_EQ(alone.Residuals(), residuals);
  alone.Commit();
  EXPECT_EQ(alone.Residuals(), expected.residuals);
  EXPECT_EQ(alone.delivered(2), expected.delivered);
  EXPECT_THAT(alone.member(0).Adopt(members.member(0).result(), 4, {mean.data(), kSize}),
              StatusIs(StatusCode::kFailedPrecondition));
}

}  // namespace
}  // namespace rondo
