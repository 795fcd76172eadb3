// One scene from start to end: a job, its fault, the verdict.
#ifndef RONDO_TESTS_CHAOS_PLAY_H_
#define RONDO_TESTS_CHAOS_PLAY_H_

#include <string>
#include <vector>

#include "tests/chaos/scene.h"

namespace rondo::chaos {

struct Review {
  std::vector<std::string> problems;  // None: all is well.
  double seconds = 0;
  std::string chronicle;  // What all processes logged; for a failure's message.
};

// Plays the scene. Where no sample was lost and nobody joined, the model must be that of the same
// job left in peace, bit for bit, else its loss about the same; that one is run once a process for
// each kind of job.
Review Perform(const Scene& scene);

}  // namespace rondo::chaos

#endif  // RONDO_TESTS_CHAOS_PLAY_H_
