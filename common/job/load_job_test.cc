#include "common/job/load_job.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdio>
#include <fstream>
#include <string>

#include "common/job/test_jobs.h"
#include "common/status_matchers.h"

namespace rondo {
namespace {

using absl::StatusCode;
using testing::HasSubstr;

std::string Write(const std::string& name, const std::string& text) {
  const std::string path = testing::TempDir() + "/" + name;
  std::ofstream(path, std::ios::binary) << text;
  return path;
}

// Data sets of so many 8x8 images under the names of the test job.
void WriteData(int train, int test) {
  const auto write = [](const std::string& set, char samples) {
    const std::string count = {0, 0, 0, samples};
    const std::string side = {0, 0, 0, 8};
    Write(set + "-images-idx3-ubyte", std::string("\0\0\x08\x03", 4) + count + side + side +
                                          std::string(static_cast<size_t>(samples) * 64, 'x'));
    Write(set + "-labels-idx1-ubyte",
          std::string("\0\0\x08\x01", 4) + count + std::string(static_cast<size_t>(samples), 'x'));
  };
  write("train", static_cast<char>(train));
  write("test", static_cast<char>(test));
}

TEST(LoadJobTest, RefusesNamedPipesWithoutWaitingForThem) {
  WriteData(100, 5);
  const std::string pipe = testing::TempDir() + "/pipe.yaml";
  std::remove(pipe.c_str());
  ASSERT_EQ(mkfifo(pipe.c_str(), 0644), 0);
  EXPECT_THAT(LoadJob(pipe, testing::TempDir()),
              StatusIs(StatusCode::kNotFound, HasSubstr("FIFO")));
  const std::string images = testing::TempDir() + "/train-images-idx3-ubyte";
  std::remove(images.c_str());
  ASSERT_EQ(mkfifo(images.c_str(), 0644), 0);
  const std::string path = Write("job.yaml", JobWith("every_steps: 0", "every_steps: 10"));
  EXPECT_THAT(LoadJob(path, testing::TempDir()),
              StatusIs(StatusCode::kNotFound, HasSubstr("FIFO")));
  std::remove(images.c_str());
}

TEST(LoadJobTest, ResolvesWithTheDataAndPassesWarningsOn) {
  WriteData(100, 5);
  const std::string path =
      Write("job.yaml", JobWith("every_steps: 0, keep: 3", "every_steps: 10, keep: 1"));
  ASSERT_OK_AND_ASSIGN(const LoadedJob loaded, LoadJob(path, testing::TempDir()));
  EXPECT_EQ(loaded.job.resolved().steps(), 20);
  EXPECT_EQ(loaded.job.resolved().test_samples(), 5);
  EXPECT_THAT(loaded.warnings, HasSubstr("job.yaml:18:31: checkpoint.keep: "));
}

TEST(LoadJobTest, SaysWhatIsWrongInTheFile) {
  const std::string path = Write("wrong.yaml", JobWith("seed: 1", "sead: 1"));
  EXPECT_THAT(LoadJob(path, testing::TempDir()),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("wrong.yaml:2:1: sead: ")));
}

TEST(LoadJobTest, SaysWhatDoesNotFitTheData) {
  WriteData(50, 5);
  const std::string path = Write("few.yaml", std::string(kWholeJob));
  EXPECT_THAT(LoadJob(path, testing::TempDir()),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("few.yaml:11:9: batch.global: ")));
}

TEST(LoadJobTest, NamesWhatCannotBeRead) {
  EXPECT_THAT(LoadJob(testing::TempDir() + "/none.yaml", testing::TempDir()),
              StatusIs(StatusCode::kNotFound, HasSubstr("none.yaml")));
  EXPECT_THAT(LoadJob(testing::TempDir(), testing::TempDir()), StatusIs(StatusCode::kNotFound));
  const std::string path = Write("job.yaml", std::string(kWholeJob));
  EXPECT_THAT(LoadJob(path, testing::TempDir() + "/nowhere"),
              StatusIs(StatusCode::kNotFound, HasSubstr("train-images-idx3-ubyte")));
}

}  // namespace
}  // namespace rondo
