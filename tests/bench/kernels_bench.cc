// Measures the CPU kernels on one core against memcpy of the same traffic in the same run.
//
// Prints one JSON object a line, one for each kernel and size:
// bench: "kernels";
// kernel: sgd_momentum, sgd, adamw, add, add_scaled, norm, is_finite or state_hash;
// n: float32 elements in each span;
// path: "avx512", "avx2" or "baseline", the vector instructions taken;
// bytes: least traffic of one call, every byte that must be read or written, once;
// ms: median milliseconds of one call;
// cpu_ms: the same in CPU time, which other work on the machine disturbs less;
// gbps: bytes / cpu_ms, in 10^9 bytes a second;
// memcpy_ms: median of a memcpy that reads bytes/2 and writes bytes/2, interleaved with the kernel;
// memcpy_cpu_ms: the same in CPU time;
// memcpy_gbps: bytes / memcpy_cpu_ms;
// ratio: gbps / memcpy_gbps, 1 means at the speed of memcpy;
// repeats: timed repetitions behind each median.
// The torch side is peers/onecore_kernels.py; it counts the same bytes.
#include <fmt/format.h>
#include <time.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/accumulate.h"
#include "kernels/adamw.h"
#include "kernels/cpu_path.h"
#include "kernels/flat_floats.h"
#include "kernels/norm.h"
#include "kernels/sgd.h"
#include "kernels/span.h"
#include "kernels/state_hash.h"

namespace rondo {
namespace {

struct Flags {
  std::vector<int64_t> sizes = {16'384, 1'000'000, 10'000'000};
  int repeats = 15;
  CpuPath path = BestCpuPath();
};

// Four spans' memory, and two more for memcpy, of which each takes half of the largest traffic.
struct Memory {
  explicit Memory(int64_t n) : spans(4), from(Bytes(n)), to(Bytes(n)) {
    std::mt19937 generator(1);
    std::normal_distribution<float> normal;
    for (FlatFloats& span : spans) {
      span.resize(static_cast<size_t>(n));
      for (float& x : span) x = normal(generator);
    }
    for (float& x : spans[3]) x *= x;  // A second moment isn't negative.
  }
  static size_t Bytes(int64_t n) { return static_cast<size_t>(14 * n); }
  DeviceSpan<float> Span(int index) {
    return {spans[index].data(), static_cast<int64_t>(spans[index].size())};
  }

  std::vector<FlatFloats> spans;
  std::vector<char, HugePageAllocator<char>> from;
  std::vector<char, HugePageAllocator<char>> to;
};

struct Benchmark {
  std::string kernel;
  int64_t bytes_per_element;
  std::function<absl::Status(Memory&)> run;
};

absl::Status RunAdamw(Memory& memory) {
  const absl::StatusOr<AdamwParams> params =
      MakeAdamwParams({.learning_rate = 1e-6, .weight_decay = 1e-2, .step = 10});
  if (!params.ok()) return params.status();
  return Adamw(*params, {memory.Span(0), memory.Span(1), memory.Span(2), memory.Span(3)});
}

std::vector<Benchmark> AllBenchmarks() {
  return {
      {"sgd_momentum", 20,
       [](Memory& m) {
         return Sgd({.learning_rate = 1e-6f, .momentum = 0.9f, .weight_decay = 1e-4f},
                    {m.Span(0), m.Span(1), m.Span(2)});
       }},
      {"sgd", 12,
       [](Memory& m) {
         return Sgd({.learning_rate = 1e-6f}, {m.Span(0), m.Span(1), {}});
       }},
      {"adamw", 28, RunAdamw},
      {"add", 12, [](Memory& m) { return Add(m.Span(0), m.Span(1)); }},
      {"add_scaled", 12, [](Memory& m) { return AddScaled(m.Span(0), 1e-3f, m.Span(1)); }},
      {"norm", 4, [](Memory& m) { return ComputeNorm(m.Span(0)).status(); }},
      {"is_finite", 4, [](Memory& m) { return IsFinite(m.Span(0)).status(); }},
      {"state_hash", 4, [](Memory& m) { return StateHash(m.Span(0), 0).status(); }},
  };
}

// Of one call, in milliseconds.
struct Times {
  std::vector<double> wall;
  std::vector<double> cpu;
};

double ThreadCpuMs() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

template <typename Call>
void AddTime(int64_t calls, const Call& call, Times& times) {
  const double cpu_start = ThreadCpuMs();
  const auto start = std::chrono::steady_clock::now();
  for (int64_t i = 0; i < calls; ++i) call();
  const std::chrono::duration<double, std::milli> spent = std::chrono::steady_clock::now() - start;
  times.wall.push_back(spent.count() / static_cast<double>(calls));
  times.cpu.push_back((ThreadCpuMs() - cpu_start) / static_cast<double>(calls));
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

absl::Status Measure(const Benchmark& benchmark, int64_t n, int repeats, Memory& memory) {
  const int64_t bytes = benchmark.bytes_per_element * n;
  const int64_t calls = std::max<int64_t>(1, 4'000'000 / n);
  const auto copy = [&] {
    std::memcpy(memory.to.data(), memory.from.data(), static_cast<size_t>(bytes / 2));
    asm volatile("" : : "r"(memory.to.data()) : "memory");  // The copy must really be made.
  };
  absl::Status status;
  const auto kernel = [&] { status.Update(benchmark.run(memory)); };
  copy();
  kernel();
  Times kernel_times, copy_times;
  for (int i = 0; i < repeats; ++i) {
    AddTime(calls, copy, copy_times);
    AddTime(calls, kernel, kernel_times);
  }
  if (!status.ok()) return status;
  const double cpu_ms = Median(kernel_times.cpu), memcpy_cpu_ms = Median(copy_times.cpu);
  nlohmann::ordered_json line;
  line["bench"] = "kernels";
  line["kernel"] = benchmark.kernel;
  line["n"] = n;
  line["path"] = NameOf(ActiveCpuPath());
  line["bytes"] = bytes;
  line["ms"] = Median(kernel_times.wall);
  line["cpu_ms"] = cpu_ms;
  line["gbps"] = static_cast<double>(bytes) / cpu_ms * 1e-6;
  line["memcpy_ms"] = Median(copy_times.wall);
  line["memcpy_cpu_ms"] = memcpy_cpu_ms;
  line["memcpy_gbps"] = static_cast<double>(bytes) / memcpy_cpu_ms * 1e-6;
  line["ratio"] = memcpy_cpu_ms / cpu_ms;
  line["repeats"] = repeats;
  fmt::print("{}\n", line.dump());
  std::fflush(stdout);
  return absl::OkStatus();
}

absl::Status MeasureAll(const Flags& flags) {
  for (const int64_t n : flags.sizes) {
    Memory memory(n);
    for (const Benchmark& benchmark : AllBenchmarks()) {
      absl::Status status = Measure(benchmark, n, flags.repeats, memory);
      if (!status.ok()) return status;
    }
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace rondo

int main(int argc, char** argv) {
  rondo::Flags flags;
  CLI::App app(
      "Measures the CPU kernels on one core against memcpy of the same traffic. One JSON object a "
      "line: bench, kernel, n, path, bytes, ms, cpu_ms, gbps (bytes / cpu_ms), memcpy_ms, "
      "memcpy_cpu_ms, memcpy_gbps, ratio (gbps / memcpy_gbps), repeats.");
  app.add_option("--n", flags.sizes, "float32 elements in each span; several are allowed")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 33))
      ->capture_default_str();
  app.add_option("--repeats", flags.repeats, "timed repetitions behind each median")
      ->check(CLI::Range(1, 10'000))
      ->capture_default_str();
  const std::map<std::string, rondo::CpuPath> paths = {{"baseline", rondo::CpuPath::kBaseline},
                                                       {"avx2", rondo::CpuPath::kAvx2},
                                                       {"avx512", rondo::CpuPath::kAvx512}};
  app.add_option("--path", flags.path, "vector instructions, at most; the widest if not given")
      ->transform(CLI::CheckedTransformer(paths));
  CLI11_PARSE(app, argc, argv);
  const rondo::ScopedCpuPath path(flags.path);
  const absl::Status status = rondo::MeasureAll(flags);
  if (!status.ok()) {
    fmt::print(stderr, "kernels_bench: {}\n", status.ToString());
    return EXIT_FAILURE;
  }
  return EXIT_SUCCESS;
}
