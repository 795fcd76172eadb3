#include "worker/engine/torch/script_for_test.h"

#include <ATen/ops/full.h>
#include <torch/csrc/jit/api/module.h>

#include <map>
#include <string>
#include <vector>

namespace rondo {

void SaveScriptForTest(const std::string& path, const std::vector<ScriptTensor>& tensors,
                       const std::string& source) {
  torch::jit::Module root("__torch__.Root");
  std::map<std::string, torch::jit::Module> children;
  std::map<std::string, at::Tensor> made;
  for (const ScriptTensor& spec : tensors) {
    const size_t dot = spec.name.find('.');
    torch::jit::Module owner = root;
    if (dot != std::string::npos) {
      const std::string child = spec.name.substr(0, dot);
      if (!children.contains(child))
        children.emplace(child, torch::jit::Module("__torch__.Child_" + child));
      owner = children.at(child);
    }
    at::ScalarType type = at::kFloat;
    if (spec.kind == ScriptTensorKind::kDoubleParameter) type = at::kDouble;
    if (spec.kind == ScriptTensorKind::kIntegerBuffer) type = at::kLong;
    const at::Tensor tensor = spec.same_as.empty()
                                  ? at::full(spec.shape, spec.value, at::TensorOptions(type))
                                  : made.at(spec.same_as);
    made[spec.name] = tensor;
    const std::string name = dot == std::string::npos ? spec.name : spec.name.substr(dot + 1);
    if (spec.kind == ScriptTensorKind::kFloatBuffer ||
        spec.kind == ScriptTensorKind::kIntegerBuffer) {
      owner.register_buffer(name, tensor);
    } else {
      tensor.set_requires_grad(spec.kind != ScriptTensorKind::kFrozen);
      owner.register_parameter(name, tensor, /*is_buffer=*/false);
    }
  }
  for (const auto& [name, child] : children) root.register_module(name, child);
  root.register_attribute("training", c10::BoolType::get(), true);
  root.define(source);
  root.save(path);
}

}  // namespace rondo
