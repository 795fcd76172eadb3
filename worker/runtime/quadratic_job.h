// For tests: a model whose training can be computed by hand. The loss of a sample x is
// |w - x|^2 / 2, so the gradient of a batch is w - mean(x). Its parameters are two tensors, "head"
// and "tail", of which the tail may take no part. The float buffer counts the samples
// seen, the integer buffer the batches.
#ifndef RONDO_WORKER_RUNTIME_QUADRATIC_JOB_H_
#define RONDO_WORKER_RUNTIME_QUADRATIC_JOB_H_

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "worker/collectives/sparse/sparse_allreduce.h"
#include "worker/data/dataset.h"
#include "worker/engine/engine.h"
#include "worker/engine/layout.h"
#include "worker/engine/optimizer.h"
#include "worker/runtime/parts.h"

namespace rondo::worker {

inline constexpr int64_t kWidth = 7;
inline constexpr int64_t kHead = 4;
inline constexpr int64_t kSamples = 240;

// Sample i is the vector ((i * 37 + d * 11) mod 101) / 101, d = 0..kWidth-1.
class QuadraticData final : public Dataset {
 public:
  int64_t size() const override { return kSamples; }
  const std::vector<int64_t>& input_shape() const override { return shape_; }
  const std::vector<int64_t>& target_shape() const override { return none_; }
  ElementType input_type() const override { return ElementType::kFloat32; }
  ElementType target_type() const override { return ElementType::kFloat32; }
  int64_t class_count() const override { return 0; }
  std::vector<std::string> files() const override { return {}; }
  void Load(std::span<const int64_t> samples, Batch* batch) const override {
    batch->size = static_cast<int64_t>(samples.size());
    batch->samples.assign(samples.begin(), samples.end());
    batch->inputs.floats.clear();
    for (const int64_t sample : samples) {
      for (int64_t d = 0; d < kWidth; ++d) {
        batch->inputs.floats.push_back(static_cast<float>((sample * 37 + d * 11) % 101) / 101.0f);
      }
    }
  }

 private:
  const std::vector<int64_t> shape_{kWidth};
  const std::vector<int64_t> none_ = {};
};

class QuadraticEngine final : public Engine {
 public:
  // In step `spoiled_step` the gradient is not finite. Without `tail_used` the tail never has one.
  QuadraticEngine(int64_t spoiled_step, bool tail_used)
      : spoiled_step_(spoiled_step), has_gradient_{1, tail_used ? uint8_t{1} : uint8_t{0}} {
    Layout::Append(&layout_.parameters, "head", {kHead});
    Layout::Append(&layout_.parameters, "tail", {kWidth - kHead});
    Layout::Append(&layout_.float_buffers, "seen", {1});
    Layout::Append(&layout_.integer_buffers, "batches", {1});
  }
  const Layout& layout() const override { return layout_; }
  DeviceSpan<float> parameters() override { return {w_.data(), kWidth}; }
  DeviceSpan<float> gradients() override { return {g_.data(), kWidth}; }
  DeviceSpan<float> float_buffers() override { return {&seen_, 1}; }
  std::span<int64_t> integer_buffers() override { return {&batches_, 1}; }
  std::span<const uint8_t> has_gradient() const override { return has_gradient_; }

  absl::StatusOr<GradientResult> ComputeGradient(const Batch& batch, int64_t step) override {
    GradientResult result{.loss = Loss(batch) / batch.size, .samples = batch.size};
    for (int64_t d = 0; d < kWidth; ++d) {
      float mean = 0;
      for (int64_t i = 0; i < batch.size; ++i) mean += batch.inputs.floats[i * kWidth + d];
      const bool used = has_gradient_[d < kHead ? 0 : 1] != 0;
      g_[d] = used ? w_[d] - mean / static_cast<float>(batch.size) : 0.0f;
    }
    if (step == spoiled_step_) {
      g_[0] = std::numeric_limits<float>::quiet_NaN();
      result.finite = false;
    }
    seen_ += static_cast<float>(batch.size);
    ++batches_;
    return result;
  }
  absl::StatusOr<Evaluation> Evaluate(const Batch& batch) override {
    return Evaluation{.loss_sum = Loss(batch), .correct = 1, .count = batch.size};
  }

 private:
  double Loss(const Batch& batch) const {
    double loss = 0;
    for (size_t i = 0; i < batch.inputs.floats.size(); ++i) {
      const double difference = w_[i % kWidth] - batch.inputs.floats[i];
      loss += difference * difference / 2;
    }
    return loss;
  }

  const int64_t spoiled_step_;
  Layout layout_;
  std::vector<float> w_ = std::vector<float>(kWidth, 3.0f);
  std::vector<float> g_ = std::vector<float>(kWidth, 0.0f);
  const std::vector<uint8_t> has_gradient_;
  float seen_ = 0;
  int64_t batches_ = 0;
};

struct QuadraticOptions {
  OptimizerOptions optimizer = {.kind = OptimizerKind::kSgd, .momentum = 0.5};
  StatePolicy policy = StatePolicy::kLocal;
  int64_t spoiled_step = -1;
  float initial = 3.0f;
  bool tail_used = true;
  uint64_t partial_every = 0;
  SparseSelect select = SparseSelect::kExact;
};

inline LoadedJob MakeQuadraticJob(const QuadraticOptions& options) {
  LoadedJob job;
  job.spec.job_id = "quadratic-0000000000000001";
  job.spec.optimizer = options.optimizer;
  job.spec.state_policy = options.policy;
  job.spec.shuffle = false;
  job.spec.partial_every = options.partial_every;
  job.spec.select = options.select;
  job.engine = std::make_unique<QuadraticEngine>(options.spoiled_step, options.tail_used);
  for (int64_t d = 0; d < kWidth; ++d) job.engine->parameters().data[d] = options.initial;
  job.optimizer = rondo::Optimizer::Create(options.optimizer, job.engine->layout()).value();
  job.train = std::make_shared<QuadraticData>();
  job.test = std::make_shared<QuadraticData>();
  job.facts.parameters = kWidth;
  return job;
}

}  // namespace rondo::worker

#endif  // RONDO_WORKER_RUNTIME_QUADRATIC_JOB_H_
