// One state file on its way to the coordinator's disk.
#ifndef RONDO_SERVER_EDGE_STATE_UPLOAD_H_
#define RONDO_SERVER_EDGE_STATE_UPLOAD_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/atomic_file.h"
#include "common/sha256.h"

namespace rondo::server {

struct StoredFile {
  std::string path;
  uint64_t size = 0;
  std::string sha256;
};

// Threads: one. Dropped before Finish: nothing stays.
class StateUpload {
 public:
  // `announced`: what is to come. `arrived` is called once it is on disk; its error is Finish's.
  // Errors: InvalidArgument for a hash that is none.
  static absl::StatusOr<std::unique_ptr<StateUpload>> Create(
      StoredFile announced, std::function<absl::Status(const StoredFile&)> arrived);

  // Errors: InvalidArgument when more arrives than was announced.
  absl::Status Append(std::string_view bytes);
  // Checks size and hash, makes the file durable. Errors: DataLoss names what differs; Unavailable
  // names the disk's reason.
  absl::StatusOr<StoredFile> Finish();

 private:
  StateUpload(StoredFile announced, std::function<absl::Status(const StoredFile&)> arrived);

  const StoredFile announced_;
  const std::function<absl::Status(const StoredFile&)> arrived_;
  AtomicFile file_;
  Sha256 hash_;
  uint64_t received_ = 0;
};

}  // namespace rondo::server

#endif  // RONDO_SERVER_EDGE_STATE_UPLOAD_H_
