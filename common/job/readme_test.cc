#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "common/job/job_file.h"

namespace rondo {
namespace {

std::string Readme() {
  std::ifstream in("common/job/README.md");
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// The first column of each row of the table of keys.
std::vector<std::string> DocumentedKeys(const std::string& readme) {
  std::vector<std::string> keys;
  std::istringstream lines(readme.substr(readme.find("| key |")));
  for (std::string line; std::getline(lines, line) && !line.empty();) {
    if (line.rfind("| `", 0) == 0) keys.push_back(line.substr(3, line.find('`', 3) - 3));
  }
  return keys;
}

// Sections themselves need no row.
std::vector<std::string> LeafKeys() {
  const std::vector<std::string> all = KnownJobKeys();
  std::vector<std::string> leaves;
  for (const std::string& key : all) {
    const bool section = std::any_of(all.begin(), all.end(), [&](const std::string& other) {
      return other.rfind(key + ".", 0) == 0;
    });
    if (!section) leaves.push_back(key);
  }
  return leaves;
}

TEST(JobReadmeTest, HasARowForEveryKeyAndNoOther) {
  std::vector<std::string> documented = DocumentedKeys(Readme()), known = LeafKeys();
  std::sort(documented.begin(), documented.end());
  std::sort(known.begin(), known.end());
  EXPECT_EQ(documented, known);
}

TEST(JobReadmeTest, ItsExampleIsAJob) {
  const std::string readme = Readme();
  const size_t begin = readme.find("```yaml\n") + 8;
  const ParsedJob parsed = ParseJob(readme.substr(begin, readme.find("```", begin) - begin));
  EXPECT_TRUE(parsed.errors.empty()) << FormatDiagnostics("README.md", parsed.errors);
}

}  // namespace
}  // namespace rondo
