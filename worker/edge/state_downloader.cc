#include "worker/edge/state_downloader.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "common/checkpoint_files.h"
#include "common/sha256.h"
#include "common/status_macros.h"
#include "proto/rondo/v1/training.grpc.pb.h"
#include "worker/edge/training_codec.h"

namespace rondo::worker {
namespace {

namespace fs = std::filesystem;

constexpr char kNotSent[] = "the coordinator did not send a checkpoint's file";

absl::Status CheckBytes(const std::string& path, uint64_t size, const std::string& sha256,
                        const v1::StateHeader& header) {
  if (size == header.size() && sha256 == header.sha256()) return absl::OkStatus();
  return absl::DataLossError(
      fmt::format("{} of step {} is damaged: {} has {} bytes with SHA-256 {}, the manifest says {} "
                  "bytes with {}",
                  v1::StateFile_Name(header.file()), header.step(), path, size, sha256,
                  header.size(), header.sha256()));
}

absl::StatusOr<std::string> CheckShared(std::string path, const v1::StateHeader& header) {
  std::error_code error;
  const uint64_t size = fs::file_size(path, error);
  if (error) {
    return absl::NotFoundError(
        fmt::format("{}: {}; is checkpoint.shared_dir the same folder for this worker?", path,
                    error.message()));
  }
  ASSIGN_OR_RETURN(const std::string sha256, Sha256HexOfFile(path));
  RETURN_IF_ERROR(CheckBytes(path, size, sha256, header));
  return path;
}

}  // namespace

absl::StatusOr<std::string> StateDownloader::Get(uint64_t step, StateFile file,
                                                 const StopCheck& stop) {
  std::string path;
  RETURN_IF_ERROR(RetryTransfer(options_.retry, Patience::kAlways, stop, [&]() -> absl::Status {
    ASSIGN_OR_RETURN(path, TryOnce(step, file, stop));
    return absl::OkStatus();
  }));
  return path;
}

absl::StatusOr<std::string> StateDownloader::TryOnce(uint64_t step, StateFile file,
                                                     const StopCheck& stop) {
  const std::shared_ptr<grpc::Channel> channel = options_.channel();
  if (channel == nullptr) return absl::UnavailableError("there is no coordinator to ask for it");
  const std::string shared_root = options_.shared_root();
  v1::GetStateRequest request;
  request.set_job_id(options_.job_id());
  request.set_step(step);
  request.set_file(EncodeStateFile(file));
  if (file == StateFile::kLocal || file == StateFile::kPartial) request.set_worker(options_.worker);
  // Partials always go through the coordinator.
  const bool shared = !shared_root.empty() && file != StateFile::kPartial;
  request.set_header_only(shared);
  grpc::ClientContext context;
  const std::unique_ptr<v1::Training::Stub> stub = v1::Training::NewStub(channel);
  const std::unique_ptr<grpc::ClientReader<v1::StateChunk>> reader =
      stub->GetState(&context, request);
  v1::StateChunk chunk;
  const bool came = reader->Read(&chunk);
  if (!came || !chunk.has_header()) {
    if (came) context.TryCancel();
    RETURN_IF_ERROR(FromTransfer(reader->Finish(), kNotSent));
    return absl::UnavailableError("the coordinator's answer to GetState has no header");
  }
  const v1::StateHeader header = chunk.header();
  if (shared) {
    RETURN_IF_ERROR(FromTransfer(reader->Finish(), kNotSent));
    return CheckShared(
        fmt::format("{}/{}", StepFolder(shared_root, step), StateFileName(file, options_.worker)),
        header);
  }
  absl::StatusOr<std::string> stored = Store(header, stop, reader.get());
  if (!stored.ok()) context.TryCancel();
  const grpc::Status status = reader->Finish();
  RETURN_IF_ERROR(stored.status());
  RETURN_IF_ERROR(FromTransfer(status, kNotSent));
  std::error_code error;
  if (fs::file_size(*stored, error) == header.size() && !error) return stored;
  return absl::DataLossError(
      fmt::format("{} of step {} came in part only", v1::StateFile_Name(header.file()), step));
}

absl::StatusOr<std::string> StateDownloader::Store(
    const v1::StateHeader& header, const StopCheck& stop,
    grpc::ClientReader<v1::StateChunk>* reader) const {
  std::error_code error;
  fs::create_directories(options_.temporary_dir, error);
  const std::string path =
      (fs::path(options_.temporary_dir) / (v1::StateFile_Name(header.file()) + ".fetched"))
          .string();
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  Sha256 hash;
  uint64_t size = 0;
  v1::StateChunk chunk;
  while (reader->Read(&chunk)) {
    if (stop()) return absl::AbortedError("the group was left");
    hash.Update(chunk.data());
    size += chunk.data().size();
    out.write(chunk.data().data(), static_cast<std::streamsize>(chunk.data().size()));
    if (!out) break;
  }
  out.close();
  if (!out) {
    return absl::InternalError(
        fmt::format("{} cannot be written: is there room for a checkpoint's file?", path));
  }
  const std::string sha256 = hash.HexDigest();
  // A broken stream is the coordinator's fault, not the file's: Finish says so.
  if (size < header.size()) return path;
  RETURN_IF_ERROR(CheckBytes("what came", size, sha256, header));
  return path;
}

}  // namespace rondo::worker
