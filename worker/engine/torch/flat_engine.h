// The engine over LibTorch: flat tensors, with the module's own tensors as views of them.
#ifndef RONDO_WORKER_ENGINE_TORCH_FLAT_ENGINE_H_
#define RONDO_WORKER_ENGINE_TORCH_FLAT_ENGINE_H_

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/flat_floats.h"
#include "worker/engine/create_engine.h"
#include "worker/engine/engine.h"
#include "worker/engine/torch/module.h"

namespace rondo {

class FlatEngine final : public Engine {
 public:
  // Moves the module's parameters and float buffers into flat memory. InvalidArgument: a tensor of
  // another type, or on another device. May throw as torch does.
  static absl::StatusOr<std::unique_ptr<FlatEngine>> Create(const EngineOptions& options,
                                                            std::unique_ptr<TorchModule> module);

  // Runs the model on samples of zeros. InvalidArgument: it does not take the data's shape, its
  // outputs or the loss do not fit the targets, or it has fewer outputs than the data has classes.
  absl::Status CheckFit();

  const Layout& layout() const override { return layout_; }
  DeviceSpan<float> parameters() override { return Span(parameters_); }
  DeviceSpan<float> gradients() override { return Span(gradients_); }
  DeviceSpan<float> float_buffers() override { return Span(float_buffers_); }
  std::span<int64_t> integer_buffers() override { return integer_buffers_; }
  std::span<const uint8_t> has_gradient() const override { return has_gradient_; }
  absl::StatusOr<GradientResult> ComputeGradient(const Batch& batch, int64_t step) override;
  absl::StatusOr<Evaluation> Evaluate(const Batch& batch) override;

 private:
  // Where a buffer of the module is held.
  struct BufferPlace {
    bool is_float;
    int64_t offset, size;
    at::Tensor view;  // of float_buffers_, when is_float
  };
  // Samples [first, first + count) of a batch.
  struct Piece {
    HostArray targets_host;
    std::vector<int64_t> samples;
    at::Tensor inputs, targets;
  };

  FlatEngine(const EngineOptions& options, std::unique_ptr<TorchModule> module);
  absl::Status LayOut();
  void BindParameters();
  void BindBuffers();

  int64_t PieceSize(const Batch& batch) const;
  Piece Cut(const Batch& batch, int64_t first, int64_t count) const;
  absl::StatusOr<GradientResult> Accumulate(const Batch& batch, int64_t step);
  absl::StatusOr<Evaluation> EvaluatePieces(const Batch& batch);
  // Integers go into the module before it runs, and out of it, with float buffers that forward
  // replaced, after training.
  void PushIntegers();
  void PullBuffers();
  void SetTraining(bool training);
  static DeviceSpan<float> Span(const at::Tensor& flat) {
    return {flat.data_ptr<float>(), flat.numel()};
  }

  const EngineOptions options_;
  std::unique_ptr<TorchModule> module_;
  Layout layout_;
  FlatFloats parameter_memory_, gradient_memory_, float_buffer_memory_;
  at::Tensor parameters_, gradients_, float_buffers_;  // flat, float32, contiguous
  std::vector<int64_t> integer_buffers_;
  std::vector<BufferPlace> buffer_places_;  // one a buffer of the module, in its order
  std::vector<uint8_t> has_gradient_;       // written by hooks during backward
  bool training_ = false;
};

}  // namespace rondo

#endif  // RONDO_WORKER_ENGINE_TORCH_FLAT_ENGINE_H_
