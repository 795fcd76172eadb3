// The golden trajectories with K members in one process: engine, optimizer, sampler and kernels,
// and plain sums in place of a network. It shows that the numbers are right before anything is
// distributed.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/status_matchers.h"
#include "kernels/accumulate.h"
#include "kernels/norm.h"
#include "kernels/span.h"
#include "tests/golden/golden_case.h"
#include "tests/golden/golden_digits.h"
#include "worker/core/permutation.h"
#include "worker/core/sampler.h"
#include "worker/data/batch.h"
#include "worker/data/dataset.h"
#include "worker/engine/create_engine.h"
#include "worker/engine/engine.h"
#include "worker/engine/optimizer.h"

namespace rondo {
namespace {

constexpr char kCases[] = "tests/golden/public";
constexpr char kMlpScript[] = "tests/golden/mlp.pt";

std::vector<float> Copy(DeviceSpan<float> span) { return {span.data, span.data + span.size}; }

struct Member {
  std::unique_ptr<Engine> engine;
  std::unique_ptr<Optimizer> optimizer;
  std::unique_ptr<Sampler> sampler;
  Batch batch;
};

// K members that share a data set and meet in plain memory.
class Group {
 public:
  Group(const GoldenCase& golden, const EngineOptions& options)
      : golden_(golden),
        train_(OpenDigits("train", golden.pixel_divisor)),
        orders_(golden.shuffle_seed, train_->size(), golden.shuffle) {
    for (int64_t rank = 0; rank < golden.workers; ++rank) {
      Member member;
      member.engine = std::move(CreateEngine(options)).value();
      member.optimizer =
          std::move(Optimizer::Create(golden.optimizer, member.engine->layout())).value();
      member.sampler = std::make_unique<Sampler>(
          std::move(Sampler::Create(RunsOf(golden, rank, train_->size()), golden.steps, &orders_))
              .value());
      members_.push_back(std::move(member));
    }
  }

  Engine& engine() { return *members_[0].engine; }

  // Runs a round; returns the mean over steps and members of the batch loss.
  double RunRound(int64_t start, int64_t length) {
    double losses = 0;
    for (int64_t step = start; step < start + length; ++step) {
      for (Member& member : members_) losses += ComputeGradient(step, &member);
      if (golden_.parallel) Average(&Engine::gradients);
      for (Member& member : members_)
        EXPECT_OK(member.optimizer->Step(member.engine->parameters(), member.engine->gradients(),
                                         GoldenRate(golden_, step), member.engine->has_gradient()));
    }
    if (!golden_.parallel) Average(&Engine::parameters);
    return losses / static_cast<double>(length * golden_.workers);
  }

 private:
  double ComputeGradient(int64_t step, Member* member) {
    StepSamples samples = member->sampler->Samples(step);
    train_->Load(samples.samples, &member->batch);
    member->batch.positions = std::move(samples.positions);
    const absl::StatusOr<GradientResult> result =
        member->engine->ComputeGradient(member->batch, step);
    EXPECT_OK(result);
    return result->loss;
  }

  // Sum in rank order / K, for all.
  void Average(DeviceSpan<float> (Engine::*vector)()) {
    const auto of = [&](size_t rank) { return ((*members_[rank].engine).*vector)(); };
    for (size_t rank = 1; rank < members_.size(); ++rank) EXPECT_OK(Add(of(0), of(rank)));
    EXPECT_OK(Scale(of(0), 1.0f / static_cast<float>(members_.size())));
    for (size_t rank = 1; rank < members_.size(); ++rank)
      EXPECT_OK(AssignScaled(of(rank), 1, of(0)));
  }

  const GoldenCase& golden_;
  const std::unique_ptr<Dataset> train_;
  EpochOrders orders_;
  std::vector<Member> members_;
};

void ExpectGoldenRounds(const GoldenCase& golden, Group* group) {
  int64_t start = 0;
  for (size_t round = 0; round < golden.starts.size(); ++round) {
    ASSERT_EQ(start, golden.starts[round]);
    EXPECT_LE(RelativeDifference(GoldenRate(golden, start), golden.rates[round]),
              golden.tolerance.rate);
    const double loss = group->RunRound(start, golden.lengths[round]);
    EXPECT_LE(RelativeDifference(loss, golden.train_losses[round]), golden.tolerance.train_loss)
        << "round " << round;
    ASSERT_OK_AND_ASSIGN(const Norm norm, ComputeNorm(group->engine().parameters()));
    EXPECT_LE(RelativeDifference(norm.squared, golden.param_sqnorms[round]),
              golden.tolerance.param_sqnorm)
        << "round " << round;
    start += golden.lengths[round];
  }
  EXPECT_EQ(start, golden.steps);
}

class EngineGoldenTest : public testing::TestWithParam<const char*> {};

TEST_P(EngineGoldenTest, FollowsPyTorchsTrajectory) {
  ASSERT_OK_AND_ASSIGN(const GoldenCase golden, LoadGoldenCase(kCases, GetParam()));
  Group group(golden, OptionsOf(golden));
  ExpectGoldenRounds(golden, &group);
  ExpectGoldenEnd(golden, &group.engine());
}

TEST_P(EngineGoldenTest, TheSeedGivesPyTorchsInitialValuesBitForBit) {
  ASSERT_OK_AND_ASSIGN(const GoldenCase golden, LoadGoldenCase(kCases, GetParam()));
  ASSERT_OK_AND_ASSIGN(const std::vector<float> init, LoadFlat(golden.init_path));
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Engine> engine, CreateEngine(OptionsOf(golden)));
  EXPECT_EQ(Copy(engine->parameters()), init);
}

INSTANTIATE_TEST_SUITE_P(Case, EngineGoldenTest, testing::Values("p1", "q1", "q2", "q3", "q4"),
                         [](const auto& info) { return std::string(info.param); });

TEST(TorchScriptGoldenTest, ACopyOfTheMlpFollowsTheSameTrajectory) {
  ASSERT_OK_AND_ASSIGN(const GoldenCase golden, LoadGoldenCase(kCases, "q1"));
  EngineOptions options = OptionsOf(golden);
  options.model = ModelKind::kTorchScript;
  options.torchscript_path = kMlpScript;
  options.init_path = golden.init_path;
  Group group(golden, options);
  EXPECT_EQ(group.engine().layout().Hash(),
            CreateEngine(OptionsOf(golden)).value()->layout().Hash());
  ExpectGoldenRounds(golden, &group);
  ExpectGoldenEnd(golden, &group.engine());
}

}  // namespace
}  // namespace rondo
