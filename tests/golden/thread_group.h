// For tests: the members of a job on the digits in one process, connected over loopback: engine,
// optimizer, reductions and residuals as a worker's loop has them.
#ifndef RONDO_TESTS_GOLDEN_THREAD_GROUP_H_
#define RONDO_TESTS_GOLDEN_THREAD_GROUP_H_

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/status_macros.h"
#include "common/status_matchers.h"
#include "kernels/span.h"
#include "tests/golden/golden_case.h"
#include "tests/golden/golden_digits.h"
#include "worker/collectives/communicator.h"
#include "worker/collectives/tcp/loopback_group.h"
#include "worker/core/messages.h"
#include "worker/core/permutation.h"
#include "worker/core/sampler.h"
#include "worker/data/batch.h"
#include "worker/data/dataset.h"
#include "worker/engine/create_engine.h"
#include "worker/engine/engine.h"
#include "worker/engine/layout.h"
#include "worker/engine/optimizer.h"
#include "worker/runtime/error_feedback.h"
#include "worker/runtime/gradient_reducer.h"
#include "worker/runtime/local_reduce.h"
#include "worker/runtime/mean_step.h"
#include "worker/runtime/member_state.h"

namespace rondo {

class GroupMember {
 public:
  GroupMember(const GoldenCase& golden, int64_t rank, int64_t samples, EpochOrders* orders)
      : state_(Make(golden), Optimize(golden), StatePolicy::kLocal),
        reducer_(state_.engine().parameters().size, Ends(), &state_.feedback()),
        sampler_(std::move(Sampler::Create(RunsOf(golden, rank, samples), golden.steps, orders))
                     .value()) {
    worker::Order order;
    order.mode = golden.parallel ? worker::Mode::kParallel : worker::Mode::kLocal;
    order.collective = golden.density > 0 ? worker::Collective::kSparse : worker::Collective::kRing;
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

  // A local round: what its steps change, they change in this member alone.
  void BeginLocalRound() { state_.KeepBase(); }
  void StepAlone(double rate) {
    EXPECT_OK(state_.optimizer().Step(engine().parameters(), engine().gradients(), rate,
                                      engine().has_gradient()));
  }
  // All members have the same weight.
  absl::Status ReduceLocalRound(uint64_t round, Clock* clock, Communicator* group) {
    worker::Reduce reduce;
    reduce.round = {round};
    for (int rank = 0; rank < group->size(); ++rank) {
      reduce.contributors.push_back({static_cast<uint32_t>(rank), 1});
    }
    RETURN_IF_ERROR(worker::ReduceLocal(reduce, absl::Seconds(60), clock, group, &state_).status());
    state_.CommitAll();
    return absl::OkStatus();
  }

 private:
  static std::unique_ptr<Engine> Make(const GoldenCase& golden) {
    EngineOptions options = OptionsOf(golden);
    options.init_path = golden.init_path;
    return std::move(CreateEngine(options)).value();
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
  worker::MemberState state_;
  worker::GradientReducer reducer_;
  Sampler sampler_;
  Batch batch_;
};

// K members that share a data set, each with its collective in a thread.
class ThreadGroup {
 public:
  explicit ThreadGroup(const GoldenCase& golden)
      : golden_(golden),
        train_(OpenDigits("train", golden.pixel_divisor)),
        orders_(golden.shuffle_seed, train_->size(), golden.shuffle),
        network_(
            std::move(LoopbackGroup::Make({.ranks = static_cast<int>(golden.workers)})).value()) {
    for (int64_t rank = 0; rank < golden.workers; ++rank) {
      members_.push_back(std::make_unique<GroupMember>(golden, rank, train_->size(), &orders_));
    }
  }

  GroupMember& member(int64_t rank) { return *members_[static_cast<size_t>(rank)]; }

  // Returns the mean over steps and members of the batch loss. Without feedback residuals are
  // dropped after each reduction.
  double RunRound(int64_t start, int64_t length, bool feedback = true) {
    const double losses = golden_.parallel ? RunParallelRound(start, length, feedback)
                                           : RunLocalRound(start, length, feedback);
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
  double RunParallelRound(int64_t start, int64_t length, bool feedback) {
    double losses = 0;
    for (int64_t step = start; step < start + length; ++step) {
      for (const auto& member : members_) losses += member->ComputeGradient(*train_, step);
      RunOnEach([&](Communicator& group) {
        return member(group.rank()).ReduceAndStep(step, GoldenRate(golden_, step), &group);
      });
      if (!feedback) DropResiduals();
    }
    return losses;
  }

  double RunLocalRound(int64_t start, int64_t length, bool feedback) {
    double losses = 0;
    for (const auto& member : members_) {
      member->BeginLocalRound();
      for (int64_t step = start; step < start + length; ++step) {
        losses += member->ComputeGradient(*train_, step);
        member->StepAlone(GoldenRate(golden_, step));
      }
    }
    ++local_rounds_;
    RunOnEach([&](Communicator& group) {
      return member(group.rank()).ReduceLocalRound(local_rounds_, &clock_, &group);
    });
    if (!feedback) DropResiduals();
    return losses;
  }

  void RunOnEach(const std::function<absl::Status(Communicator&)>& collective) {
    for (const absl::Status& status : network_->Run(collective)) EXPECT_OK(status);
  }

  void DropResiduals() {
    for (const auto& member : members_) {
      const DeviceSpan<float> residual = member->feedback().residual();
      std::fill(residual.data, residual.data + residual.size, 0.0f);
    }
  }

  const GoldenCase& golden_;
  const std::unique_ptr<Dataset> train_;
  EpochOrders orders_;
  const std::unique_ptr<LoopbackGroup> network_;
  std::vector<std::unique_ptr<GroupMember>> members_;
  FakeClock clock_;
  uint64_t local_rounds_ = 0;
};

}  // namespace rondo

#endif  // RONDO_TESTS_GOLDEN_THREAD_GROUP_H_
