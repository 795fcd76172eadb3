// The Python script against the engine: what one writes the other reads. Needs a Python with torch.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/status_matchers.h"
#include "kernels/span.h"
#include "worker/data/batch.h"
#include "worker/engine/create_engine.h"
#include "worker/engine/engine.h"
#include "worker/engine/layout.h"
#include "worker/engine/state_file.h"

namespace rondo {
namespace {

constexpr char kScripts[] = "worker/engine/python";

// A module with what users' models have: BatchNorm's buffers, dropout, an unused layer.
constexpr char kNet[] = R"(
import torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(5)
        self.first = torch.nn.Linear(4, 8)
        self.norm = torch.nn.BatchNorm1d(8)
        self.drop = torch.nn.Dropout(0.25)
        self.last = torch.nn.Linear(8, 3)
        self.unused = torch.nn.Linear(2, 2)
    def forward(self, x):
        return self.last(self.drop(torch.relu(self.norm(self.first(x)))))
)";

// Runs a shell command; returns its exit status and all it printed.
std::pair<int, std::string> RunShell(const std::string& command) {
  std::FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  std::string output;
  char buffer[4096];
  for (size_t got = 0; (got = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;)
    output.append(buffer, got);
  const int status = pclose(pipe);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, output};
}

// An interpreter that can import torch, or nothing.
std::string FindPython() {
  std::vector<std::string> candidates = {"python3"};
  if (const char* named = std::getenv("RONDO_TEST_PYTHON"); named != nullptr && *named != '\0')
    candidates = {named};
  for (const std::string& python : candidates)
    if (RunShell("'" + python + "' -c 'import torch'").first == 0) return python;
  return "";
}

class PythonModelTest : public testing::Test {
 protected:
  void SetUp() override {
    static const std::string found = FindPython();  // Starting torch takes seconds.
    python_ = found;
    if (python_.empty())
      GTEST_SKIP() << "no Python that can import torch: set RONDO_TEST_PYTHON to one";
    std::ofstream(Path("net_for_test.py")) << kNet;
  }
  static std::string Path(const std::string& name) { return testing::TempDir() + "/" + name; }
  // Runs Python statements with the script, the module and torch imported.
  std::pair<int, std::string> Python(const std::string& statements) const {
    std::ofstream(Path("run.py")) << "import torch, rondo_model\nfrom net_for_test import Net\n"
                                  << statements;
    return RunShell("PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=" + std::string(kScripts) + ":" +
                    testing::TempDir() + " '" + python_ + "' -W ignore " + Path("run.py"));
  }
  EngineOptions Options() const {
    return {.model = ModelKind::kTorchScript,
            .torchscript_path = Path("net.pt"),
            .input_shape = {4},
            .class_count = 3};
  }
  static StateSpans Spans(Engine* engine) {
    const auto host = [](DeviceSpan<float> span) {
      return std::span<float>(span.data, static_cast<size_t>(span.size));
    };
    return {host(engine->parameters()), host(engine->float_buffers()), engine->integer_buffers()};
  }

  std::string python_;
};

TEST_F(PythonModelTest, AModuleTrainsInTheEngineAndComesBack) {
  const auto [saved, save_output] =
      Python("rondo_model.save_torchscript(Net(), '" + Path("net.pt") + "')\n");
  ASSERT_EQ(saved, 0) << save_output;
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Engine> engine, CreateEngine(Options()));
  EXPECT_EQ(engine->layout().parameters.size(), 8u);
  EXPECT_EQ(engine->layout().float_buffers[0].name, "norm.running_mean");
  EXPECT_EQ(engine->layout().integer_buffers[0].name, "norm.num_batches_tracked");
  Batch batch;
  batch.size = 8;
  batch.inputs = {.shape = {8, 4}, .floats = std::vector<float>(32, 0.5f)};
  for (size_t i = 0; i < 32; i += 3) batch.inputs.floats[i] = -1;
  batch.targets = {.type = ElementType::kInt64, .shape = {8}, .ints = {0, 1, 2, 0, 1, 2, 0, 1}};
  batch.positions.assign(8, 0);
  ASSERT_OK(engine->ComputeGradient(batch, 0));
  EXPECT_EQ(engine->has_gradient()[0], 1);
  EXPECT_EQ(engine->has_gradient()[6], 0);
  EXPECT_EQ(engine->integer_buffers()[0], 1);
  for (int64_t i = 0; i < engine->parameters().size; ++i) engine->parameters().data[i] += 0.5f;
  ASSERT_OK(SaveState(Path("net.safetensors"), engine->layout(), Spans(engine.get())));

  const auto [loaded, output] =
      Python("module = rondo_model.load_into(Net(), '" + Path("net.safetensors") + "')\n" +
             "fresh = Net()\n"
             "assert torch.equal(module.last.weight, fresh.last.weight + 0.5)\n"
             "assert int(module.norm.num_batches_tracked) == 1\n"
             "assert not torch.equal(module.norm.running_mean, fresh.norm.running_mean)\n");
  EXPECT_EQ(loaded, 0) << output;
}

TEST_F(PythonModelTest, CommandsSaveShowAndLoad) {
  const std::string script = "cd " + testing::TempDir() + " && '" + python_ + "' -W ignore " +
                             std::filesystem::current_path().string() + "/" + kScripts +
                             "/rondo_model.py ";
  const auto [saved, save_output] = RunShell(script + "save net_for_test:Net net.pt");
  ASSERT_EQ(saved, 0) << save_output;
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Engine> engine, CreateEngine(Options()));
  ASSERT_OK(SaveState(Path("net.safetensors"), engine->layout(), Spans(engine.get())));
  const auto [shown, table] = RunShell(script + "show net.safetensors");
  EXPECT_EQ(shown, 0) << table;
  EXPECT_THAT(table, testing::HasSubstr("F32 [8, 4] first.weight"));
  const auto [loaded, load_output] =
      RunShell(script + "load net_for_test:Net net.safetensors net.pth");
  EXPECT_EQ(loaded, 0) << load_output;
}

TEST_F(PythonModelTest, WhatDoesNotFitIsRefusedByName) {
  Layout layout;
  Layout::Append(&layout.parameters, "first.weight", {4, 8});
  Layout::Append(&layout.parameters, "other", {1});
  std::vector<float> values(33);
  ASSERT_OK(SaveState(Path("bad.safetensors"), layout, {.parameters = values}));
  const auto [status, output] =
      Python("rondo_model.load_into(Net(), '" + Path("bad.safetensors") + "')\n");
  EXPECT_NE(status, 0);
  EXPECT_THAT(output, testing::AllOf(testing::HasSubstr("'last.bias' is not in the file"),
                                     testing::HasSubstr("the module has no 'other'"),
                                     testing::HasSubstr("'first.weight' has shape [4, 8]")));
  const auto [refused, message] =
      Python("rondo_model.save_torchscript(Net().double(), '" + Path("double.pt") + "')\n");
  EXPECT_NE(refused, 0);
  EXPECT_THAT(message, testing::HasSubstr("'first.weight' is torch.float64"));
}

}  // namespace
}  // namespace rondo
