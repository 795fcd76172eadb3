#include "worker/collectives/tcp/forked_ranks.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <utility>

#include "absl/time/time.h"
#include "common/status_matchers.h"
#include "worker/collectives/abort_flag.h"
#include "worker/collectives/tcp/loopback_group.h"
#include "worker/collectives/tcp/tcp_listener.h"
#include "worker/collectives/tcp/tcp_mesh.h"

namespace rondo {
namespace {

constexpr int kRanks = 4;
constexpr int kVictim = 2;
constexpr char kDone = 'd';

// In the rank's process.
int WorkUntilItFails(const TcpListener& listener, const MeshSpec& spec, const RankWork& work,
                     int out) {
  auto group = ConnectMesh(listener, spec, absl::Seconds(60), std::make_shared<AbortFlag>());
  if (!group.ok()) return static_cast<int>(group.status().code());
  const RankCall call = work(**group);
  while (true) {
    if (const int code = call(); code != 0) return code;
    if (write(out, &kDone, 1) != 1) return kPipeFailed;
  }
}

int ExitCode(pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

std::vector<int> StrikeForkedRank(int signal, const RankWork& work) {
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
      _exit(WorkUntilItFails(*listeners[rank], spec, work, pipe_ends[1]));
    }
    children.push_back(child);
  }
  close(pipe_ends[1]);  // If the ranks end too early, the reads end.
  char byte;
  for (int i = 0; i < 3 * kRanks; ++i) EXPECT_EQ(read(pipe_ends[0], &byte, 1), 1);
  kill(children[kVictim], signal);
  std::vector<int> codes;
  for (int rank = 0; rank < kRanks; ++rank) {
    if (rank != kVictim) codes.push_back(ExitCode(children[rank]));
  }
  kill(children[kVictim], SIGKILL);
  ExitCode(children[kVictim]);
  close(pipe_ends[0]);
  return codes;
}

}  // namespace rondo
