#include <fmt/format.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/serialization/import.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/status_macros.h"
#include "worker/engine/torch/guarded.h"
#include "worker/engine/torch/module.h"

namespace rondo {
namespace {

// One attribute of one submodule.
struct Attribute {
  std::string full_name;
  torch::jit::Module owner;  // a handle: shares the submodule
  std::string name;
};

bool SameMemory(const at::Tensor& a, const at::Tensor& b) {
  return a.numel() > 0 && a.data_ptr() == b.data_ptr() && a.sizes() == b.sizes() &&
         a.strides() == b.strides() && a.scalar_type() == b.scalar_type();
}

class ScriptModule final : public TorchModule {
 public:
  explicit ScriptModule(torch::jit::Module module) : module_(std::move(module)) {
    for (const auto& submodule : module_.named_modules()) {
      const std::string prefix = submodule.name.empty() ? "" : submodule.name + ".";
      for (const auto& parameter : submodule.value.named_parameters(/*recurse=*/false))
        AddParameter(prefix, parameter.name, parameter.value, submodule.value);
      for (const auto& buffer : submodule.value.named_buffers(/*recurse=*/false))
        AddBuffer(prefix, buffer.name, buffer.value, submodule.value);
    }
  }

  std::vector<NamedTensor> Parameters() override { return parameters_; }
  std::vector<NamedTensor> Buffers() override {
    std::vector<NamedTensor> buffers;
    for (const Attribute& buffer : buffers_)
      buffers.push_back({buffer.full_name, buffer.owner.attr(buffer.name).toTensor()});
    return buffers;
  }
  void SetBuffer(size_t index, const at::Tensor& value) override {
    buffers_[index].owner.setattr(buffers_[index].name, value);
  }
  void SetTraining(bool training) override { module_.train(training); }
  at::Tensor Forward(const at::Tensor& inputs) override {
    const c10::IValue output = module_.forward({inputs});
    TORCH_CHECK(output.isTensor(), "forward returns ", output.tagKind(),
                ", expected one tensor: logits or predictions");
    return output.toTensor();
  }

 private:
  // Tied parameters (one tensor under two names) stay one: PyTorch counts them once, under the
  // first name. A file may hold them as two tensors over the same memory.
  void AddParameter(const std::string& prefix, const std::string& name, const at::Tensor& tensor,
                    torch::jit::Module owner) {
    for (const NamedTensor& known : parameters_) {
      if (known.tensor.is_same(tensor)) return;
      if (SameMemory(known.tensor, tensor)) return owner.setattr(name, known.tensor);
    }
    parameters_.push_back({prefix + name, tensor});
  }
  void AddBuffer(const std::string& prefix, const std::string& name, const at::Tensor& tensor,
                 const torch::jit::Module& owner) {
    for (const Attribute& known : buffers_) {
      if (known.owner.attr(known.name).toTensor().is_same(tensor)) return;
    }
    buffers_.push_back({prefix + name, owner, name});
  }

  torch::jit::Module module_;
  std::vector<NamedTensor> parameters_;
  std::vector<Attribute> buffers_;
};

// The first sentence of torch's words is enough: the others are about its zip reader.
absl::StatusOr<torch::jit::Module> LoadModule(const std::string& path) {
  try {
    return torch::jit::load(path, c10::kCPU);
  } catch (const c10::Error& error) {
    const std::string words = TellingLine(error.what_without_backtrace());
    return absl::InvalidArgumentError(
        fmt::format("model.torchscript: '{}' is not a TorchScript file that can be read "
                    "(torch.jit.save writes one): {}",
                    path, words.substr(0, words.find(". "))));
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<TorchModule>> LoadTorchScript(const std::string& path) {
  if (!std::filesystem::exists(path))
    return absl::NotFoundError(fmt::format("model.torchscript: there is no file {}", path));
  ASSIGN_OR_RETURN(torch::jit::Module module, LoadModule(path));
  if (!module.find_method("forward").has_value())
    return absl::InvalidArgumentError(fmt::format("{}: its module has no method forward(x)", path));
  auto script = std::make_unique<ScriptModule>(std::move(module));
  if (script->Parameters().empty())
    return absl::InvalidArgumentError(fmt::format(
        "{}: its module has no parameters; a frozen module cannot be trained, save the one before "
        "torch.jit.freeze",
        path));
  return script;
}

}  // namespace rondo
