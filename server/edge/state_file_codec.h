// The kinds of state files, between the core and the wire.
#ifndef RONDO_SERVER_EDGE_STATE_FILE_CODEC_H_
#define RONDO_SERVER_EDGE_STATE_FILE_CODEC_H_

#include <optional>

#include "proto/rondo/v1/training.pb.h"
#include "server/core/messages.h"

namespace rondo::server {

// Absent for 0 and for what a newer version may send.
std::optional<StateFile> StateFileOf(v1::StateFile value);
v1::StateFile EncodeStateFile(StateFile file);

}  // namespace rondo::server

#endif  // RONDO_SERVER_EDGE_STATE_FILE_CODEC_H_
