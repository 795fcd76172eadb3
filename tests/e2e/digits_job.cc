#include "tests/e2e/digits_job.h"

#include <fmt/format.h>

#include "tests/e2e/program.h"

namespace rondo::e2e {

std::string JobText(const DigitsJob& job) {
  std::string model = job.model;
  if (!job.init.empty()) model.insert(model.rfind('}'), fmt::format(", init: {}", job.init));
  return fmt::format(
      "name: e2e\n"
      "seed: {}\n"
      "model: {}\n"
      "loss: cross_entropy\n"
      "data:\n"
      "  format: idx\n"
      "  train: {{images: train-images-idx3-ubyte, labels: train-labels-idx1-ubyte}}\n"
      "  test: {{images: test-images-idx3-ubyte, labels: test-labels-idx1-ubyte}}\n"
      "  divisor: 16\n"
      "  shuffle: {}\n"
      "batch: {}\n"
      "optimizer: {}\n"
      "schedule: {}\n"
      "sync: {}\n"
      "workers: {}\n"
      "{}",
      job.seed, model, job.shuffle, job.batch, job.optimizer, job.schedule, job.sync, job.workers,
      job.more);
}

std::string MakeJobFolder(const DigitsJob& job) {
  const std::string folder = NewFolder("job");
  for (const char* split : {"train", "test"}) {
    for (const char* part : {"images-idx3-ubyte", "labels-idx1-ubyte"}) {
      CopyInto(fmt::format("deploy/jobs/digits/{}-{}", split, part), folder);
    }
  }
  WriteFile(folder + "/job.yaml", JobText(job));
  return folder;
}

}  // namespace rondo::e2e
