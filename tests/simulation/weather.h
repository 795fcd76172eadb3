// What may go wrong in a simulated job: plain probabilities. Nothing goes wrong after `until`.
#ifndef RONDO_TESTS_SIMULATION_WEATHER_H_
#define RONDO_TESTS_SIMULATION_WEATHER_H_

#include <string>
#include <vector>

#include "absl/time/time.h"

namespace rondo::simulation {

enum class Rounds { kLocal, kParallel, kMixed };

struct Weather {
  std::string name;
  Rounds rounds = Rounds::kLocal;
  // The job gives up after as many failed attempts as by default. Without it nothing but what this
  // weather brings of wrong results and NaN may end a job early.
  bool few_attempts = false;
  bool long_rounds = false;  // With partials.
  absl::Duration until = absl::Seconds(60);

  // Streams. At each message:
  double breaks = 0;
  double twice = 0.02;  // It comes twice, on either side.
  double slow = 0;      // It, and what follows it on its stream, takes up to 4 s.
  // What is in flight when a stream breaks still comes, late.
  double stragglers = 0.3;

  // Workers. Each second, one of them:
  double kills = 0;
  double freezes = 0;    // Stops with all its queues for up to 15 s, then goes on.
  double stalls = 0;     // Its training loop stands still, its heartbeats go on.
  double leaves = 0;     // SIGTERM.
  double joins = 0;      // A new one comes.
  double massacres = 0;  // Nearly all of them are killed.
  // Between two commands of one decision a worker dies.
  double dies = 0;
  // Of a local round, or of a step of a parallel one, on a worker. Half of those of a local round
  // spoil its moments, too.
  double not_finite = 0;
  double flips = 0;  // Of a reduce on a worker: its result is another one.
  // Of a finished collective on a member: it sees a failure where others have the result.
  double half_done = 0;

  // The coordinator. Each second:
  double crashes = 0;
  double stuns = 0;           // It is stopped for up to 14 s, then goes on.
  double total_restarts = 0;  // It and all workers are killed.
  // When it starts after a crash, an old copy of its disk was put back, one that was made after
  // another crash.
  double put_backs = 0;
  // At each write of its journal:
  double crash_before = 0;
  double crash_after = 0;  // The records are on disk, nothing was sent.
  double crash_amid = 0;   // Some of the messages were sent.
  double unknown = 0;      // The outcome of the COMMIT is unknown: the process ends.
  double disk_full = 0;    // There is no room for up to 20 s.

  // A user. Each second:
  double pauses = 0;  // For up to 20 s.
  double drains = 0;
  double saves = 0;
  double stops = 0;

  // Work may be lost in it: somebody dies or is taken for dead, or parameters differ in a round
  // that keeps no copy of them.
  bool Deadly() const {
    return kills + freezes + stalls + leaves + massacres + dies + total_restarts + put_backs > 0 ||
           (rounds != Rounds::kLocal && flips > 0);
  }
};

// All kinds, by name.
const std::vector<Weather>& AllWeathers();
// Nothing if there is no such kind.
const Weather* FindWeather(const std::string& name);

}  // namespace rondo::simulation

#endif  // RONDO_TESTS_SIMULATION_WEATHER_H_
