// Hands checkpoint files in by PutState.
#ifndef RONDO_WORKER_EDGE_STATE_UPLOADER_H_
#define RONDO_WORKER_EDGE_STATE_UPLOADER_H_

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/ids.h"
#include "proto/rondo/v1/training.pb.h"
#include "worker/core/messages.h"
#include "worker/edge/transfer_retry.h"
#include "worker/runtime/parts.h"

namespace rondo::worker {

struct UploaderOptions {
  std::string worker;
  Incarnation incarnation;
  std::string temporary_dir;  // Of this process alone; made when first needed.
  std::function<std::shared_ptr<grpc::Channel>()> channel;
  // Those of the last Welcome.
  std::function<std::string()> job_id;
  std::function<Term()> term;
  RetryOptions retry;
};

// Threads: one at a time. Files go in chunks of 1 MiB on a stream of their own.
class StateUploader final : public StateSink {
 public:
  explicit StateUploader(UploaderOptions options) : options_(std::move(options)) {}

  std::string TemporaryPath(StateFile file) override;
  absl::StatusOr<SavedFile> Put(uint64_t step, StateFile file, const std::string& path,
                                const StopCheck& stop) override;
  absl::Status PutPartial(const PartialId& id, const std::string& path,
                          const StopCheck& stop) override;

 private:
  // `header`: all but what the file itself and the job say.
  absl::StatusOr<SavedFile> Upload(v1::StateHeader header, StateFile file, const std::string& path,
                                   Patience patience, const StopCheck& stop);
  absl::Status TryOnce(v1::StateHeader header, const std::string& path);

  const UploaderOptions options_;
};

}  // namespace rondo::worker

#endif  // RONDO_WORKER_EDGE_STATE_UPLOADER_H_
