// The examples of the top README, run as a reader would: each block of commands that follows a line
// `<!-- run -->`, in order, in one shell, at the top of a checkout; and the commands for several
// machines, on this one.
#include <gtest/gtest.h>

#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

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

// What a clone has of which the examples speak, the programs already built.
std::string Checkout(const std::string& name) {
  const std::string top = NewFolder(name);
  fs::create_directories(top + "/deploy/jobs/digits");
  for (const char* file : {"digits.yaml", "train-images-idx3-ubyte", "train-labels-idx1-ubyte",
                           "test-images-idx3-ubyte", "test-labels-idx1-ubyte"}) {
    CopyInto(std::string("deploy/jobs/digits/") + file, top + "/deploy/jobs/digits");
  }
  fs::create_directory_symlink(Runfile(""), top + "/bazel-bin");
  return top;
}

// The README's indented lines that begin with `program`, with `address` instead of the one there.
std::vector<std::string> LinesOf(const std::string& readme, const std::string& program,
                                 const std::string& address) {
  const std::string written = "10.0.0.1:7000";
  std::vector<std::string> found;
  std::istringstream lines(readme);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("    " + program + " ", 0) != 0) continue;
    if (const size_t at = line.find(written); at != std::string::npos) {
      found.push_back(line.replace(at, written.size(), address));
    }
  }
  return found;
}

// `line` in the shell of a reader who has set the path as the README says.
std::vector<std::string> InShell(const std::string& line) {
  return {"/bin/bash", "-c",
          "PATH=$PWD/bazel-bin/server:$PWD/bazel-bin/worker:$PATH; exec " + line};
}

TEST(ReadmeTest, EveryMarkedExampleRuns) {
  const Commands commands = CommandsOf(ReadFile(Runfile("README.md")));
  ASSERT_GE(commands.blocks, 3);
  const std::string top = Checkout("checkout");
  WriteFile(top + "/commands", commands.text);

  const Ended ended = RunToEnd({"/bin/bash", "-eux", "commands"}, top);
  EXPECT_EQ(ended.exit_code, 0) << ended;
  EXPECT_TRUE(fs::exists(top + "/digits.safetensors")) << ended;
}

TEST(ReadmeTest, ItsCommandsForSeveralMachinesTrainAJob) {
  const std::string readme = ReadFile(Runfile("README.md"));
  const std::string top = Checkout("machines");
  const auto coordinators = LinesOf(readme, "rondo-coordinator", "127.0.0.1:0");
  ASSERT_EQ(coordinators.size(), 1u);
  Program coordinator(InShell(coordinators[0]), top);
  const std::string said = coordinator.WaitForLine("address=127.0.0.1:");
  ASSERT_NE(said, "") << coordinator.Wait();

  std::vector<Program> workers;
  const std::string address = said.substr(said.find("127.0.0.1:"));
  for (const std::string& line : LinesOf(readme, "rondo-worker", address)) {
    workers.emplace_back(InShell(line), top);
  }
  ASSERT_EQ(workers.size(), 2u);
  const Ended ended = coordinator.Wait();
  EXPECT_EQ(ended.exit_code, 0) << ended;
  for (Program& worker : workers) EXPECT_EQ(worker.Wait().exit_code, 0);
}

}  // namespace
}  // namespace rondo::e2e
