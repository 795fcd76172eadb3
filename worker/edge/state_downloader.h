// Fetches checkpoint files by GetState, or reads them where all processes share a folder.
#ifndef RONDO_WORKER_EDGE_STATE_DOWNLOADER_H_
#define RONDO_WORKER_EDGE_STATE_DOWNLOADER_H_

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "proto/rondo/v1/training.pb.h"
#include "worker/core/messages.h"
#include "worker/edge/transfer_retry.h"
#include "worker/runtime/parts.h"

namespace rondo::worker {

struct DownloaderOptions {
  std::string worker;
  std::string temporary_dir;  // Of this process alone; made when first needed.
  std::function<std::shared_ptr<grpc::Channel>()> channel;
  // Those of the last Welcome's job. The folder is that of this job's checkpoints
  // (common/checkpoint_files); empty: files come through the coordinator.
  std::function<std::string()> job_id;
  std::function<std::string()> shared_root;
  RetryOptions retry;
};

// Threads: one at a time. The coordinator says size and SHA-256, by the checkpoint's manifest, also
// of files that are read from the shared folder.
class StateDownloader final : public StateSource {
 public:
  explicit StateDownloader(DownloaderOptions options) : options_(std::move(options)) {}

  absl::StatusOr<std::string> Get(uint64_t step, StateFile file, const StopCheck& stop) override;

 private:
  absl::StatusOr<std::string> TryOnce(uint64_t step, StateFile file, const StopCheck& stop);
  absl::StatusOr<std::string> Store(const v1::StateHeader& header, const StopCheck& stop,
                                    grpc::ClientReader<v1::StateChunk>* reader) const;

  const DownloaderOptions options_;
};

}  // namespace rondo::worker

#endif  // RONDO_WORKER_EDGE_STATE_DOWNLOADER_H_
