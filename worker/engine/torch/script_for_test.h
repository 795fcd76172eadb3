// Makes TorchScript files for tests, without Python.
#ifndef RONDO_WORKER_ENGINE_TORCH_SCRIPT_FOR_TEST_H_
#define RONDO_WORKER_ENGINE_TORCH_SCRIPT_FOR_TEST_H_

#include <cstdint>
#include <string>
#include <vector>

namespace rondo {

enum class ScriptTensorKind {
  kParameter,
  kFrozen,           // a parameter that takes no gradient
  kDoubleParameter,  // float64
  kFloatBuffer,
  kIntegerBuffer,
};

// Each element is `value`. A name "a.b" puts the tensor b into a submodule a.
struct ScriptTensor {
  std::string name;
  std::vector<int64_t> shape;
  float value = 0;
  ScriptTensorKind kind = ScriptTensorKind::kParameter;
  std::string same_as = {};  // not empty: the tensor of that earlier name
};

// Saves a module with these tensors and the methods in `source` ("def forward(self, x): ...").
void SaveScriptForTest(const std::string& path, const std::vector<ScriptTensor>& tensors,
                       const std::string& source);

}  // namespace rondo

#endif  // RONDO_WORKER_ENGINE_TORCH_SCRIPT_FOR_TEST_H_
