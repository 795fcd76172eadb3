// The examples of the READMEs, run as a reader would: each block of commands of the top one that
// follows a line `<!-- run -->`, in order, in one shell, at the top of a checkout; its commands for
// several machines, on this one; the example jobs, and what their README says to try.
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "absl/time/time.h"
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
  for (const char* file :
       {"digits.yaml", "digits-long.yaml", "train-images-idx3-ubyte", "train-labels-idx1-ubyte",
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

// The cells of a table's row.
std::vector<std::string> CellsOf(const std::string& row) {
  std::vector<std::string> cells;
  std::istringstream in(row);
  for (std::string cell; std::getline(in, cell, '|');) {
    const size_t first = cell.find_first_not_of(' ');
    if (first == std::string::npos) continue;
    cells.push_back(cell.substr(first, cell.find_last_not_of(' ') - first + 1));
  }
  return cells;
}

TEST(DigitsReadmeTest, ItsTableHasEveryJobWithItsStepsAndRounds) {
  const std::string folder = Runfile("deploy/jobs/digits");
  std::istringstream lines(ReadFile(folder + "/README.md"));
  size_t jobs = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("| [`", 0) != 0) continue;
    const std::vector<std::string> cells = CellsOf(line);
    const std::string file = cells[0].substr(2, cells[0].find('`', 2) - 2);
    const Ended plan = RunToEnd(Rondo({"plan", folder + "/" + file, "--workers", "4", "--json"}));
    ASSERT_EQ(plan.exit_code, 0) << file << plan;
    const nlohmann::json planned = JsonLines(plan.out).back();
    EXPECT_EQ(planned["steps"].dump(), cells[1]) << file;
    EXPECT_EQ(planned["rounds"].dump(), cells[2]) << file;
    ++jobs;
  }
  size_t files = 0;
  for (const auto& entry : fs::directory_iterator(folder)) {
    files += entry.path().extension() == ".yaml" ? 1 : 0;
  }
  EXPECT_EQ(jobs, files);
}

TEST(DigitsReadmeTest, WhatItSaysToTryWorks) {
  const std::string readme = ReadFile(Runfile("deploy/jobs/digits/README.md"));
  std::vector<std::string> commands;
  std::istringstream lines(readme);
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind("    rondo ", 0) == 0) commands.push_back(line);
  }
  ASSERT_GE(commands.size(), 5u);
  const std::string top = Checkout("try");
  Program run(InShell(commands[0]), top);
  fs::create_directories(top + "/long-state");
  ASSERT_TRUE(run.WaitForFile(top + "/long-state/coordinator.address")) << run.Wait();
  {
    Program watch(Rondo({"watch", "--state", top + "/long-state", "--from", "1", "--json"}));
    ASSERT_NE(watch.WaitForLine("\"round\""), "") << run.Wait(absl::ZeroDuration());
  }
  for (size_t i = 1; i < commands.size(); ++i) {
    const Ended ended = RunToEnd(InShell(commands[i]), top);
    EXPECT_EQ(ended.exit_code, 0) << commands[i] << ended;
  }
  const Ended ended = run.Wait();
  EXPECT_EQ(ended.exit_code, 0) << ended;
}

}  // namespace
}  // namespace rondo::e2e
