#include "server/edge/state_upload.h"

#include <fmt/format.h>

#include <utility>

#include "common/status_macros.h"

namespace rondo::server {
namespace {

bool IsSha256(const std::string& text) {
  return text.size() == 64 && text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

}  // namespace

absl::StatusOr<std::unique_ptr<StateUpload>> StateUpload::Create(
    StoredFile announced, std::function<absl::Status(const StoredFile&)> arrived) {
  if (!IsSha256(announced.sha256)) {
    return absl::InvalidArgumentError(
        fmt::format("{}: its SHA-256 must be 64 lower-case hexadecimal digits", announced.path));
  }
  return std::unique_ptr<StateUpload>(new StateUpload(std::move(announced), std::move(arrived)));
}

StateUpload::StateUpload(StoredFile announced,
                         std::function<absl::Status(const StoredFile&)> arrived)
    : announced_(std::move(announced)), arrived_(std::move(arrived)), file_(announced_.path) {}

absl::Status StateUpload::Append(std::string_view bytes) {
  received_ += bytes.size();
  if (received_ > announced_.size) {
    return absl::InvalidArgumentError(
        fmt::format("{}: {} bytes were announced and more came", announced_.path, announced_.size));
  }
  hash_.Update(bytes);
  file_.Append(bytes.data(), bytes.size());
  return absl::OkStatus();
}

absl::StatusOr<StoredFile> StateUpload::Finish() {
  if (received_ != announced_.size) {
    return absl::DataLossError(fmt::format("{}: {} bytes were announced and {} came",
                                           announced_.path, announced_.size, received_));
  }
  if (const std::string sha256 = hash_.HexDigest(); sha256 != announced_.sha256) {
    return absl::DataLossError(
        fmt::format("{}: SHA-256 {} was announced and what came has {}; send it again",
                    announced_.path, announced_.sha256, sha256));
  }
  RETURN_IF_ERROR(file_.Commit());
  RETURN_IF_ERROR(arrived_(announced_));
  return announced_;
}

}  // namespace rondo::server
