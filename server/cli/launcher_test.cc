#include "server/cli/launcher.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "common/status_matchers.h"

namespace rondo::cli {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// Ignores Ctrl-C's signal until it is asked for, as a coordinator does.
constexpr char kListen[] = R"(#!/usr/bin/env python3
import os, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
path = sys.argv[sys.argv.index("--address-file") + 1]
with open(path + ".new", "w") as file:
    file.write("127.0.0.1:1\n")
os.rename(path + ".new", path)
)";
constexpr char kUntilTerm[] = "signal.sigwait([signal.SIGTERM])\n";

class Messages : public LaunchObserver {
 public:
  void OnStatus(const v1::Status&) override {}
  void OnMessage(const std::string& text) override {
    all.push_back(text);
    if (raise_on_message) raise(SIGINT);
  }
  std::vector<std::string> all;
  bool raise_on_message = false;
};

class LauncherTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fmt::format("{}/{}", testing::TempDir(),
                          testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_ + "/state/logs");
  }

  std::string Program(const std::string& name, const std::string& text) {
    const std::string path = folder_ + "/" + name;
    std::ofstream(path) << text;
    chmod(path.c_str(), 0755);
    return path;
  }

  // What Run gives when the programs are these scripts.
  absl::StatusOr<int> Launch(const std::string& coordinator, const std::string& worker,
                             int64_t workers) {
    LaunchOptions options;
    options.job_path = "job.yaml";
    options.state_dir = folder_ + "/state";
    options.files_dir = folder_;
    options.workers = workers;
    options.workers_min = workers;
    options.listen = "127.0.0.1:0";
    options.insecure = insecure_;
    options.coordinator_binary = Program("coordinator", coordinator);
    options.worker_binary = Program("worker", worker);
    auto launcher = Launcher::Create(options, &messages_);
    if (!launcher.ok()) return launcher.status();
    return (*launcher)->Run();
  }

  std::string folder_;
  bool insecure_ = false;
  Messages messages_;
};

TEST_F(LauncherTest, EndsWithTheCodeOfACoordinatorThatNeverListened) {
  ASSERT_OK_AND_ASSIGN(const int code,
                       Launch("#!/bin/sh\necho the port is taken >&2\nexit 2\n", "", 1));
  EXPECT_EQ(code, 2);
  EXPECT_THAT(messages_.all, Contains(HasSubstr("the port is taken")));
}

TEST_F(LauncherTest, EndsWithTheCodeOfTheCoordinatorOnceItsWorkersHaveLeft) {
  // The door is there before the address, so before the workers.
  const std::string coordinator = R"(#!/usr/bin/env python3
import os, sys
os.mkfifo(sys.argv[sys.argv.index("--files") + 1] + "/door")
)" + std::string(kListen) + R"(
door = os.open(sys.argv[sys.argv.index("--files") + 1] + "/door", os.O_RDWR)
came = 0
while came < 2: came += len(os.read(door, 2))
)";
  const std::string worker = "#!/bin/sh\necho $4 came >&2\nprintf x > $6/door\n";
  ASSERT_OK_AND_ASSIGN(const int code, Launch(coordinator, worker, 2));
  EXPECT_EQ(code, 0);
  EXPECT_EQ(LastLines(folder_ + "/state/logs/worker-0.log", 1), "worker-0 came\n");
  EXPECT_EQ(LastLines(folder_ + "/state/logs/worker-1.log", 1), "worker-1 came\n");
}

TEST_F(LauncherTest, WorkersOfACoordinatorThatWasKilledAreNotAskedToLeave) {
  const std::string coordinator = R"(#!/usr/bin/env python3
import os, sys
os.mkfifo(sys.argv[sys.argv.index("--files") + 1] + "/door")
)" + std::string(kListen) + R"(
door = os.open(sys.argv[sys.argv.index("--files") + 1] + "/door", os.O_RDWR)
os.read(door, 1)
os.kill(os.getpid(), signal.SIGKILL)
)";
  const std::string worker = R"(#!/usr/bin/env python3
import signal, sys
folder = sys.argv[sys.argv.index("--files") + 1]
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
with open(folder + "/door", "w") as door:
    door.write("x")
signal.sigwait([signal.SIGTERM])
open(folder + "/asked", "w").close()
)";
  ASSERT_OK_AND_ASSIGN(const int code, Launch(coordinator, worker, 1));
  EXPECT_EQ(code, 1);
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/asked"));
}

TEST_F(LauncherTest, StopsTheCoordinatorAndEndsWithTheWorkersCodeWhenOneIsRefused) {
  ASSERT_OK_AND_ASSIGN(const int code, Launch(std::string(kListen) + kUntilTerm,
                                              "#!/bin/sh\necho data differs >&2\nexit 3\n", 1));
  EXPECT_EQ(code, 3);
  EXPECT_THAT(messages_.all, Contains(StartsWith("worker-0 was refused: data differs (log: ")));
}

TEST_F(LauncherTest, TellsTheReasonOfARefusalWithoutTheRestOfItsLogLine) {
  const std::string worker =
      "#!/bin/sh\necho 'now info worker exit code=3 reason=\"label \\\"x\\\" is wrong\"' >&2\nexit "
      "3\n";
  ASSERT_OK_AND_ASSIGN(const int code, Launch(std::string(kListen) + kUntilTerm, worker, 1));
  EXPECT_EQ(code, 3);
  EXPECT_THAT(messages_.all,
              Contains(StartsWith("worker-0 was refused: label \"x\" is wrong (log: ")));
}

// Workers of other machines may be alive; those of former launchers here are not.
TEST_F(LauncherTest, TellsTheCoordinatorWhichWorkersAreGone) {
  insecure_ = true;
  for (const char* name : {"worker-0", "worker-2", "coordinator"}) {
    std::ofstream(fmt::format("{}/state/logs/{}.log", folder_, name)) << "an old story\n";
  }
  ASSERT_OK(Launch("#!/bin/sh\necho \"$*\" >&2\nexit 2\n", "", 1).status());
  EXPECT_THAT(messages_.all, Contains(HasSubstr("--insecure --gone-workers worker-0,worker-2")));
}

TEST_F(LauncherTest, ShowsNoLogLineOfAnEarlierRun) {
  std::ofstream(folder_ + "/state/logs/coordinator.log") << "an old story\n";
  ASSERT_OK_AND_ASSIGN(const int code, Launch("#!/bin/sh\necho in use >&2\nexit 2\n", "", 1));
  EXPECT_EQ(code, 2);
  EXPECT_THAT(messages_.all, Contains(HasSubstr("in use")));
  EXPECT_THAT(messages_.all, Not(Contains(HasSubstr("old story"))));
}

TEST_F(LauncherTest, AStopRequestReachesTheCoordinatorAsSigterm) {
  // The worker's end raises the signal in the launcher, by its message.
  messages_.raise_on_message = false;
  const std::string worker = fmt::format("#!/bin/sh\nkill -INT {}\n", getpid());
  ASSERT_OK_AND_ASSIGN(const int code,
                       Launch(std::string(kListen) + kUntilTerm + "sys.exit(5)\n", worker, 1));
  EXPECT_EQ(code, 5);
  EXPECT_THAT(messages_.all, Contains(HasSubstr("stopping at the next border")));
}

TEST_F(LauncherTest, ASecondStopRequestKills) {
  messages_.raise_on_message = true;  // The first request is told, and that raises the second.
  const std::string worker = fmt::format("#!/bin/sh\nkill -INT {}\n", getpid());
  const std::string deaf = std::string(kListen) + "while True: signal.sigwait([signal.SIGTERM])\n";
  ASSERT_OK_AND_ASSIGN(const int code, Launch(deaf, worker, 1));
  EXPECT_EQ(code, 5);
}

TEST_F(LauncherTest, AProgramThatIsNotThereIsNamed) {
  LaunchOptions options;
  options.state_dir = folder_ + "/state";
  options.coordinator_binary = folder_ + "/nothing";
  ASSERT_OK_AND_ASSIGN(const auto launcher, Launcher::Create(options, &messages_));
  EXPECT_THAT(launcher->Run(), StatusIs(absl::StatusCode::kNotFound, HasSubstr("nothing")));
}

}  // namespace
}  // namespace rondo::cli
