// Job files that were made to hurt: any bytes are an answer, not a crash.
#include <gtest/gtest.h>

#include <iterator>
#include <string>
#include <string_view>

#include "common/job/diagnostic.h"
#include "common/job/job_file.h"
#include "common/job/test_jobs.h"
#include "common/mix64.h"

namespace rondo {
namespace {

TEST(HostileJobTest, RefusesLongDeepAndWideFiles) {
  EXPECT_FALSE(ParseJob(std::string((1 << 20) + 1, '#')).errors.empty());
  EXPECT_FALSE(ParseJob("a: " + std::string(100'000, '[')).errors.empty());
  EXPECT_FALSE(ParseJob("a: " + std::string(100'000, '{')).errors.empty());
  std::string nested = "a:";
  for (int i = 1; i < 100; ++i) nested += "\n" + std::string(i, ' ') + "a:";
  EXPECT_FALSE(ParseJob(nested).errors.empty());
  std::string wide;
  for (int i = 0; i < 100'000; ++i) wide += "k" + std::to_string(i) + ":\n";
  EXPECT_FALSE(ParseJob(wide).errors.empty());
  // The "billion laughs": each alias is refused, none is followed.
  std::string bomb = "a: &a [x, x]\n";
  for (char c = 'b'; c < 'z'; ++c) {
    bomb += std::string(1, c) + ": &" + c + " [*" + static_cast<char>(c - 1) + ", *" +
            static_cast<char>(c - 1) + "]\n";
  }
  EXPECT_FALSE(ParseJob(bomb).errors.empty());
}

// What is accepted has values in range.
TEST(HostileJobPropertyTest, SurvivesMutatedFiles) {
  constexpr std::string_view kPieces[] = {"{",  "}",    "[",  "]",    ":",  ": ",          "\n",
                                          "- ", "&a ",  "*a", "!t ",  "\"", "'",           "#",
                                          "|",  ">",    "%",  "\t",   "? ", "---",         "1e999",
                                          "-1", "\xFF", "~",  "null", ",",  "\xE2\x82\xAC"};
  int accepted = 0;
  for (uint64_t seed = 0; seed < 4000; ++seed) {
    SplitMix64 random(seed);
    std::string text(kWholeJob);
    for (uint64_t i = 0, edits = 1 + random.Below(4); i < edits; ++i) {
      const size_t at = random.Below(text.size());
      switch (random.Below(4)) {
        case 0:
          text.erase(at, 1 + random.Below(20));
          break;
        case 1:
          text.insert(at, kPieces[random.Below(std::size(kPieces))]);
          break;
        case 2:
          text[at] = static_cast<char>(random.Below(256));
          break;
        case 3:
          text.insert(at, text.substr(random.Below(text.size()), random.Below(40)));
          break;
      }
    }
    const ParsedJob parsed = ParseJob(text);
    if (!parsed.errors.empty()) {
      EXPECT_FALSE(FormatDiagnostics("job", parsed.errors).empty());
      continue;
    }
    ++accepted;
    EXPECT_TRUE(IsValidJobName(parsed.job.name())) << "seed " << seed;
    EXPECT_GT(parsed.job.schedule().peak(), 0) << "seed " << seed;
    EXPECT_GE(parsed.job.workers().max(), parsed.job.workers().min()) << "seed " << seed;
  }
  EXPECT_GT(accepted, 50);
}

}  // namespace
}  // namespace rondo
