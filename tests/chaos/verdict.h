// Whether a finished job's journal tells one history in which every sample is accounted for. A
// second reading of journal.db, apart from the coordinator's own.
#ifndef RONDO_TESTS_CHAOS_VERDICT_H_
#define RONDO_TESTS_CHAOS_VERDICT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tests/chaos/overheard.h"

namespace rondo::chaos {

// What contradicts, in words; empty: nothing.
//   * Terms, groups and rounds only grow; commits follow one another without a gap, up to `steps`.
//   * The workers reported, and the coordinator announced, the state hash that was committed.
//   * No sample was used twice in its epoch; used + dropped + unused are the epochs that were
//   begun.
std::vector<std::string> JudgeJournal(const std::string& path, const Overheard& overheard,
                                      uint64_t steps);

}  // namespace rondo::chaos

#endif  // RONDO_TESTS_CHAOS_VERDICT_H_
