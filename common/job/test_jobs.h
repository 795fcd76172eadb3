// Job files for tests: a complete one, and ways to change it.
#ifndef RONDO_COMMON_JOB_TEST_JOBS_H_
#define RONDO_COMMON_JOB_TEST_JOBS_H_

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace rondo {

// Every section; lines are numbered in the comments that tests rely on.
inline constexpr std::string_view kWholeJob = R"(name: digits-qsr
seed: 1
model: {builtin: mlp, layers: [64, 128, 64, 10]}
loss: cross_entropy
data:
  format: idx
  train: {images: train-images-idx3-ubyte, labels: train-labels-idx1-ubyte}
  test: {images: test-images-idx3-ubyte, labels: test-labels-idx1-ubyte}
  divisor: 16
  shuffle: true
batch: {global: 64, micro: 0}
optimizer: {kind: sgd, momentum: 0.9, nesterov: false, weight_decay: 1e-4, no_decay: [bias], clip_norm: 0}
schedule: {kind: cosine, epochs: 20, peak: 0.1, final: 1e-6, warmup_steps: 50}
sync: {policy: qsr, alpha: 0.02, base_steps: 2, max_steps: 0}
collective: {kind: ring}
state: {optimizer: local, buffers: average}
workers: {min: 2, max: 16, wait_seconds: 30}
checkpoint: {every_steps: 0, keep: 3}
evaluate: {every_epochs: 1}
)";

// The whole job with the first `from` replaced by `to`.
inline std::string JobWith(std::string_view from, std::string_view to) {
  std::string text(kWholeJob);
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

}  // namespace rondo

#endif  // RONDO_COMMON_JOB_TEST_JOBS_H_
