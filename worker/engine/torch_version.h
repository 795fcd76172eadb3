// Which torch this build was made with.
#ifndef RONDO_WORKER_ENGINE_TORCH_VERSION_H_
#define RONDO_WORKER_ENGINE_TORCH_VERSION_H_

namespace rondo {

// As torch's headers say it: "2.15.0". All workers of a job have the same one.
const char* TorchVersion();

}  // namespace rondo

#endif  // RONDO_WORKER_ENGINE_TORCH_VERSION_H_
