// The cases of tests/golden/public (README.md there defines each quantity): settings, expected
// values, tolerances, and the measures by which a run is compared.
#ifndef RONDO_TESTS_GOLDEN_GOLDEN_CASE_H_
#define RONDO_TESTS_GOLDEN_GOLDEN_CASE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "worker/engine/optimizer.h"

namespace rondo {

struct GoldenCase {
  std::string name;
  std::string model;  // "mlp" or "convnet"
  uint64_t seed = 0;
  int64_t workers = 0, batch_per_worker = 0, steps = 0;
  bool shuffle = false;
  uint64_t shuffle_seed = 0;
  std::string schedule;  // "constant", "cosine" or "linear"
  double rate_peak = 0, rate_final = 0;
  int64_t warmup_steps = 0;
  OptimizerOptions optimizer;
  bool parallel = false;  // else local steps
  double density = 0;     // of a sparse collective; 0: dense
  double pixel_divisor = 1;

  // One entry a round.
  std::vector<int64_t> starts, lengths;
  std::vector<double> rates, train_losses, param_sqnorms;
  std::vector<double> residual_sqnorms;  // sparse: sums over workers
  double test_accuracy = 0, test_loss = 0;

  struct Tolerance {
    double rate, train_loss, param_sqnorm, test_loss, test_accuracy, final_params, residual_sqnorm;
  } tolerance = {};

  std::string init_path, final_path;  // safetensors
};

// Reads `folder`/NAME/{case,expected}.json. InvalidArgument, with the parser's message.
absl::StatusOr<GoldenCase> LoadGoldenCase(const std::string& folder, const std::string& name);

// The rate of step t, README.md "Learning rate".
double GoldenRate(const GoldenCase& golden, int64_t step);

// |value - reference| / |reference|.
double RelativeDifference(double value, double reference);

// |params - reference|_2 / |reference - init|_2.
double ParameterDifference(const std::vector<float>& params, const std::vector<float>& reference,
                           const std::vector<float>& init);

// All tensors of a safetensors file of float32, in the order of its data, as one vector.
absl::StatusOr<std::vector<float>> LoadFlat(const std::string& path);

}  // namespace rondo

#endif  // RONDO_TESTS_GOLDEN_GOLDEN_CASE_H_
