#include "worker/edge/job_loader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <variant>

namespace rondo::worker {
namespace {

constexpr char kDigits[] = "deploy/jobs/digits";

TrainSpec DigitsSpec() {
  TrainSpec spec;
  spec.job_id = "digits-0123456789abcdef";
  spec.seed = 1;
  spec.layers = {64, 16, 10};
  spec.train = {"train-images-idx3-ubyte", "train-labels-idx1-ubyte"};
  spec.test = DataFiles{"test-images-idx3-ubyte", "test-labels-idx1-ubyte"};
  spec.divisor = 16;
  return spec;
}

std::string ProblemOf(const TrainSpec& spec, const std::string& dir, const Prepare& prepare,
                      PrepareFault fault) {
  const auto loaded = LoadJob(spec, {.files_dir = dir, .threads = 1}, prepare);
  const auto* problem = std::get_if<PrepareProblem>(&loaded);
  if (problem == nullptr) return "no problem";
  EXPECT_EQ(problem->fault, fault);
  return problem->text;
}

// The digits in a folder of its own.
std::string CopyOfDigits(const std::string& name) {
  const std::filesystem::path dir = std::filesystem::path(testing::TempDir()) / name;
  std::filesystem::remove_all(dir);
  std::filesystem::create_directories(dir);
  for (const auto& entry : std::filesystem::directory_iterator(kDigits)) {
    std::ifstream from(entry.path(), std::ios::binary);
    std::ofstream(dir / entry.path().filename(), std::ios::binary) << from.rdbuf();
  }
  return dir.string();
}

void WriteNpy(const std::filesystem::path& dir, const std::string& name, const std::string& type,
              const std::string& shape, const std::string& data) {
  std::filesystem::create_directories(dir);
  std::string header =
      "{'descr': '" + type + "', 'fortran_order': False, 'shape': " + shape + ", }";
  header.resize(117, ' ');
  std::ofstream(dir / name, std::ios::binary)
      << std::string("\x93NUMPY\x01\x00\x76\x00", 10) << header << '\n'
      << data;
}

TEST(JobLoaderTest, LoadsDataModelAndFacts) {
  auto loaded = LoadJob(DigitsSpec(), {.files_dir = kDigits, .threads = 1}, {});
  auto* job = std::get_if<LoadedJob>(&loaded);
  ASSERT_NE(job, nullptr) << std::get<PrepareProblem>(loaded).text;
  EXPECT_EQ(job->facts.train_samples, 1500u);
  EXPECT_EQ(job->facts.test_samples, 297u);
  EXPECT_EQ(job->facts.parameters, 64u * 16 + 16 + 16 * 10 + 10);
  ASSERT_EQ(job->facts.files.size(), 4u);
  EXPECT_EQ(job->facts.files[0].path, "train-images-idx3-ubyte");
  EXPECT_EQ(job->facts.files[0].size, 96016u);
  EXPECT_EQ(job->facts.files[0].sha256.size(), 64u);
  // Every worker comes to the same facts, and accepts the files by them.
  auto again = LoadJob(DigitsSpec(), {.files_dir = CopyOfDigits("again"), .threads = 1},
                       {.files = job->facts.files, .reference = job->facts});
  ASSERT_TRUE(std::holds_alternative<LoadedJob>(again));
  EXPECT_EQ(std::get<LoadedJob>(again).facts.data_hash, job->facts.data_hash);
  EXPECT_EQ(std::get<LoadedJob>(again).facts.layout_hash, job->facts.layout_hash);
}

TEST(JobLoaderTest, NamesAMissingFile) {
  const std::string dir = CopyOfDigits("missing");
  std::filesystem::remove(std::filesystem::path(dir) / "test-labels-idx1-ubyte");
  EXPECT_THAT(ProblemOf(DigitsSpec(), dir, {}, PrepareFault::kFiles),
              testing::HasSubstr("test-labels-idx1-ubyte"));
}

TEST(JobLoaderTest, NamesAFileThatDiffersFromTheJobs) {
  const std::string dir = CopyOfDigits("differs");
  auto loaded = LoadJob(DigitsSpec(), {.files_dir = dir, .threads = 1}, {});
  const Prepare prepare{.files = std::get<LoadedJob>(loaded).facts.files, .reference = {}};
  std::fstream file(std::filesystem::path(dir) / "train-images-idx3-ubyte",
                    std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(500);
  file.put(9);
  file.close();
  EXPECT_THAT(ProblemOf(DigitsSpec(), dir, prepare, PrepareFault::kFiles),
              testing::HasSubstr("train-images-idx3-ubyte differs"));
}

TEST(JobLoaderTest, RefusesFloatTargetsForClasses) {
  const std::filesystem::path dir = std::filesystem::path(testing::TempDir()) / "floats";
  WriteNpy(dir, "values.npy", "<f4", "(2, 1)", std::string(8, '\0'));
  TrainSpec spec = DigitsSpec();
  spec.format = DataFormat::kNpy;
  spec.layers = {1, 3};
  spec.train = {"values.npy", "values.npy"};
  spec.test.reset();
  EXPECT_THAT(ProblemOf(spec, dir.string(), {}, PrepareFault::kModel),
              testing::HasSubstr("needs integer targets"));
}

TEST(JobLoaderTest, RefusesANegativeLabelByItsSample) {
  const std::filesystem::path dir = std::filesystem::path(testing::TempDir()) / "negative";
  WriteNpy(dir, "values.npy", "<f4", "(2, 1)", std::string(8, '\0'));
  WriteNpy(dir, "labels.npy", "<i8", "(2,)", std::string(8, '\0') + std::string(8, '\xff'));
  TrainSpec spec = DigitsSpec();
  spec.format = DataFormat::kNpy;
  spec.layers = {1, 3};
  spec.train = {"values.npy", "labels.npy"};
  spec.test.reset();
  EXPECT_THAT(ProblemOf(spec, dir.string(), {}, PrepareFault::kFiles),
              testing::HasSubstr("labels.npy: sample 1 has label -1"));
}

TEST(JobLoaderTest, SaysWhatDoesNotFitTheModel) {
  TrainSpec wide = DigitsSpec();
  wide.layers = {65, 10};
  EXPECT_THAT(ProblemOf(wide, kDigits, {}, PrepareFault::kModel), testing::HasSubstr("65"));
  TrainSpec init = DigitsSpec();
  init.init = "train-labels-idx1-ubyte";
  EXPECT_NE(ProblemOf(init, kDigits, {}, PrepareFault::kModel), "no problem");
}

}  // namespace
}  // namespace rondo::worker
