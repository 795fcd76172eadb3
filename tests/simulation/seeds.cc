#include "tests/simulation/seeds.h"

#include <fmt/format.h>

#include "tests/simulation/simulation.h"

namespace rondo::simulation {

Tally RunSeeds(const Weather& weather, uint64_t first, uint64_t count) {
  Tally tally;
  for (uint64_t seed = first; seed < first + count; ++seed) {
    const Outcome outcome = Simulation(seed, weather).Run();
    ++tally.seeds;
    if (!outcome.violation.empty()) {
      tally.bad_seed = seed;
      tally.violation = outcome.violation;
      return tally;
    }
    tally.commits += outcome.commits;
    tally.groups += outcome.groups;
    tally.retries += outcome.retries;
    tally.voids += outcome.voids;
    tally.rewinds += outcome.rewinds;
    tally.resumed += outcome.resumed;
    tally.terms += outcome.terms;
    tally.done += outcome.end->state == server::EndState::kDone ? 1 : 0;
    ++tally.ends[outcome.end->reason.substr(0, 40)];
  }
  return tally;
}

std::string Describe(const Tally& tally) {
  std::string text = fmt::format(
      "{} seeds, {} commits, {} groups, {} retries, {} voided rounds, {} rewinds, {} rounds "
      "from partials, {} terms, {} jobs done\n",
      tally.seeds, tally.commits, tally.groups, tally.retries, tally.voids, tally.rewinds,
      tally.resumed, tally.terms, tally.done);
  for (const auto& [reason, count] : tally.ends) text += fmt::format("{:6} x {}\n", count, reason);
  return text;
}

}  // namespace rondo::simulation
