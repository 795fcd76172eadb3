// The sparse golden trajectories with K members in one process, connected over loopback: engine,
// optimizer, gradient reducer and residuals as a worker's loop has them. And the control: without
// error feedback nothing of it holds.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/status_macros.h"
#include "common/status_matchers.h"
#include "kernels/norm.h"
#include "kernels/span.h"
#include "tests/golden/golden_case.h"
#include "worker/collectives/communicator.h"
#include "worker/collectives/tcp/loopback_group.h"
#include "worker/core/messages.h"
#include "worker/core/permutation.h"
#include "worker/core/sampler.h"
#include "worker/data/batch.h"
#include "worker/data/dataset.h"
#include "worker/data/idx.h"
#include "worker/engine/create_engine.h"
#include "worker/engine/engine.h"
#include "worker/engine/layout.h"
#include "worker/engine/optimizer.h"
#include "worker/runtime/error_feedback.h"
#include "worker/runtime/gradient_reducer.h"
#include "worker/runtime/mean_step.h"
#include "worker/runtime/member_state.h"

namespace rondo {
namespace {

constexpr char kDigits[] = "deploy/jobs/digits/";
constexpr char kCases[] = "tests/golden/public";

std::unique_ptr<Dataset> OpenDigits(const std::string& split, double divisor) {
  return std::move(OpenIdxDataset(kDigits + split + "-images-idx3-ubyte",
                                  kDigits + split + "-labels-idx1-ubyte", divisor))
      .value();
}

EngineOptions Options(const GoldenCase& golden) {
  return {.model = golden.model == "mlp" ? ModelKind::kMlp : ModelKind::kConvnet,
          .layers = {64, 128, 64, 10},
          .seed = golden.seed,
          .input_shape = {1, 8, 8},
          .class_count = 10};
}

class Member {
 public:
  Member(const GoldenCase& golden, int64_t rank, int64_t samples, EpochOrders* orders)
      : state_(Make(golden), Optimize(golden), StatePolicy::kLocal),
        reducer_(state_.engine().parameters().size, Ends(), &state_.feedback()),
        sampler_(
            std::move(Sampler::Create(Runs(golden, rank, samples), golden.steps, orders)).value()) {
    worker::Order order;
    order.mode = worker::Mode::kParallel;
    order.collective = worker::Collective::kSparse;
    order.density = golden.density;
    EXPECT_OK(state_.feedback().BeginOrder(order));
  }

  Engine& engine() { return state_.engine(); }
  worker::ErrorFeedback& feedback() { return state_.feedback(); }

  // The batch loss before the step.
  double ComputeGradient(const Dataset& train, int64_t step) {
    StepSamples samples = sampler_.Samples(step);
    train.Load(samples.samples, &batch_);
    batch_.positions = std::move(samples.positions);
    const absl::StatusOr<GradientResult> result = engine().ComputeGradient(batch_, step);
    EXPECT_OK(result);
    return result->loss;
  }

  absl::Status ReduceAndStep(int64_t step, double rate, Communicator* group) {
    const CallId call{.round = 1, .attempt_or_step = step, .phase = Phase::kGradients};
    RETURN_IF_ERROR(
        reducer_
            .Reduce(call, {.values = engine().gradients(), .has_gradient = engine().has_gradient()},
                    absl::Seconds(60), group)
            .status());
    return worker::StepWithMean(rate, &reducer_, &state_);
  }

 private:
  static std::unique_ptr<Engine> Make(const GoldenCase& golden) {
    return std::move(CreateEngine(Options(golden))).value();
  }
  static std::unique_ptr<Optimizer> Optimize(const GoldenCase& golden) {
    return std::move(Optimizer::Create(golden.optimizer, Make(golden)->layout())).value();
  }
  std::vector<int64_t> Ends() {
    std::vector<int64_t> ends;
    for (const LayoutEntry& entry : engine().layout().parameters) {
      ends.push_back(entry.offset + entry.size);
    }
    return ends;
  }
  static std::vector<SampleRun> Runs(const GoldenCase& golden, int64_t rank, int64_t samples) {
    const int64_t global = golden.workers * golden.batch_per_worker;
    const int64_t steps_an_epoch = samples / global;
    std::vector<SampleRun> runs;
    for (int64_t step = 0; step < golden.steps; step += steps_an_epoch) {
      runs.push_back({.epoch = step / steps_an_epoch,
                      .first_position = rank,
                      .count = golden.batch_per_worker,
                      .stride = golden.workers,
                      .steps = std::min(steps_an_epoch, golden.steps - step),
                      .advance = global});
    }
    return runs;
  }

  worker::MemberState state_;
  worker::GradientReducer reducer_;
  Sampler sampler_;
  Batch batch_;
};

class Group {
 public:
  explicit Group(const GoldenCase& golden)
      : golden_(golden),
        train_(OpenDigits("train", golden.pixel_divisor)),
        orders_(golden.shuffle_seed, train_->size(), golden.shuffle),
        network_(
            std::move(LoopbackGroup::Make({.ranks = static_cast<int>(golden.workers)})).value()) {
    for (int64_t rank = 0; rank < golden.workers; ++rank) {
      members_.push_back(std::make_unique<Member>(golden, rank, train_->size(), &orders_));
    }
  }

  Member& member(int64_t rank) { return *members_[static_cast<size_t>(rank)]; }

  // Returns the mean over steps and members of the batch loss. Without feedback residuals are
  // dropped after each step.
  double RunRound(int64_t start, int64_t length, bool feedback = true) {
    double losses = 0;
    for (int64_t step = start; step < start + length; ++step) {
      for (const auto& member : members_) losses += member->ComputeGradient(*train_, step);
      const auto statuses = network_->Run([&](Communicator& group) {
        return member(group.rank()).ReduceAndStep(step, GoldenRate(golden_, step), &group);
      });
      for (const absl::Status& status : statuses) EXPECT_OK(status);
      for (const auto& member : members_) {
        const DeviceSpan<float> residual = member->feedback().residual();
        if (!feedback) std::fill(residual.data, residual.data + residual.size, 0.0f);
      }
    }
    return losses / static_cast<double>(length * golden_.workers);
  }

  double ResidualNorm() {
    double sum = 0;
    for (const auto& member : members_) sum += member->feedback().NormSquared().value();
    return sum;
  }

  std::vector<float> Parameters(int64_t rank) {
    const DeviceSpan<float> span = member(rank).engine().parameters();
    return {span.data, span.data + span.size};
  }

 private:
  const GoldenCase& golden_;
  const std::unique_ptr<Dataset> train_;
  EpochOrders orders_;
  const std::unique_ptr<LoopbackGroup> network_;
  std::vector<std::unique_ptr<Member>> members_;
};

void ExpectGoldenRounds(const GoldenCase& golden, Group* group) {
  for (size_t round = 0; round < golden.starts.size(); ++round) {
    SCOPED_TRACE("round " + std::to_string(round));
    const double loss = group->RunRound(golden.starts[round], golden.lengths[round]);
    EXPECT_LE(RelativeDifference(loss, golden.train_losses[round]), golden.tolerance.train_loss);
    ASSERT_OK_AND_ASSIGN(const Norm norm, ComputeNorm(group->member(0).engine().parameters()));
    EXPECT_LE(RelativeDifference(norm.squared, golden.param_sqnorms[round]),
              golden.tolerance.param_sqnorm);
    EXPECT_LE(RelativeDifference(group->ResidualNorm(), golden.residual_sqnorms[round]),
              golden.tolerance.residual_sqnorm);
  }
}

void ExpectGoldenEnd(const GoldenCase& golden, Group* group) {
  ASSERT_OK_AND_ASSIGN(const std::vector<float> init, LoadFlat(golden.init_path));
  ASSERT_OK_AND_ASSIGN(const std::vector<float> expected, LoadFlat(golden.final_path));
  EXPECT_LE(ParameterDifference(group->Parameters(0), expected, init),
            golden.tolerance.final_params);
  const std::unique_ptr<Dataset> test = OpenDigits("test", golden.pixel_divisor);
  std::vector<int64_t> all(static_cast<size_t>(test->size()));
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int64_t>(i);
  Batch batch;
  test->Load(all, &batch);
  ASSERT_OK_AND_ASSIGN(const Evaluation evaluation, group->member(0).engine().Evaluate(batch));
  const auto count = static_cast<double>(evaluation.count);
  EXPECT_LE(RelativeDifference(evaluation.loss_sum / count, golden.test_loss),
            golden.tolerance.test_loss);
  EXPECT_LE(std::abs(static_cast<double>(evaluation.correct) / count - golden.test_accuracy),
            golden.tolerance.test_accuracy);
}

class SparseGoldenTest : public testing::TestWithParam<const char*> {};

TEST_P(SparseGoldenTest, FollowsPyTorchsTrajectoryWithTheSameBitsOnEveryMember) {
  ASSERT_OK_AND_ASSIGN(const GoldenCase golden, LoadGoldenCase(kCases, GetParam()));
  Group group(golden);
  ExpectGoldenRounds(golden, &group);
  ExpectGoldenEnd(golden, &group);
  for (int64_t rank = 1; rank < golden.workers; ++rank) {
    EXPECT_EQ(group.Parameters(rank), group.Parameters(0));
  }
}

// The control: what is not selected is lost, and the loss shows it.
TEST_P(SparseGoldenTest, WithoutErrorFeedbackTrainingFallsBehind) {
  ASSERT_OK_AND_ASSIGN(const GoldenCase golden, LoadGoldenCase(kCases, GetParam()));
  Group group(golden);
  double loss = 0;
  for (size_t round = 0; round < golden.starts.size(); ++round) {
    loss = group.RunRound(golden.starts[round], golden.lengths[round], /*feedback=*/false);
  }
  EXPECT_GT(loss, 1.5 * golden.train_losses.back());
}

INSTANTIATE_TEST_SUITE_P(Case, SparseGoldenTest, testing::Values("s1", "s2"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace rondo
