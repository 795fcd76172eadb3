#include "worker/engine/create_engine.h"

#include <ATen/Parallel.h>
#include <fmt/format.h>

#include <memory>
#include <span>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/status_macros.h"
#include "worker/engine/state_file.h"
#include "worker/engine/torch/flat_engine.h"
#include "worker/engine/torch/guarded.h"
#include "worker/engine/torch/module.h"

namespace rondo {
namespace {

absl::StatusOr<std::unique_ptr<TorchModule>> MakeModule(const EngineOptions& options) {
  if (options.model != ModelKind::kTorchScript) return MakeBuiltinModule(options);
  return Guarded(fmt::format("loading the TorchScript file {}", options.torchscript_path),
                 [&] { return LoadTorchScript(options.torchscript_path); });
}

std::span<float> Host(DeviceSpan<float> span) {
  return {span.data, static_cast<size_t>(span.size)};
}

}  // namespace

absl::StatusOr<std::unique_ptr<Engine>> CreateEngine(const EngineOptions& options) {
  if (options.threads < 1 || options.micro < 0)
    return absl::InvalidArgumentError(
        fmt::format("threads is {} and batch.micro is {}: at least 1 and at least 0 are needed",
                    options.threads, options.micro));
  at::set_num_threads(options.threads);
  ASSIGN_OR_RETURN(std::unique_ptr<TorchModule> module, MakeModule(options));
  absl::StatusOr<std::unique_ptr<FlatEngine>> engine = Guarded(
      "laying out the model", [&] { return FlatEngine::Create(options, std::move(module)); });
  RETURN_IF_ERROR(engine.status());
  RETURN_IF_ERROR((*engine)->CheckFit());
  if (!options.init_path.empty())
    RETURN_IF_ERROR(LoadState(options.init_path, (*engine)->layout(),
                              {.parameters = Host((*engine)->parameters()),
                               .float_buffers = Host((*engine)->float_buffers()),
                               .integer_buffers = (*engine)->integer_buffers()}));
  return std::unique_ptr<Engine>(*std::move(engine));
}

}  // namespace rondo
