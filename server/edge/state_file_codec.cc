#include "server/edge/state_file_codec.h"

namespace rondo::server {

std::optional<StateFile> StateFileOf(v1::StateFile value) {
  switch (value) {
    case v1::STATE_FILE_PARAMETERS:
      return StateFile::kParameters;
    case v1::STATE_FILE_BUFFERS:
      return StateFile::kBuffers;
    case v1::STATE_FILE_LOCAL:
      return StateFile::kLocal;
    case v1::STATE_FILE_PARTIAL:
      return StateFile::kPartial;
    default:
      return std::nullopt;
  }
}

v1::StateFile EncodeStateFile(StateFile file) {
  switch (file) {
    case StateFile::kParameters:
      return v1::STATE_FILE_PARAMETERS;
    case StateFile::kBuffers:
      return v1::STATE_FILE_BUFFERS;
    case StateFile::kLocal:
      return v1::STATE_FILE_LOCAL;
    case StateFile::kPartial:
      return v1::STATE_FILE_PARTIAL;
  }
  return v1::STATE_FILE_UNSPECIFIED;
}

}  // namespace rondo::server
