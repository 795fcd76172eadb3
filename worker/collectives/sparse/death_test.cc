// Ranks as processes: one is killed or frozen somewhere in a run of sparse reductions. The others
// fail, with the residuals that they had committed.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/status_matchers.h"
#include "kernels/span.h"
#include "kernels/sparse_oracle.h"
#include "kernels/state_hash.h"
#include "worker/collectives/abort_flag.h"
#include "worker/collectives/communicator.h"
#include "worker/collectives/sparse/sparse_allreduce.h"
#include "worker/collectives/tcp/loopback_group.h"
#include "worker/collectives/tcp/tcp_listener.h"
#include "worker/collectives/tcp/tcp_mesh.h"

namespace rondo {
namespace {

constexpr int kRanks = 4;
constexpr int kVictim = 2;
constexpr int64_t kSize = 300'000;
constexpr char kReduced = 'r';
// Exit codes beside those of absl::StatusCode.
constexpr int kPipeFailed = 98;
constexpr int kResidualChanged = 99;

uint64_t HashOf(SparseAllReduce& reduction) {
  const auto hash = StateHash(reduction.residual(), 0);
  return hash.ok() ? *hash : 0;
}

// Reduces again and again until it fails; says kReduced after each success. Returns the code of the
// failure.
int ReduceUntilItFails(const TcpListener& listener, const MeshSpec& spec, absl::Duration limit,
                       int out) {
  auto group = ConnectMesh(listener, spec, absl::Seconds(60), std::make_shared<AbortFlag>());
  if (!group.ok()) return static_cast<int>(group.status().code());
  auto reduction = SparseAllReduce::Make({.size = kSize, .k = kSize / 10}, nullptr);
  const std::vector<float> values =
      FloatsOf(Shape::kNormal, kSize, static_cast<uint32_t>(spec.rank) + 1);
  std::vector<float> mean(kSize);
  for (int64_t step = 1;; ++step) {
    const uint64_t before = HashOf(**reduction);
    const CallId call = {.round = 1, .attempt_or_step = step, .phase = Phase::kGradients};
    const absl::Status status = (*reduction)
                                    ->Reduce(call, {.values = {values.data(), kSize}},
                                             {mean.data(), kSize}, limit, group->get());
    if (HashOf(**reduction) != before) return kResidualChanged;
    if (!status.ok()) return static_cast<int>(status.code());
    (*reduction)->Commit();
    if (write(out, &kReduced, 1) != 1) return kPipeFailed;
  }
}

// Forks all ranks (this process has no other thread), waits until the victim is in its third step
// or so, and sends it `signal`. Then the exit codes of the survivors.
std::vector<int> StrikeWith(int signal, absl::Duration limit) {
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
      _exit(ReduceUntilItFails(*listeners[rank], spec, limit, pipe_ends[1]));
    }
    children.push_back(child);
  }
  close(pipe_ends[1]);  // if the ranks end too early, the reads end
  char byte;
  for (int i = 0; i < 3 * kRanks; ++i) EXPECT_EQ(read(pipe_ends[0], &byte, 1), 1);
  kill(children[kVictim], signal);
  std::vector<int> codes;
  for (int rank = 0; rank < kRanks; ++rank) {
    if (rank == kVictim) continue;
    int status = 0;
    waitpid(children[rank], &status, 0);
    codes.push_back(WIFEXITED(status) ? WEXITSTATUS(status) : -1);
  }
  kill(children[kVictim], SIGKILL);
  waitpid(children[kVictim], nullptr, 0);
  close(pipe_ends[0]);
  return codes;
}

// The time limit is out of the test's own: only the death can end the calls.
TEST(SparseDeathTest, OfOneRankEndsTheStepOnAllOthersWithTheirResidualsUntouched) {
  for (const int code : StrikeWith(SIGKILL, absl::Hours(1))) {
    EXPECT_EQ(code, static_cast<int>(absl::StatusCode::kUnavailable));
  }
}

TEST(SparseDeathTest, AFrozenRankEndsTheStepOnAllOthersByTheTimeLimit) {
  for (const int code : StrikeWith(SIGSTOP, absl::Seconds(5))) {
    EXPECT_TRUE(code == static_cast<int>(absl::StatusCode::kDeadlineExceeded) ||
                code == static_cast<int>(absl::StatusCode::kUnavailable))
        << code;
  }
}

}  // namespace
}  // namespace rondo
