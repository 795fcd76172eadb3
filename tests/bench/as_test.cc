#include "tests/bench/as_test.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace rondo {

AsTest::AsTest()
    : folder_((std::filesystem::temp_directory_path() / "rondo-bench-XXXXXX").string()) {
  if (mkdtemp(folder_.data()) == nullptr) {
    std::perror(folder_.c_str());
    std::exit(1);
  }
  const std::string self = std::filesystem::canonical("/proc/self/exe").string();
  setenv("TEST_TMPDIR", folder_.c_str(), 1);
  setenv("TEST_WORKSPACE", "rondo", 1);
  setenv("TEST_SRCDIR", (self + ".runfiles").c_str(), 1);
}

AsTest::~AsTest() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

}  // namespace rondo
