// A member's residual in its own files of a checkpoint (the local file, a partial): tensors
//   residual         F32 [n]
//   residual.agreed  I64, what collectives/sparse/sparse_agreed encodes
// and metadata residual_mode (parallel or local), residual_k. A member without a residual writes
// none of them.
#ifndef RONDO_WORKER_RUNTIME_FEEDBACK_FILE_H_
#define RONDO_WORKER_RUNTIME_FEEDBACK_FILE_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/safetensors.h"
#include "kernels/span.h"
#include "worker/runtime/error_feedback.h"

namespace rondo::worker {

// What is to be written. Borrows the residual.
class FeedbackTensors {
 public:
  explicit FeedbackTensors(ErrorFeedback* feedback);
  // The tensors point into the residual and into this object, which must outlive them.
  void AddTo(std::vector<SafetensorsTensor>* tensors,
             std::map<std::string, std::string>* metadata) const;

 private:
  DeviceSpan<const float> residual_;
  std::vector<int64_t> agreed_;
  std::map<std::string, std::string> metadata_;
};

// Whether a tensor of a file belongs to the residual.
bool IsFeedbackTensor(const SafetensorsEntry& entry);

// `feedback` becomes what the file at `path`, whose header is given, holds: the residual and what
// the members had agreed on, or zero when the file has none or its residual is not finite (rule
// 15). Agreed values of another version are left out: they are found afresh. Errors: DataLoss: the
// residual does not fit the model; else those of ReadSafetensorsData.
absl::Status ReadFeedback(const std::string& path, const SafetensorsHeader& header,
                          ErrorFeedback* feedback);

}  // namespace rondo::worker

#endif  // RONDO_WORKER_RUNTIME_FEEDBACK_FILE_H_
