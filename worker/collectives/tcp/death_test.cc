// Ranks as processes: one is killed or frozen in the middle of an all-reduce.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

#include "common/status_matchers.h"
#include "kernels/span.h"
#include "worker/collectives/abort_flag.h"
#include "worker/collectives/communicator.h"
#include "worker/collectives/tcp/loopback_group.h"
#include "worker/collectives/tcp/tcp_listener.h"
#include "worker/collectives/tcp/tcp_mesh.h"

namespace rondo {
namespace {

constexpr int kRanks = 4;
constexpr int kVictim = 2;
constexpr char kSummed = 's';
constexpr int kPipeFailed = 99;

// Sums again and again until it fails; says kSummed after each success. Returns the code of the
// failure.
int SumUntilItFails(const TcpListener& listener, const MeshSpec& spec, absl::Duration limit,
                    int out) {
  auto group = ConnectMesh(listener, spec, absl::Seconds(60), std::make_shared<AbortFlag>());
  if (!group.ok()) return static_cast<int>(group.status().code());
  std::vector<float> data(2'000'000);
  const DeviceSpan<float> span(data.data(), static_cast<int64_t>(data.size()));
  const CallId call = {.round = 1, .attempt_or_step = 1, .phase = Phase::kParameters};
  while (true) {
    const absl::Status status = (*group)->AllReduceSum(call, span, limit);
    if (!status.ok()) return static_cast<int>(status.code());
    if (write(out, &kSummed, 1) != 1) return kPipeFailed;
  }
}

class DeathTest : public testing::Test {
 protected:
  // Forks all ranks (this process has no other thread), waits until the victim is in its third sum
  // or so, and sends it `signal`. Then the exit codes of the survivors.
  std::vector<absl::StatusCode> StrikeWith(int signal, absl::Duration limit) {
    std::vector<std::unique_ptr<TcpListener>> listeners;
    MeshSpec spec;
    spec.token = LoopbackToken();
    for (int rank = 0; rank < kRanks; ++rank) {
      auto listener = TcpListener::Listen({.bind_address = "127.0.0.1"});
      EXPECT_OK(listener);
      spec.endpoints.push_back((*listener)->Endpoint());
      listeners.push_back(*std::move(listener));
    }
    int pipe_ends[2];
    EXPECT_EQ(pipe(pipe_ends), 0);
    std::vector<pid_t> children;
    for (int rank = 0; rank < kRanks; ++rank) {
      const pid_t child = fork();
      if (child == 0) {
        spec.rank = rank;
        _exit(SumUntilItFails(*listeners[rank], spec, limit, pipe_ends[1]));
      }
      children.push_back(child);
    }
    char byte;
    for (int i = 0; i < 3 * kRanks; ++i) EXPECT_EQ(read(pipe_ends[0], &byte, 1), 1);
    kill(children[kVictim], signal);
    std::vector<absl::StatusCode> codes;
    for (int rank = 0; rank < kRanks; ++rank) {
      if (rank == kVictim) continue;
      codes.push_back(ExitCode(children[rank]));
    }
    kill(children[kVictim], SIGKILL);
    ExitCode(children[kVictim]);
    close(pipe_ends[0]);
    close(pipe_ends[1]);
    return codes;
  }

 private:
  static absl::StatusCode ExitCode(pid_t child) {
    int status = 0;
    waitpid(child, &status, 0);
    return static_cast<absl::StatusCode>(WIFEXITED(status) ? WEXITSTATUS(status) : -1);
  }
};

// S01, S08 (no rank is special). The time limit is out of the test's own: only the death can end
// the calls.
TEST_F(DeathTest, OfOneRankEndsTheCallOnAllOthers) {
  for (const absl::StatusCode code : StrikeWith(SIGKILL, absl::Hours(1))) {
    EXPECT_EQ(code, absl::StatusCode::kUnavailable);
  }
}

TEST_F(DeathTest, AFrozenRankEndsTheCallOnAllOthersByTheTimeLimit) {
  for (const absl::StatusCode code : StrikeWith(SIGSTOP, absl::Seconds(5))) {
    // The first whose limit passes takes its connections down; the rest see that or their own
    // limit.
    EXPECT_TRUE(code == absl::StatusCode::kDeadlineExceeded ||
                code == absl::StatusCode::kUnavailable)
        << code;
  }
}

}  // namespace
}  // namespace rondo
