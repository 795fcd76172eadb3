#include "worker/edge/state_uploader.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "common/sha256.h"
#include "common/status_macros.h"
#include "proto/rondo/v1/training.grpc.pb.h"
#include "proto/rondo/v1/training.pb.h"
#include "worker/edge/training_codec.h"

namespace rondo::worker {
namespace {

constexpr size_t kChunkBytes = size_t{1} << 20;

// Removes the file when it goes.
class Remover {
 public:
  explicit Remover(std::string path) : path_(std::move(path)) {}
  ~Remover() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  Remover(const Remover&) = delete;
  Remover& operator=(const Remover&) = delete;

 private:
  const std::string path_;
};

absl::Status Stream(const std::string& path, v1::StateChunk* chunk,
                    grpc::ClientWriter<v1::StateChunk>* writer) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::InternalError(fmt::format("{} cannot be opened", path));
  if (!writer->Write(*chunk)) return absl::OkStatus();  // Finish says why.
  std::string bytes(kChunkBytes, '\0');
  while (file.read(bytes.data(), static_cast<std::streamsize>(bytes.size())), file.gcount() > 0) {
    chunk->set_data(bytes.data(), static_cast<size_t>(file.gcount()));
    if (!writer->Write(*chunk)) return absl::OkStatus();
  }
  writer->WritesDone();
  return absl::OkStatus();
}

}  // namespace

std::string StateUploader::TemporaryPath(StateFile file) {
  std::error_code ignored;  // Writing the file says what is wrong.
  std::filesystem::create_directories(options_.temporary_dir, ignored);
  const std::string& name = v1::StateFile_Name(EncodeStateFile(file));
  return (std::filesystem::path(options_.temporary_dir) / (name + ".safetensors")).string();
}

absl::StatusOr<SavedFile> StateUploader::Put(uint64_t step, StateFile file, const std::string& path,
                                             const StopCheck& stop) {
  v1::StateHeader header;
  header.set_step(step);
  return Upload(std::move(header), file, path, Patience::kAlways, stop);
}

absl::Status StateUploader::PutPartial(const PartialId& id, const std::string& path,
                                       const StopCheck& stop) {
  v1::StateHeader header;
  header.set_step(id.step);
  header.set_round(id.round.value);
  header.set_members(id.members);
  return Upload(std::move(header), StateFile::kPartial, path, Patience::kWhileFull, stop).status();
}

absl::StatusOr<SavedFile> StateUploader::Upload(v1::StateHeader header, StateFile file,
                                                const std::string& path, Patience patience,
                                                const StopCheck& stop) {
  const Remover remover(path);
  ASSIGN_OR_RETURN(const std::string sha256, Sha256HexOfFile(path));
  std::error_code error;
  const uint64_t size = std::filesystem::file_size(path, error);
  if (error) return absl::InternalError(fmt::format("{}: {}", path, error.message()));
  header.set_worker(options_.worker);
  header.set_incarnation(options_.incarnation.value);
  header.set_file(EncodeStateFile(file));
  header.set_size(size);
  header.set_sha256(sha256);
  RETURN_IF_ERROR(
      RetryTransfer(options_.retry, patience, stop, [&] { return TryOnce(header, path); }));
  return SavedFile{file, size, sha256};
}

absl::Status StateUploader::TryOnce(v1::StateHeader header, const std::string& path) {
  const std::shared_ptr<grpc::Channel> channel = options_.channel();
  if (channel == nullptr) return absl::UnavailableError("there is no coordinator to hand it to");
  header.set_job_id(options_.job_id());
  header.set_term(options_.term().value);
  v1::StateChunk chunk;
  *chunk.mutable_header() = header;
  const std::unique_ptr<v1::Training::Stub> stub = v1::Training::NewStub(channel);
  grpc::ClientContext context;
  v1::PutStateReply reply;
  const std::unique_ptr<grpc::ClientWriter<v1::StateChunk>> writer =
      stub->PutState(&context, &reply);
  const absl::Status read = Stream(path, &chunk, writer.get());
  if (!read.ok()) context.TryCancel();
  const grpc::Status status = writer->Finish();
  RETURN_IF_ERROR(read);
  RETURN_IF_ERROR(
      FromTransfer(status, fmt::format("the coordinator did not take {} of step {}",
                                       v1::StateFile_Name(header.file()), header.step())));
  if (reply.size() == header.size() && reply.sha256() == header.sha256()) return absl::OkStatus();
  return absl::DataLossError(
      fmt::format("the coordinator got {} bytes with SHA-256 {}, sent were {} with {}",
                  reply.size(), reply.sha256(), header.size(), header.sha256()));
}

}  // namespace rondo::worker
