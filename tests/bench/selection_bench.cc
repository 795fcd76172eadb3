// Measures the selection of the sparse all-reduce on one core against a memcpy. Prints one JSON
// object a line, one for each n and density:
//   bench: "selection"; n, density, k, path ("avx512", "avx2" or "baseline");
//   select_ms: CountKeys + SelectTopK of one vector: what torch.topk does, and in order of index;
//   count_ms: CountKeys alone; exact_ms: a step's selection, with the sum of residual and gradient
//   (AccumulateKeys + SelectTopK); threshold_ms: the same by a threshold (AccumulateSelect);
//   accumulate_ms: the sum alone; memcpy_ms: a memcpy of the vector. Medians of CPU time.
#include <fmt/format.h>
#include <time.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/status_macros.h"
#include "kernels/accumulate.h"
#include "kernels/cpu_path.h"
#include "kernels/flat_floats.h"
#include "kernels/key_formula.h"
#include "kernels/key_histogram.h"
#include "kernels/select.h"
#include "kernels/select_formula.h"
#include "kernels/span.h"
#include "kernels/sparse_entry.h"

namespace rondo {
namespace {

struct Flags {
  std::vector<int64_t> sizes = {1'000'000, 10'000'000, 25'000'000};
  std::vector<double> densities = {0.001, 0.01, 0.05};
  int repeats = 9;
};

double ThreadCpuMs() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

FlatFloats Normal(int64_t size, uint32_t seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  FlatFloats values(static_cast<size_t>(size));
  for (float& x : values) x = normal(generator);
  return values;
}

// Median CPU milliseconds.
absl::StatusOr<double> CpuTime(int repeats, const std::function<absl::Status()>& call) {
  std::vector<double> times;
  for (int i = 0; i <= repeats; ++i) {
    const double start = ThreadCpuMs();
    RETURN_IF_ERROR(call());
    if (i > 0) times.push_back(ThreadCpuMs() - start);  // the first touches the memory
  }
  return Median(times);
}

absl::Status MeasureSelection(const Flags& flags, int64_t n, double density) {
  FlatFloats residual = Normal(n, 1), values = Normal(n, 2), result(static_cast<size_t>(n));
  const DeviceSpan<float> r(residual.data(), n), v(values.data(), n), a(result.data(), n);
  const int64_t k = std::max<int64_t>(1, static_cast<int64_t>(density * n));
  SparseEntries entries(static_cast<size_t>(SelectRoom(n, k)));
  const DeviceSpan<SparseEntry> places(entries.data(), static_cast<int64_t>(entries.size()));
  KeyHistogram histogram;
  uint32_t threshold = 1;
  ASSIGN_OR_RETURN(const double exact, CpuTime(flags.repeats, [&]() -> absl::Status {
                     RETURN_IF_ERROR(AccumulateKeys({r, v, a}, 1, &histogram));
                     ASSIGN_OR_RETURN(const Selected got, SelectTopK(a, histogram, k, places));
                     threshold = got.lowest_key;
                     return absl::OkStatus();
                   }));
  ASSIGN_OR_RETURN(const double count, CpuTime(flags.repeats, [&]() -> absl::Status {
                     return CountKeys(a, &histogram);
                   }));
  ASSIGN_OR_RETURN(const double select, CpuTime(flags.repeats, [&]() -> absl::Status {
                     RETURN_IF_ERROR(CountKeys(a, &histogram));
                     return SelectTopK(a, histogram, k, places).status();
                   }));
  ASSIGN_OR_RETURN(const double by_threshold, CpuTime(flags.repeats, [&]() -> absl::Status {
                     return AccumulateSelect({r, v, a}, 1, threshold, places).status();
                   }));
  ASSIGN_OR_RETURN(const double sum, CpuTime(flags.repeats, [&]() -> absl::Status {
                     return Sum({r, v, a});
                   }));
  ASSIGN_OR_RETURN(const double copy, CpuTime(flags.repeats, [&]() -> absl::Status {
                     std::memcpy(a.data, r.data, static_cast<size_t>(n) * sizeof(float));
                     asm volatile("" : : "r"(a.data) : "memory");
                     return absl::OkStatus();
                   }));
  const nlohmann::ordered_json line = {{"bench", "selection"},
                                       {"n", n},
                                       {"density", density},
                                       {"k", k},
                                       {"path", NameOf(ActiveCpuPath())},
                                       {"select_ms", select},
                                       {"count_ms", count},
                                       {"exact_ms", exact},
                                       {"threshold_ms", by_threshold},
                                       {"accumulate_ms", sum},
                                       {"memcpy_ms", copy},
                                       {"repeats", flags.repeats}};
  fmt::print("{}\n", line.dump());
  std::fflush(stdout);
  return absl::OkStatus();
}

int Main(int argc, char** argv) {
  Flags flags;
  CLI::App app(
      "Measures the selection of the sparse all-reduce on one core against a memcpy. One JSON "
      "object a line; the source's head says what its fields mean.");
  app.add_option("--n", flags.sizes, "Elements")->check(CLI::PositiveNumber);
  app.add_option("--density", flags.densities, "Share selected")->check(CLI::Range(1e-9, 1.0));
  app.add_option("--repeats", flags.repeats, "Repeats")->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  for (const int64_t n : flags.sizes) {
    for (const double density : flags.densities) {
      const absl::Status status = MeasureSelection(flags, n, density);
      if (status.ok()) continue;
      fmt::print(stderr, "selection_bench: {}\n", status.ToString());
      return 1;
    }
  }
  return 0;
}

}  // namespace
}  // namespace rondo

int main(int argc, char** argv) { return rondo::Main(argc, argv); }
