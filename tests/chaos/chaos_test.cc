// Real processes under every kind of fault at every kind of moment: the job ends, its journal tells
// one history, every sample is accounted for, all members have one state, and where nothing was
// lost the model is that of the undisturbed job, bit for bit.
//
// Covers with real processes: S01, S02, S06, S08, S09, S11, S15, S20, S21, S22, S46, S68, S69, S70,
// S75.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "tests/chaos/play.h"
#include "tests/chaos/scene.h"

namespace rondo::chaos {
namespace {

constexpr size_t kChronicleBytesMax = 40'000;

// What each scene came to: rows are faults, modes and P, columns are moments.
class Table final : public testing::Environment {
 public:
  void Add(const Scene& scene, const Review& review) {
    const std::string row =
        fmt::format("{:16} {:8} P={}", NameOf(scene.fault), NameOf(scene.mode), scene.workers);
    if (cells_.try_emplace(row).second) rows_.push_back(row);
    cells_[row][scene.moment] =
        review.problems.empty() ? fmt::format("{:.1f} s", review.seconds) : "FAILED";
  }

  void TearDown() override {
    if (rows_.empty()) return;
    fmt::print("{:29}", "");
    for (Moment moment : kMoments) fmt::print(" {:>16}", NameOf(moment));
    for (const std::string& row : rows_) {
      fmt::print("\n{:29}", row);
      for (Moment moment : kMoments) fmt::print(" {:>16}", cells_[row][moment]);
    }
    fmt::print("\n");
  }

 private:
  std::vector<std::string> rows_;  // In the order of their first scene.
  std::map<std::string, std::map<Moment, std::string>> cells_;
};

Table* const table = new Table;  // gtest owns it.
testing::Environment* const registered = testing::AddGlobalTestEnvironment(table);

class ChaosTest : public testing::TestWithParam<Scene> {};

TEST_P(ChaosTest, TheJobEndsWithOneHistory) {
  const Review review = Perform(GetParam());
  table->Add(GetParam(), review);
  std::string text;
  for (const std::string& problem : review.problems) text += "  " + problem + "\n";
  const size_t from = review.chronicle.size() > kChronicleBytesMax
                          ? review.chronicle.size() - kChronicleBytesMax
                          : 0;
  EXPECT_TRUE(review.problems.empty()) << text << "--- what the processes logged\n"
                                       << review.chronicle.substr(from);
}

// tests/chaos/run asks for all of them.
std::vector<Scene> Chosen() {
  return std::getenv("RONDO_CHAOS_MATRIX") != nullptr ? WholeMatrix() : EachPairOnce();
}

INSTANTIATE_TEST_SUITE_P(Scenes, ChaosTest, testing::ValuesIn(Chosen()),
                         [](const auto& info) { return NameOf(info.param); });

}  // namespace
}  // namespace rondo::chaos
