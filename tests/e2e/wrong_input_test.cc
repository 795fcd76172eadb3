// What a user can get wrong: each ends with the right exit code and words that name it, and nothing
// hangs.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "common/version.h"
#include "tests/e2e/digits_job.h"
#include "tests/e2e/program.h"

namespace rondo::e2e {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

// A loopback port that somebody listens on.
class TakenPort {
 public:
  TakenPort() : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    if (bind(fd_, reinterpret_cast<sockaddr*>(&address), size) == 0 && listen(fd_, 1) == 0) {
      getsockname(fd_, reinterpret_cast<sockaddr*>(&address), &size);
      port_ = ntohs(address.sin_port);
    }
  }
  ~TakenPort() { close(fd_); }
  int port() const { return port_; }

 private:
  const int fd_;
  int port_ = 0;
};

// A coordinator that waits for workers, and its address.
struct Waiting {
  explicit Waiting(const std::string& folder)
      : program({Runfile("server/rondo-coordinator"), "--job", folder + "/job.yaml", "--state",
                 folder + "/state"}) {
    const std::string line = program.WaitForLine("address=");
    if (line.size() > 8) address = line.substr(8);
  }
  Program program;
  std::string address;
};

std::vector<std::string> Worker(const std::string& address, const std::string& name,
                                const std::string& files) {
  return {
      Runfile("worker/rondo-worker"), "--coordinator", address, "--name", name, "--files", files};
}

void BreakBytes(const std::string& path, size_t offset, const std::string& bytes) {
  std::string data = ReadFile(path);
  data.replace(offset, bytes.size(), bytes);
  WriteFile(path, data);
}

TEST(WrongUsageTest, AnUnknownFlagEndsEachProgramWithTwo) {
  const std::vector<std::string> commands[] = {
      {Runfile("server/rondo"), "run", "job.yaml"},
      {Runfile("server/rondo-coordinator"), "--job", "job.yaml", "--state", "state"},
      {Runfile("worker/rondo-worker"), "--coordinator", "127.0.0.1:1"}};
  for (std::vector<std::string> argv : commands) {
    argv.push_back("--wrokers");
    const Ended ended = RunToEnd(argv);
    EXPECT_EQ(ended.exit_code, 2) << argv[0] << ended;
    EXPECT_THAT(ended.out + ended.err, HasSubstr("wrokers")) << argv[0];
  }
}

TEST(WrongUsageTest, AnUnknownCommandIsToldWithTheNearestOne) {
  const Ended ended = RunToEnd(Rondo({"statsu"}));
  EXPECT_EQ(ended.exit_code, 2) << ended;
  EXPECT_THAT(ended.err, HasSubstr("'status'"));
}

TEST(WrongUsageTest, HelpIsNoError) {
  for (const char* program : {"server/rondo", "server/rondo-coordinator", "worker/rondo-worker"}) {
    const Ended ended = RunToEnd({Runfile(program), "--help"});
    EXPECT_EQ(ended.exit_code, 0) << program << ended;
    EXPECT_FALSE(ended.out.empty());
  }
}

TEST(WrongUsageTest, ARunWithoutANameIsAWrongUsage) {
  for (const char* flag : {"--coordinator", "--state"}) {
    const Ended ended = RunToEnd({Runfile("server/rondo"), "status", flag, ""});
    EXPECT_EQ(ended.exit_code, 2) << ended;
    EXPECT_THAT(ended.err, HasSubstr(flag));
  }
}

TEST(WrongUsageTest, OutputThatCannotBeWrittenIsAnError) {
  const std::string folder = MakeJobFolder({});
  const Ended ended = RunToEnd({"/bin/sh", "-c", "\"$0\" plan \"$1\" --json > /dev/full",
                                Runfile("server/rondo"), folder + "/job.yaml"});
  EXPECT_EQ(ended.exit_code, 1) << ended;
  EXPECT_THAT(ended.err, HasSubstr("cannot write the output"));
}

TEST(WrongUsageTest, EachProgramSaysItsVersion) {
  for (const std::string name : {"rondo", "rondo-coordinator", "rondo-worker"}) {
    const std::string folder = name == "rondo-worker" ? "worker/" : "server/";
    const Ended ended = RunToEnd({Runfile(folder + name), "--version"});
    EXPECT_EQ(ended.exit_code, 0) << ended;
    EXPECT_EQ(ended.out, name + " " + kVersion + "\n");
  }
}

TEST(WrongUsageTest, AJobFileThatIsNotThereIsNamed) {
  const Ended ended = RunToEnd(RondoRun("/nowhere/job.yaml", 1, NewFolder("state")));
  EXPECT_EQ(ended.exit_code, 2) << ended;
  EXPECT_THAT(ended.err, HasSubstr("/nowhere/job.yaml"));
}

TEST(WrongUsageTest, AWrongJobFileIsToldByLineAndKeyAndLeavesNoFolder) {
  DigitsJob job;
  job.more = "chekpoint: {keep: 3}\n";
  job.schedule = "{kind: cosine, steps: -4, peak: 0.1, final: 1e-3}";
  const std::string folder = MakeJobFolder(job);
  const Ended ended = RunToEnd(RondoRun(folder + "/job.yaml", 1, folder + "/state"));
  EXPECT_EQ(ended.exit_code, 2) << ended;
  EXPECT_THAT(ended.err, HasSubstr("job.yaml:13:"));  // The schedule's line.
  EXPECT_THAT(ended.err, HasSubstr("schedule.steps"));
  EXPECT_THAT(ended.err, HasSubstr("checkpoint"));  // The nearest valid key of the other error.
  EXPECT_FALSE(std::filesystem::exists(folder + "/state"));
}

TEST(WrongUsageTest, WhatIsNotBuiltYetIsRefusedByName) {
  DigitsJob job;
  job.more = "precision: bf16\n";
  const std::string folder = MakeJobFolder(job);
  const Ended ended = RunToEnd(RondoRun(folder + "/job.yaml", 1, folder + "/state"));
  EXPECT_EQ(ended.exit_code, 2) << ended;
  EXPECT_THAT(ended.err, HasSubstr("bf16"));
}

TEST(WrongUsageTest, APortInUseIsNamed) {
  const TakenPort taken;
  ASSERT_NE(taken.port(), 0);
  const std::string folder = MakeJobFolder({});
  std::vector<std::string> argv = RondoRun(folder + "/job.yaml", 1, folder + "/state");
  argv.insert(argv.end(), {"--listen", fmt::format("127.0.0.1:{}", taken.port())});
  const Ended ended = RunToEnd(argv);
  EXPECT_EQ(ended.exit_code, 2) << ended;
  EXPECT_THAT(ended.err, HasSubstr(fmt::format("127.0.0.1:{}", taken.port())));
  // Of the two lines the first says where the run's files are.
  EXPECT_EQ(std::count(ended.err.begin(), ended.err.end(), '\n'), 2) << ended;
}

TEST(WrongUsageTest, ASecondCoordinatorOnAStateDirectoryIsTurnedAway) {
  const std::string folder = MakeJobFolder({});
  Waiting first(folder);
  ASSERT_NE(first.address, "");
  const Ended second = RunToEnd({Runfile("server/rondo-coordinator"), "--job", folder + "/job.yaml",
                                 "--state", folder + "/state"});
  EXPECT_THAT(second.exit_code, AnyOf(2, 3)) << second;
  EXPECT_THAT(second.err, HasSubstr(folder + "/state"));
  // The first one lives on.
  EXPECT_EQ(RunToEnd(Rondo({"status", "--coordinator", first.address})).exit_code, 0);
  first.program.Signal(SIGTERM);
  EXPECT_FALSE(first.program.Wait().timed_out);
}

TEST(WrongDataTest, ATruncatedFileIsNamed) {
  const std::string folder = MakeJobFolder({});
  std::filesystem::resize_file(folder + "/train-images-idx3-ubyte", 1000);
  const Ended ended = RunToEnd(RondoRun(folder + "/job.yaml", 2, folder + "/state"));
  EXPECT_THAT(ended.exit_code, AnyOf(2, 3)) << ended;
  EXPECT_THAT(ended.err, HasSubstr("train-images-idx3-ubyte"));
}

TEST(WrongDataTest, AWrongMagicNumberIsNamed) {
  const std::string folder = MakeJobFolder({});
  BreakBytes(folder + "/train-labels-idx1-ubyte", 0, "GIF8");
  const Ended ended = RunToEnd(RondoRun(folder + "/job.yaml", 2, folder + "/state"));
  EXPECT_THAT(ended.exit_code, AnyOf(2, 3)) << ended;
  EXPECT_THAT(ended.err, HasSubstr("train-labels-idx1-ubyte"));
}

TEST(WrongDataTest, ALabelOutOfRangeEndsTheRunAndIsNamed) {
  const std::string folder = MakeJobFolder({});
  BreakBytes(folder + "/train-labels-idx1-ubyte", 8, "\xff");  // The first label.
  const Ended ended = RunToEnd(RondoRun(folder + "/job.yaml", 2, folder + "/state"));
  EXPECT_EQ(ended.exit_code, 3) << ended;
  EXPECT_THAT(ended.err, HasSubstr("255"));
}

// A .npy file of zeros, or of `data`.
void WriteNpy(const std::string& path, const std::string& type, const std::string& shape,
              const std::string& data) {
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({},), }}", type, shape);
  header.resize(117, ' ');
  WriteFile(path, std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header + '\n' + data);
}

TEST(WrongDataTest, TargetsThatDoNotFitLossOrModelAreRefusedBeforeTraining) {
  std::string negative(8 * 50, '\0');
  negative.replace(8 * 7, 8, std::string(8, '\xff'));  // Sample 7: -1.
  const struct {
    const char* loss;
    const char* type;
    const char* shape;
    std::string data;
    const char* message;
  } cases[] = {
      {"cross_entropy", "<f4", "50", std::string(4 * 50, '\0'), "integer targets"},
      {"cross_entropy", "<i8", "50", negative, "sample 7 has label -1"},
      {"mse", "<i8", "50", std::string(8 * 50, '\0'), "float32 targets"},
      {"mse", "<f4", "50, 3", std::string(4 * 50 * 3, '\0'), "predictions have shape [2, 20]"},
  };
  for (const auto& c : cases) {
    const std::string folder = NewFolder("targets");
    WriteNpy(folder + "/x.npy", "<f4", "50, 4", std::string(4 * 50 * 4, '\0'));
    WriteNpy(folder + "/y.npy", c.type, c.shape, c.data);
    WriteFile(folder + "/job.yaml",
              fmt::format("name: targets\nmodel: {{builtin: mlp, layers: [4, 20]}}\nloss: {}\n"
                          "data: {{format: npy, train: {{inputs: x.npy, targets: y.npy}}}}\n"
                          "batch: {{per_worker: 5}}\noptimizer: {{kind: sgd}}\n"
                          "schedule: {{kind: constant, steps: 40, peak: 0.1}}\n"
                          "sync: {{policy: constant, base_steps: 4}}\n",
                          c.loss));
    const Ended ended = RunToEnd(RondoRun(folder + "/job.yaml", 1, folder + "/state"));
    EXPECT_EQ(ended.exit_code, 3) << c.message << ended;
    EXPECT_THAT(ended.err, HasSubstr(c.message));
  }
}

TEST(WrongDataTest, AWorkerWithAnotherDataSetIsRefusedByName) {
  DigitsJob endless;
  endless.schedule = "{kind: constant, steps: 100000000, peak: 0.01}";
  endless.workers = "{min: 2, max: 3, wait_seconds: 0}";  // A place is left for the wrong one.
  const std::string folder = MakeJobFolder(endless);
  const std::string other = MakeJobFolder(endless);
  BreakBytes(other + "/train-images-idx3-ubyte", 100, "\x07\x07\x07");
  Waiting coordinator(folder);
  ASSERT_NE(coordinator.address, "");
  Program first(Worker(coordinator.address, "first", folder));
  Program second(Worker(coordinator.address, "second", folder));
  Program watch(Rondo({"watch", "--coordinator", coordinator.address, "--from", "1", "--json"}));
  ASSERT_NE(watch.WaitForLine("\"round\""), "") << "two workers with the same data train";

  const Ended refused = RunToEnd(Worker(coordinator.address, "other", other));
  EXPECT_EQ(refused.exit_code, 3) << refused;
  EXPECT_THAT(refused.out + refused.err, HasSubstr("train-images-idx3-ubyte"));

  coordinator.program.Signal(SIGTERM);
  EXPECT_FALSE(coordinator.program.Wait().timed_out);
  EXPECT_FALSE(first.Wait().timed_out);
  EXPECT_FALSE(second.Wait().timed_out);
}

TEST(WrongUsageTest, AStateDirectoryWithoutARunIsToldByName) {
  const std::string empty = NewFolder("empty");
  for (const char* verb : {"status", "rounds"}) {
    const Ended ended = RunToEnd(Rondo({verb, "--state", empty}));
    EXPECT_EQ(ended.exit_code, 2) << verb << ended;
    EXPECT_THAT(ended.err, HasSubstr(empty));
  }
  const Ended ended = RunToEnd(Rondo({"export", "--state", empty, "--out", empty + "/model"}));
  EXPECT_EQ(ended.exit_code, 2) << ended;
}

TEST(WrongUsageTest, NobodyAtAnAddressIsExitCodeFour) {
  const Ended ended = RunToEnd(Rondo({"status", "--coordinator", "127.0.0.1:1"}));
  EXPECT_EQ(ended.exit_code, 4) << ended;
  EXPECT_THAT(ended.err, HasSubstr("127.0.0.1:1"));
}

}  // namespace
}  // namespace rondo::e2e
