// How fast the tcp backend's all-reduce is: P processes on this machine, over loopback, by size.
// One JSON line for each P and size. The peer that it is compared with is
// tests/bench/peers/allreduce_gloo.py.
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/status_macros.h"
#include "kernels/span.h"
#include "worker/collectives/abort_flag.h"
#include "worker/collectives/communicator.h"
#include "worker/collectives/tcp/tcp_listener.h"
#include "worker/collectives/tcp/tcp_mesh.h"

namespace rondo {
namespace {

using Steady = std::chrono::steady_clock;

constexpr absl::Duration kLimit = absl::Seconds(120);
constexpr int kRanksMax = 64;

struct Flags {
  std::vector<int> ranks = {2, 4, 8};
  std::vector<int64_t> bytes = {4 << 10, 64 << 10, 1 << 20, 12'000'000, 40'000'000, 100'000'000};
  double seconds = 0.5;
  int repeats = 5;
  int64_t doubling_bytes_max = TcpOptions{}.doubling_bytes_max;
};

// In memory that all processes share: what each rank measured of one repeat.
struct Shared {
  std::atomic<int64_t> cpu_microseconds[kRanksMax];
  std::atomic<int64_t> nanoseconds[kRanksMax];
};

double SecondsSince(Steady::time_point start) {
  return std::chrono::duration<double>(Steady::now() - start).count();
}

int64_t CpuMicroseconds() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1'000'000 + usage.ru_utime.tv_usec +
         usage.ru_stime.tv_usec;
}

// One rank of one group, all sizes; rank 0 prints.
class Rank {
 public:
  Rank(const Flags& flags, Communicator& group, Shared& shared)
      : flags_(flags), group_(group), shared_(shared) {}

  absl::Status Run(double connect_seconds) {
    connect_seconds_ = connect_seconds;
    for (const int64_t bytes : flags_.bytes) RETURN_IF_ERROR(Measure(bytes));
    return absl::OkStatus();
  }

 private:
  absl::Status Calls(int64_t count) {
    const DeviceSpan<float> span(data_.data(), static_cast<int64_t>(data_.size()));
    for (int64_t i = 0; i < count; ++i) {
      RETURN_IF_ERROR(group_.AllReduceSum(call_, span, kLimit));
    }
    return absl::OkStatus();
  }

  // All ranks use the number that rank 0 found to take about `flags_.seconds`.
  absl::StatusOr<int64_t> CallsPerRepeat() {
    RETURN_IF_ERROR(Calls(2));
    const Steady::time_point start = Steady::now();
    RETURN_IF_ERROR(Calls(3));
    int64_t count = std::clamp<int64_t>(
        static_cast<int64_t>(3 * flags_.seconds / std::max(SecondsSince(start), 1e-7)), 3, 20'000);
    const ByteSpan bytes = AsWritableBytes(DeviceSpan<int64_t>(&count, 1));
    RETURN_IF_ERROR(group_.Broadcast(call_, 0, bytes, kLimit));
    return count;
  }

  absl::Status Measure(int64_t bytes) {
    data_.assign(static_cast<size_t>(bytes) / sizeof(float), 0.0f);
    ASSIGN_OR_RETURN(const int64_t count, CallsPerRepeat());
    std::vector<double> milliseconds;
    double cpu_seconds = 0;
    for (int repeat = 0; repeat < flags_.repeats; ++repeat) {
      RETURN_IF_ERROR(Barrier());
      const int64_t cpu = CpuMicroseconds();
      const Steady::time_point start = Steady::now();
      RETURN_IF_ERROR(Calls(count));
      shared_.nanoseconds[group_.rank()] = static_cast<int64_t>(SecondsSince(start) * 1e9);
      shared_.cpu_microseconds[group_.rank()] = CpuMicroseconds() - cpu;
      RETURN_IF_ERROR(Barrier());
      int64_t slowest = 0;
      for (int rank = 0; rank < group_.size(); ++rank) {
        slowest = std::max(slowest, shared_.nanoseconds[rank].load());
        cpu_seconds += static_cast<double>(shared_.cpu_microseconds[rank].load()) * 1e-6;
      }
      milliseconds.push_back(static_cast<double>(slowest) * 1e-6 / static_cast<double>(count));
    }
    if (group_.rank() == 0) Print(bytes, count, milliseconds, cpu_seconds);
    return absl::OkStatus();
  }

  absl::Status Barrier() { return group_.AllReduceSum(call_, std::span<uint64_t>(), kLimit); }

  void Print(int64_t bytes, int64_t count, std::vector<double> milliseconds, double cpu_seconds) {
    std::sort(milliseconds.begin(), milliseconds.end());
    const double median = milliseconds[milliseconds.size() / 2];
    const double ranks = group_.size();
    const double bus = 2 * (ranks - 1) / ranks * static_cast<double>(bytes) / (median * 1e-3) / 1e9;
    const nlohmann::json line = {
        {"bench", "allreduce"},
        {"backend", "tcp"},
        {"P", group_.size()},
        {"bytes", bytes},
        {"ms", median},
        {"ms_min", milliseconds.front()},
        {"ms_max", milliseconds.back()},
        {"busbw_GBps", bus},
        {"cpu_ms_all", 1e3 * cpu_seconds / static_cast<double>(count * flags_.repeats)},
        {"calls", count},
        {"repeats", flags_.repeats},
        {"connect_ms", 1e3 * connect_seconds_}};
    std::printf("%s\n", line.dump().c_str());
    std::fflush(stdout);
  }

  const Flags& flags_;
  Communicator& group_;
  Shared& shared_;
  const CallId call_ = {.round = 1, .attempt_or_step = 1, .phase = Phase::kParameters};
  std::vector<float> data_;
  double connect_seconds_ = 0;
};

absl::Status RunRank(const Flags& flags, const TcpListener& listener, MeshSpec spec, int rank,
                     Shared& shared) {
  spec.rank = rank;
  const Steady::time_point start = Steady::now();
  ASSIGN_OR_RETURN(const std::unique_ptr<Communicator> group,
                   ConnectMesh(listener, spec, kLimit, std::make_shared<AbortFlag>()));
  return Rank(flags, *group, shared).Run(SecondsSince(start));
}

// Forks the ranks of one group and waits for them.
absl::Status RunGroup(const Flags& flags, int ranks, Shared& shared) {
  MeshSpec spec;
  spec.token = std::string(16, 'b');
  spec.options.doubling_bytes_max = flags.doubling_bytes_max;
  std::vector<std::unique_ptr<TcpListener>> listeners;
  for (int rank = 0; rank < ranks; ++rank) {
    ASSIGN_OR_RETURN(auto listener, TcpListener::Listen({.bind_address = "127.0.0.1"}));
    spec.endpoints.push_back(listener->Endpoint());
    listeners.push_back(std::move(listener));
  }
  std::vector<pid_t> children;
  for (int rank = 0; rank < ranks; ++rank) {
    const pid_t child = fork();
    if (child == 0) {
      const absl::Status status = RunRank(flags, *listeners[rank], spec, rank, shared);
      if (!status.ok()) std::fprintf(stderr, "rank %d: %s\n", rank, status.ToString().c_str());
      _exit(status.ok() ? 0 : 1);
    }
    children.push_back(child);
  }
  bool failed = false;
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    failed = failed || status != 0;
  }
  return failed ? absl::InternalError("a rank failed") : absl::OkStatus();
}

int Main(int argc, char** argv) {
  Flags flags;
  CLI::App app(
      "Times the tcp backend's all-reduce of float32 between P processes over loopback and prints "
      "a JSON line for each P "
      "and size: ms (median over the repeats of the slowest rank's time a call), busbw_GBps "
      "(2(P-1)/P * bytes / ms), "
      "cpu_ms_all (CPU time of all ranks a call), connect_ms (to build the group).");
  app.add_option("--ranks", flags.ranks, "Group sizes")
      ->check(CLI::Range(2, kRanksMax))
      ->capture_default_str();
  app.add_option("--bytes", flags.bytes, "Sizes in bytes, multiples of 4")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--seconds", flags.seconds, "Aimed at for one repeat of one size")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--repeats", flags.repeats, "Repeats of each size")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--doubling-bytes-max", flags.doubling_bytes_max,
                 "Recursive doubling up to this size, the ring above")
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  void* const memory =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    std::perror("mmap");
    return 1;
  }
  Shared& shared = *new (memory) Shared();
  for (const int ranks : flags.ranks) {
    const absl::Status status = RunGroup(flags, ranks, shared);
    if (!status.ok()) {
      std::fprintf(stderr, "P=%d: %s\n", ranks, status.ToString().c_str());
      return 1;
    }
  }
  return 0;
}

}  // namespace
}  // namespace rondo

int main(int argc, char** argv) { return rondo::Main(argc, argv); }
