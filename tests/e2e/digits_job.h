// Jobs on the digits data for tests: a folder with the job file and its data.
#ifndef RONDO_TESTS_E2E_DIGITS_JOB_H_
#define RONDO_TESTS_E2E_DIGITS_JOB_H_

#include <string>

namespace rondo::e2e {

// Values of the job file's keys, as YAML.
struct DigitsJob {
  std::string seed = "1";
  std::string model = "{builtin: mlp, layers: [64, 128, 64, 10]}";
  std::string init;  // File name; empty: none.
  std::string shuffle = "true";
  std::string batch = "{per_worker: 8}";
  std::string optimizer = "{kind: sgd, momentum: 0.9, weight_decay: 1e-4, no_decay: []}";
  std::string schedule = "{kind: cosine, steps: 40, peak: 0.1, final: 1e-3, warmup_steps: 5}";
  std::string sync = "{policy: constant, base_steps: 4}";
  std::string workers = "{min: 1, max: 16, wait_seconds: 30}";
  std::string more;  // Whole lines.
};

std::string JobText(const DigitsJob& job);

// A new folder with job.yaml and the digits data.
std::string MakeJobFolder(const DigitsJob& job);

}  // namespace rondo::e2e

#endif  // RONDO_TESTS_E2E_DIGITS_JOB_H_
