// The examples of the top README, run as a reader would: each block of commands that follows a line
// `<!-- run -->`, in order, in one shell, at the top of a checkout.
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>
#include <string>

#include "tests/e2e/program.h"

namespace rondo::e2e {
namespace {

namespace fs = std::filesystem;

struct Commands {
  std::string text;
  int blocks = 0;
};

Commands CommandsOf(const std::string& readme) {
  Commands commands;
  enum { kText, kMarked, kBlock } where = kText;
  std::istringstream lines(readme);
  for (std::string line; std::getline(lines, line);) {
    if (line == "<!-- run -->") {
      where = kMarked;
      ++commands.blocks;
    } else if (line.rfind("```", 0) == 0) {
      where = where == kMarked ? kBlock : kText;
    } else if (where == kBlock) {
      commands.text += line + "\n";
    }
  }
  return commands;
}

TEST(ReadmeTest, EveryMarkedExampleRuns) {
  const Commands commands = CommandsOf(ReadFile(Runfile("README.md")));
  ASSERT_GE(commands.blocks, 3);
  const std::string top = NewFolder("checkout");
  fs::create_directories(top + "/deploy/jobs/digits");
  for (const char* name : {"digits.yaml", "train-images-idx3-ubyte", "train-labels-idx1-ubyte",
                           "test-images-idx3-ubyte", "test-labels-idx1-ubyte"}) {
    CopyInto(std::string("deploy/jobs/digits/") + name, top + "/deploy/jobs/digits");
  }
  fs::create_directory_symlink(Runfile(""), top + "/bazel-bin");
  WriteFile(top + "/commands", commands.text);

  const Ended ended = RunToEnd({"/bin/bash", "-eux", "commands"}, top);
  EXPECT_EQ(ended.exit_code, 0) << ended;
  EXPECT_TRUE(fs::exists(top + "/digits.safetensors")) << ended;
}

}  // namespace
}  // namespace rondo::e2e
