// Lets a benchmark use the end-to-end tests' harness outside of a test.
#ifndef RONDO_TESTS_BENCH_AS_TEST_H_
#define RONDO_TESTS_BENCH_AS_TEST_H_

#include <string>

namespace rondo {

// Sets what the harness reads: its programs are this one's runfiles, its temporary folder is a new
// one, which is removed with this object.
class AsTest {
 public:
  AsTest();
  ~AsTest();
  AsTest(const AsTest&) = delete;
  AsTest& operator=(const AsTest&) = delete;

 private:
  std::string folder_;
};

}  // namespace rondo

#endif  // RONDO_TESTS_BENCH_AS_TEST_H_
