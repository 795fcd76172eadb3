// Measures steps of the sparse all-reduce, P processes, against the dense ring and all-gather of
// everybody's top k. Prints one JSON object a line; its selection alone is selection_bench's.
//
// bench "sparse": kind (exact, threshold, dense or topk), P, n, density, k, link;
//   ms, ms_min, ms_max: a step, the slowest rank's time, median over the repeats;
//   bytes_sent: payload and headers of a step, the most of any rank; entry_words: payload of
//   entries in words of 4 bytes, in k; stages: rank 0's milliseconds a step by stage.
// Links: loopback of this machine, or one network namespace a rank (--netns, --bind), prepared by
// sparse_links.sh.
#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "common/clock.h"
#include "common/density.h"
#include "common/status_macros.h"
#include "kernels/flat_floats.h"
#include "kernels/span.h"
#include "worker/collectives/abort_flag.h"
#include "worker/collectives/communicator.h"
#include "worker/collectives/dense_reduction.h"
#include "worker/collectives/reduction.h"
#include "worker/collectives/sparse/sparse_allreduce.h"
#include "worker/collectives/sparse/sparse_report.h"
#include "worker/collectives/sparse/topk_gather.h"
#include "worker/collectives/tcp/tcp_listener.h"
#include "worker/collectives/tcp/tcp_mesh.h"

namespace rondo {
namespace {

using Steady = std::chrono::steady_clock;

constexpr absl::Duration kLimit = absl::Seconds(300);
constexpr int kRanksMax = 64;
constexpr int64_t kShift = 4099;
constexpr int64_t kShifts = 97;

struct Flags {
  std::vector<int> ranks = {2, 4, 8};
  std::vector<int64_t> sizes = {1'000'000, 10'000'000};
  std::vector<double> densities = {0.001, 0.01, 0.05};
  std::vector<std::string> kinds = {"exact", "threshold", "dense", "topk"};
  int steps = 3;
  int repeats = 5;
  int warm_up = 10;
  std::string link = "loopback";
  std::vector<std::string> namespaces;
  std::vector<std::string> addresses;
};

double SecondsSince(Steady::time_point start) {
  return std::chrono::duration<double>(Steady::now() - start).count();
}

FlatFloats Normal(int64_t size, uint32_t seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  FlatFloats values(static_cast<size_t>(size));
  for (float& x : values) x = normal(generator);
  return values;
}

struct Case {
  std::string kind;
  int64_t n = 0;
  double density = 0;
};

absl::StatusOr<std::unique_ptr<Reduction>> MakeReduction(const Case& what, Clock* clock) {
  const int64_t k = EntriesFor(what.n, what.density);
  if (what.kind == "dense") return std::make_unique<DenseReduction>(what.n);
  if (what.kind == "topk") return TopkGather::Make(what.n, k, clock);
  const SparseSelect select =
      what.kind == "exact" ? SparseSelect::kExact : SparseSelect::kThreshold;
  return SparseAllReduce::Make({.size = what.n, .k = k, .select = select}, clock);
}

const SparseReport* ReportOf(const Case& what, const Reduction& reduction) {
  if (what.kind == "dense") return nullptr;
  if (what.kind == "topk") return &static_cast<const TopkGather&>(reduction).report();
  return &static_cast<const SparseAllReduce&>(reduction).report();
}

// In memory that all processes share: what each rank measured of one repeat.
struct Shared {
  std::atomic<int64_t> nanoseconds[kRanksMax];
  std::atomic<int64_t> bytes_sent[kRanksMax];
};

// One rank of one group, all cases; rank 0 prints.
class Rank {
 public:
  Rank(const Flags& flags, Communicator& group, Shared& shared)
      : flags_(flags), group_(group), shared_(shared) {}

  absl::Status Measure(const Case& what) {
    // Each step sees other values at each index: the vector begins elsewhere.
    const FlatFloats values =
        Normal(what.n + kShift * kShifts, static_cast<uint32_t>(group_.rank()) + 1);
    int64_t steps_done = 0;
    FlatFloats mean(static_cast<size_t>(what.n));
    ASSIGN_OR_RETURN(const std::unique_ptr<Reduction> reduction, MakeReduction(what, &clock_));
    const auto step = [&]() -> absl::Status {
      const float* const begin = values.data() + kShift * (steps_done++ % kShifts);
      RETURN_IF_ERROR(reduction->Reduce(call_, {.values = {begin, what.n}}, {mean.data(), what.n},
                                        kLimit, &group_));
      reduction->Commit();
      return absl::OkStatus();
    };
    stage_ms_.assign(kSparseStages, 0);
    entry_words_ = 0;
    std::vector<double> milliseconds;
    int64_t bytes = 0;
    for (int i = 0; i < flags_.warm_up; ++i) RETURN_IF_ERROR(step());
    for (int repeat = 0; repeat < flags_.repeats; ++repeat) {
      RETURN_IF_ERROR(Barrier());
      const TrafficCounters before = group_.Counters();
      const Steady::time_point start = Steady::now();
      for (int i = 0; i < flags_.steps; ++i) {
        RETURN_IF_ERROR(step());
        AddReport(ReportOf(what, *reduction));
      }
      shared_.nanoseconds[group_.rank()] = static_cast<int64_t>(SecondsSince(start) * 1e9);
      const TrafficCounters traffic = group_.Counters() - before;
      shared_.bytes_sent[group_.rank()] = traffic.payload_bytes_sent + traffic.header_bytes_sent;
      RETURN_IF_ERROR(Barrier());
      int64_t slowest = 0;
      for (int rank = 0; rank < group_.size(); ++rank) {
        slowest = std::max(slowest, shared_.nanoseconds[rank].load());
        bytes = std::max(bytes, shared_.bytes_sent[rank].load());
      }
      milliseconds.push_back(static_cast<double>(slowest) * 1e-6 / flags_.steps);
      RETURN_IF_ERROR(Barrier());
    }
    if (group_.rank() == 0) Print(what, milliseconds, bytes / flags_.steps);
    return absl::OkStatus();
  }

 private:
  absl::Status Barrier() { return group_.AllReduceSum(call_, std::span<uint64_t>(), kLimit); }

  void AddReport(const SparseReport* report) {
    if (report == nullptr) return;
    for (int stage = 0; stage < kSparseStages; ++stage) {
      stage_ms_[stage] += absl::ToDoubleMilliseconds(report->costs[stage].time);
    }
    entry_words_ += static_cast<double>(report->entry_bytes_sent()) / 4;
  }

  void Print(const Case& what, std::vector<double> milliseconds, int64_t bytes) {
    std::sort(milliseconds.begin(), milliseconds.end());
    const int64_t k = EntriesFor(what.n, what.density);
    nlohmann::ordered_json line = {{"bench", "sparse"},
                                   {"kind", what.kind},
                                   {"P", group_.size()},
                                   {"n", what.n},
                                   {"density", what.density},
                                   {"k", k},
                                   {"link", flags_.link},
                                   {"ms", milliseconds[milliseconds.size() / 2]},
                                   {"ms_min", milliseconds.front()},
                                   {"ms_max", milliseconds.back()},
                                   {"bytes_sent", bytes}};
    if (what.kind != "dense") {
      const double calls = static_cast<double>(flags_.repeats) * flags_.steps;
      line["entry_words_per_k"] = entry_words_ / calls / static_cast<double>(k);
      for (int stage = 0; stage < kSparseStages; ++stage) {
        line["stages"][std::string(NameOf(static_cast<SparseStage>(stage)))] =
            stage_ms_[stage] / calls;
      }
    }
    fmt::print("{}\n", line.dump());
    std::fflush(stdout);
  }

  const Flags& flags_;
  Communicator& group_;
  Shared& shared_;
  RealClock clock_;
  const CallId call_ = {.round = 1, .attempt_or_step = 1, .phase = Phase::kGradients};
  std::vector<double> stage_ms_;
  double entry_words_ = 0;
};

absl::Status MeasureAll(const Flags& flags, Rank* rank) {
  for (const int64_t n : flags.sizes) {
    for (const std::string& kind : flags.kinds) {
      for (const double density : flags.densities) {
        RETURN_IF_ERROR(rank->Measure({kind, n, density}));
        if (kind == "dense") break;  // knows no density
      }
    }
  }
  return absl::OkStatus();
}

absl::Status EnterNamespace(const std::string& name) {
  const int fd = open(("/var/run/netns/" + name).c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0 || setns(fd, CLONE_NEWNET) != 0) {
    return absl::InternalError(
        fmt::format("can't enter network namespace '{}': {}", name, std::strerror(errno)));
  }
  close(fd);
  return absl::OkStatus();
}

absl::Status RunRank(const Flags& flags, const TcpListener& listener, MeshSpec spec, int rank,
                     Shared& shared) {
  spec.rank = rank;
  if (!flags.namespaces.empty()) RETURN_IF_ERROR(EnterNamespace(flags.namespaces[rank]));
  ASSIGN_OR_RETURN(const std::unique_ptr<Communicator> group,
                   ConnectMesh(listener, spec, kLimit, std::make_shared<AbortFlag>()));
  Rank measured(flags, *group, shared);
  return MeasureAll(flags, &measured);
}

absl::StatusOr<std::unique_ptr<TcpListener>> ListenAs(const Flags& flags, int rank) {
  if (flags.namespaces.empty()) return TcpListener::Listen({.bind_address = "127.0.0.1"});
  RETURN_IF_ERROR(EnterNamespace(flags.namespaces[rank]));
  return TcpListener::Listen({.bind_address = flags.addresses[rank]});
}

// Forks the ranks of one group and waits for them.
absl::Status RunGroup(const Flags& flags, int ranks, Shared& shared) {
  MeshSpec spec;
  spec.token = std::string(16, 'b');
  std::vector<std::unique_ptr<TcpListener>> listeners;
  for (int rank = 0; rank < ranks; ++rank) {
    ASSIGN_OR_RETURN(auto listener, ListenAs(flags, rank));
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

absl::Status Run(const Flags& flags) {
  void* const memory =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return absl::InternalError("no shared memory");
  Shared& shared = *new (memory) Shared();
  for (const int ranks : flags.ranks) {
    const bool enough = static_cast<int>(flags.namespaces.size()) >= ranks &&
                        static_cast<int>(flags.addresses.size()) >= ranks;
    if (!flags.namespaces.empty() && !enough) {
      return absl::InvalidArgumentError(
          fmt::format("--netns and --bind must name {} namespaces and addresses", ranks));
    }
    RETURN_IF_ERROR(RunGroup(flags, ranks, shared));
  }
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  Flags flags;
  CLI::App app(
      "Measures the sparse all-reduce against the dense ring and all-gather of everybody's top k, "
      "P processes on this machine. One JSON object a line; the source's head says what its fields "
      "mean.");
  app.add_option("--ranks", flags.ranks, "Group sizes")->check(CLI::Range(1, kRanksMax));
  app.add_option("--n", flags.sizes, "Elements")->check(CLI::PositiveNumber);
  app.add_option("--density", flags.densities, "Share selected")->check(CLI::Range(1e-9, 1.0));
  app.add_option("--kind", flags.kinds, "What to measure")
      ->check(CLI::IsMember({"exact", "threshold", "dense", "topk"}));
  app.add_option("--steps", flags.steps, "Steps in a repeat")->check(CLI::PositiveNumber);
  app.add_option("--repeats", flags.repeats, "Repeats")->check(CLI::PositiveNumber);
  app.add_option("--warm-up", flags.warm_up, "Steps before, in which residuals grow")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--link", flags.link, "What the links are, for the output");
  app.add_option("--netns", flags.namespaces, "A network namespace for each rank");
  app.add_option("--bind", flags.addresses, "The address of each rank in its namespace");
  CLI11_PARSE(app, argc, argv);
  const absl::Status status = Run(flags);
  if (status.ok()) return 0;
  std::fprintf(stderr, "sparse_bench: %s\n", status.ToString().c_str());
  return 1;
}

}  // namespace
}  // namespace rondo

int main(int argc, char** argv) { return rondo::Main(argc, argv); }
