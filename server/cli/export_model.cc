#include "server/cli/export_model.h"

#include <fmt/format.h>

#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/file_kind.h"
#include "common/safetensors.h"
#include "common/sha256.h"
#include "common/status_macros.h"
#include "server/core/messages.h"
#include "server/edge/checkpoint_store.h"

namespace rondo::cli {
namespace {

using server::CheckpointStore;
using server::StoredFile;

// A tensor and the memory it borrows.
struct OwnedTensor {
  SafetensorsTensor tensor;
  std::vector<std::byte> bytes;
};

absl::Status CheckAgainstManifest(const StoredFile& file) {
  ASSIGN_OR_RETURN(const FileIdentity found, IdentifyFile(file.path, INT64_MAX));
  if (static_cast<uint64_t>(found.size_bytes) == file.size && found.sha256 == file.sha256) {
    return absl::OkStatus();
  }
  return absl::DataLossError(fmt::format(
      "{} is damaged: the manifest says {} bytes with SHA-256 {}, the file has {} bytes with {}; "
      "export an older step with --step",
      file.path, file.size, file.sha256, found.size_bytes, found.sha256));
}

absl::StatusOr<SafetensorsType> TypeOf(const std::string& path, const SafetensorsEntry& entry) {
  for (SafetensorsType type : {SafetensorsType::kF32, SafetensorsType::kF64, SafetensorsType::kI64,
                               SafetensorsType::kU8}) {
    if (SafetensorsTypeName(type) == entry.dtype) return type;
  }
  return absl::DataLossError(fmt::format("{}: tensor '{}' has type {}, which no checkpoint holds",
                                         path, entry.name, entry.dtype));
}

absl::Status AppendTensors(const StoredFile& file, std::vector<OwnedTensor>* tensors) {
  RETURN_IF_ERROR(CheckAgainstManifest(file));
  ASSIGN_OR_RETURN(const SafetensorsHeader header, ReadSafetensorsHeader(file.path));
  for (const SafetensorsEntry& entry : header.entries) {
    ASSIGN_OR_RETURN(const SafetensorsType type, TypeOf(file.path, entry));
    OwnedTensor owned;
    owned.bytes.resize(entry.end - entry.begin);
    RETURN_IF_ERROR(ReadSafetensorsData(file.path, header, entry, type, owned.bytes.data()));
    owned.tensor = {entry.name, type, entry.shape, owned.bytes.data()};
    tensors->push_back(std::move(owned));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ExportModel(const std::string& state_dir, std::optional<uint64_t> step,
                         const std::string& out) {
  if (const std::string_view kind = UnusualFileKind(out); !kind.empty()) {
    return absl::InvalidArgumentError(
        fmt::format("{} is {}, which the model does not replace; name a file", out, kind));
  }
  const CheckpointStore store(state_dir + "/checkpoints", /*job_id=*/"", /*keep=*/1);
  const uint64_t wanted = step.value_or(0);
  std::vector<OwnedTensor> owned;
  ASSIGN_OR_RETURN(const StoredFile parameters,
                   store.Find({.step = wanted, .file = StateFile::kParameters, .worker = ""}));
  RETURN_IF_ERROR(AppendTensors(parameters, &owned));
  const absl::StatusOr<StoredFile> buffers =
      store.Find({.step = wanted, .file = StateFile::kBuffers, .worker = ""});
  // A model without buffers has no such file.
  if (buffers.ok()) {
    RETURN_IF_ERROR(AppendTensors(*buffers, &owned));
  } else if (!absl::IsNotFound(buffers.status())) {
    return buffers.status();
  }
  std::vector<SafetensorsTensor> tensors;
  for (const OwnedTensor& each : owned) tensors.push_back(each.tensor);
  return WriteSafetensors(out, tensors, {{"format", "pt"}});
}

}  // namespace rondo::cli
