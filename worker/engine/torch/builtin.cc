#include <ATen/Context.h>
#include <ATen/core/Tensor.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/linear.h>
#include <ATen/ops/max_pool2d.h>
#include <ATen/ops/relu.h>
#include <c10/core/GradMode.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "worker/engine/torch/module.h"

namespace rondo {
namespace {

// Weight and bias of a linear or convolution layer, as torch.nn initialises them: uniform within
// bounds of the fan-in, drawn from the default generator, the weight first.
struct Layer {
  Layer(std::string name, std::vector<int64_t> weight_shape) : name(std::move(name)) {
    const c10::NoGradGuard no_grad;
    const int64_t fan_in = std::accumulate(weight_shape.begin() + 1, weight_shape.end(), int64_t{1},
                                           std::multiplies<>());
    // torch.nn.init.kaiming_uniform_ with a = sqrt(5), in the same operations.
    const double a = std::sqrt(5.0);
    const double gain = std::sqrt(2.0 / (1 + a * a));
    const double bound = std::sqrt(3.0) * (gain / std::sqrt(static_cast<double>(fan_in)));
    const double bias_bound = 1 / std::sqrt(static_cast<double>(fan_in));
    weight = at::empty(weight_shape).uniform_(-bound, bound);
    bias = at::empty({weight_shape[0]}).uniform_(-bias_bound, bias_bound);
    weight.set_requires_grad(true);
    bias.set_requires_grad(true);
  }

  std::string name;
  at::Tensor weight, bias;
};

void AppendParameters(const Layer& layer, std::vector<NamedTensor>* parameters) {
  parameters->push_back({layer.name + ".weight", layer.weight});
  parameters->push_back({layer.name + ".bias", layer.bias});
}

class Mlp final : public TorchModule {
 public:
  explicit Mlp(const std::vector<int64_t>& sizes) {
    for (size_t i = 1; i < sizes.size(); ++i)
      layers_.emplace_back(fmt::format("fc{}", i), std::vector<int64_t>{sizes[i], sizes[i - 1]});
  }
  std::vector<NamedTensor> Parameters() override {
    std::vector<NamedTensor> parameters;
    for (const Layer& layer : layers_) AppendParameters(layer, &parameters);
    return parameters;
  }
  at::Tensor Forward(const at::Tensor& inputs) override {
    at::Tensor x = inputs.flatten(1);
    for (size_t i = 0; i < layers_.size(); ++i) {
      if (i > 0) x = at::relu(x);
      x = at::linear(x, layers_[i].weight, layers_[i].bias);
    }
    return x;
  }

 private:
  std::vector<Layer> layers_;
};

constexpr int64_t kConvnetChannels1 = 16;
constexpr int64_t kConvnetChannels2 = 32;

class Convnet final : public TorchModule {
 public:
  Convnet(int64_t channels, int64_t height, int64_t width, int64_t classes)
      : conv1_("conv1", {kConvnetChannels1, channels, 3, 3}),
        conv2_("conv2", {kConvnetChannels2, kConvnetChannels1, 3, 3}),
        fc_("fc", {classes, kConvnetChannels2 * (height / 4) * (width / 4)}) {}

  std::vector<NamedTensor> Parameters() override {
    std::vector<NamedTensor> parameters;
    for (const Layer* layer : {&conv1_, &conv2_, &fc_}) AppendParameters(*layer, &parameters);
    return parameters;
  }
  at::Tensor Forward(const at::Tensor& inputs) override {
    const at::Tensor a = Block(conv1_, inputs);
    const at::Tensor b = Block(conv2_, a);
    return at::linear(b.flatten(1), fc_.weight, fc_.bias);
  }

 private:
  static at::Tensor Block(const Layer& conv, const at::Tensor& x) {
    const at::Tensor y = at::conv2d(x, conv.weight, conv.bias, /*stride=*/1, /*padding=*/1);
    return at::max_pool2d(at::relu(y), 2);
  }

  Layer conv1_, conv2_, fc_;
};

absl::StatusOr<std::unique_ptr<TorchModule>> MakeMlp(const EngineOptions& options) {
  const std::vector<int64_t>& layers = options.layers;
  if (layers.size() < 2 || std::any_of(layers.begin(), layers.end(), [](auto n) { return n < 1; }))
    return absl::InvalidArgumentError(
        fmt::format("model.layers is [{}], expected at least two sizes of 1 or more, inputs first "
                    "and outputs last",
                    fmt::join(layers, ", ")));
  const int64_t inputs = std::accumulate(options.input_shape.begin(), options.input_shape.end(),
                                         int64_t{1}, std::multiplies<>());
  if (layers[0] != inputs)
    return absl::InvalidArgumentError(
        fmt::format("model.layers begins with {}, but a sample has {} inputs (shape [{}]): they "
                    "must be equal",
                    layers[0], inputs, fmt::join(options.input_shape, ", ")));
  return std::make_unique<Mlp>(layers);
}

absl::StatusOr<std::unique_ptr<TorchModule>> MakeConvnet(const EngineOptions& options) {
  const std::vector<int64_t>& shape = options.input_shape;
  if (shape.size() != 3 || shape[1] < 4 || shape[2] < 4)
    return absl::InvalidArgumentError(
        fmt::format("the built-in convnet needs samples of shape [channels, height, width] of at "
                    "least 4 by 4 pixels, but they have shape [{}]",
                    fmt::join(shape, ", ")));
  if (options.class_count < 1)
    return absl::InvalidArgumentError(
        "the built-in convnet needs integer labels, which say how many outputs it has");
  return std::make_unique<Convnet>(shape[0], shape[1], shape[2], options.class_count);
}

}  // namespace

absl::StatusOr<std::unique_ptr<TorchModule>> MakeBuiltinModule(const EngineOptions& options) {
  at::manual_seed(options.seed);
  if (options.input_type != ElementType::kFloat32)
    return absl::InvalidArgumentError(
        "the built-in models need float32 or uint8 inputs, not int64");
  if (options.model == ModelKind::kMlp) return MakeMlp(options);
  return MakeConvnet(options);
}

}  // namespace rondo
