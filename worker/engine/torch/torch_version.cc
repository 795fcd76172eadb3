#include "worker/engine/torch_version.h"

#include <torch/version.h>

namespace rondo {

const char* TorchVersion() { return TORCH_VERSION; }

}  // namespace rondo
