#include "server/edge/state_transfer.h"

#include <fmt/format.h>

#include <cstdint>
#include <fstream>
#include <memory>
#include <optional>

#include "absl/status/statusor.h"
#include "common/status_macros.h"
#include "server/core/messages.h"
#include "server/edge/state_file_codec.h"

namespace rondo::server {
namespace {

constexpr size_t kChunkBytesMax = size_t{1} << 20;

absl::StatusOr<StateFile> ParseFile(v1::StateFile file) {
  if (const std::optional<StateFile> kind = StateFileOf(file)) return *kind;
  return absl::InvalidArgumentError(
      fmt::format("state file kind {} is not one of PARAMETERS, BUFFERS, LOCAL, PARTIAL",
                  static_cast<int>(file)));
}

absl::Status CheckJob(const std::string& given, const std::string& job_id) {
  if (given == job_id) return absl::OkStatus();
  return absl::FailedPreconditionError(
      fmt::format("this coordinator runs job '{}', not '{}'", job_id, given));
}

absl::StatusOr<std::unique_ptr<StateUpload>> BeginUpload(StateFile file,
                                                         const v1::StateHeader& header,
                                                         CheckpointStore* store) {
  if (file != StateFile::kPartial) {
    return store->Begin({header.step(), file, header.worker()}, header.size(), header.sha256());
  }
  return store->partials().Begin(
      {{header.round()}, header.step(), header.worker(), header.members()}, header.size(),
      header.sha256());
}

absl::StatusOr<StoredFile> FindFile(StateFile file, const v1::GetStateRequest& request,
                                    CheckpointStore* store) {
  if (file == StateFile::kPartial) return store->partials().Find(request.step(), request.worker());
  return store->Find({request.step(), file, request.worker()});
}

absl::Status Receive(const std::string& job_id, CheckpointStore* store,
                     grpc::ServerReader<v1::StateChunk>* reader, v1::PutStateReply* reply) {
  v1::StateChunk chunk;
  if (!reader->Read(&chunk) || !chunk.has_header()) {
    return absl::InvalidArgumentError("PutState must begin with a header");
  }
  const v1::StateHeader header = chunk.header();
  RETURN_IF_ERROR(CheckJob(header.job_id(), job_id));
  ASSIGN_OR_RETURN(const StateFile file, ParseFile(header.file()));
  ASSIGN_OR_RETURN(const std::unique_ptr<StateUpload> upload, BeginUpload(file, header, store));
  while (reader->Read(&chunk)) {
    if (chunk.part_case() != v1::StateChunk::kData) {
      return absl::InvalidArgumentError("PutState takes one header, then data only");
    }
    if (chunk.data().size() > kChunkBytesMax) {
      return absl::InvalidArgumentError(fmt::format("a chunk of {} bytes is above the limit of {}",
                                                    chunk.data().size(), kChunkBytesMax));
    }
    RETURN_IF_ERROR(upload->Append(chunk.data()));
  }
  ASSIGN_OR_RETURN(const StoredFile stored, upload->Finish());
  reply->set_size(stored.size);
  reply->set_sha256(stored.sha256);
  return absl::OkStatus();
}

}  // namespace

absl::Status ReceiveStateFile(const std::string& job_id, CheckpointStore* store,
                              grpc::ServerReader<v1::StateChunk>* reader,
                              v1::PutStateReply* reply) {
  absl::Status status = Receive(job_id, store, reader, reply);
  return absl::IsUnavailable(status) ? absl::InternalError(status.message()) : status;
}

absl::Status SendStateFile(const std::string& job_id, CheckpointStore* store,
                           const v1::GetStateRequest& request,
                           grpc::ServerWriter<v1::StateChunk>* writer) {
  RETURN_IF_ERROR(CheckJob(request.job_id(), job_id));
  ASSIGN_OR_RETURN(const StateFile file, ParseFile(request.file()));
  ASSIGN_OR_RETURN(const StoredFile stored, FindFile(file, request, store));
  std::ifstream stream(stored.path, std::ios::binary);
  v1::StateChunk chunk;
  v1::StateHeader* header = chunk.mutable_header();
  header->set_job_id(job_id);
  header->set_worker(request.worker());
  header->set_step(request.step());
  header->set_file(request.file());
  header->set_size(stored.size);
  header->set_sha256(stored.sha256);
  if (!writer->Write(chunk)) return absl::CancelledError("the reader left");
  if (request.header_only()) return absl::OkStatus();
  std::string bytes(kChunkBytesMax, '\0');
  uint64_t sent = 0;
  while (stream.read(bytes.data(), static_cast<std::streamsize>(bytes.size())),
         stream.gcount() > 0) {
    sent += static_cast<uint64_t>(stream.gcount());
    chunk.set_data(bytes.data(), static_cast<size_t>(stream.gcount()));
    if (!writer->Write(chunk)) return absl::CancelledError("the reader left");
  }
  if (sent == stored.size) return absl::OkStatus();
  return absl::DataLossError(
      fmt::format("{} has {} bytes, its manifest says {}", stored.path, sent, stored.size));
}

}  // namespace rondo::server
