// Does a fault to a job that stands at its cue, lets the job go on, and puts right what a keeper of
// processes would: it starts those again that are gone.
#ifndef RONDO_TESTS_CHAOS_STRIKE_H_
#define RONDO_TESTS_CHAOS_STRIKE_H_

#include <string>

#include "tests/chaos/crew.h"
#include "tests/chaos/cue.h"
#include "tests/chaos/scene.h"

namespace rondo::chaos {

// Returns what went wrong; empty: nothing.
std::string Strike(Fault fault, const Cue& cue, Crew* crew);

}  // namespace rondo::chaos

#endif  // RONDO_TESTS_CHAOS_STRIKE_H_
