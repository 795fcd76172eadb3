// What the runtime must know of the job, as plain values: edge/job_codec takes them from the frozen
// Job. Paths are relative to the folder that --files names.
#ifndef RONDO_WORKER_RUNTIME_TRAIN_SPEC_H_
#define RONDO_WORKER_RUNTIME_TRAIN_SPEC_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "worker/collectives/sparse/sparse_allreduce.h"
#include "worker/engine/optimizer.h"

namespace rondo::worker {

enum class Model { kMlp, kConvnet, kTorchScript };
enum class Loss { kCrossEntropy, kMse };
enum class DataFormat { kIdx, kNpy };

struct DataFiles {
  std::string inputs;
  std::string targets;
};

struct TrainSpec {
  std::string job_id;
  uint64_t seed = 0;
  Model model = Model::kMlp;
  std::vector<int64_t> layers;  // kMlp: inputs, hidden..., outputs.
  std::string torchscript;      // kTorchScript.
  std::string init;             // safetensors with the initial parameters; empty: from the seed.
  Loss loss = Loss::kCrossEntropy;
  int64_t micro = 0;  // Samples at once; 0: the whole batch.
  OptimizerOptions optimizer;
  StatePolicy state_policy = StatePolicy::kLocal;
  SparseSelect select = SparseSelect::kExact;  // Of sparse orders.
  DataFormat format = DataFormat::kIdx;
  DataFiles train;
  std::optional<DataFiles> test;
  double divisor = 1;
  bool shuffle = true;
  // Steps between two partials within a longer local round; 0: none.
  uint64_t partial_every = 0;
  std::string shared_dir;  // `checkpoint.shared_dir`; empty: files go to the coordinator.
};

}  // namespace rondo::worker

#endif  // RONDO_WORKER_RUNTIME_TRAIN_SPEC_H_
