// The rules of proto/RULES.md for local rounds, a second time and as plainly as possible: what
// the coordinator has to decide after each event. No evaluation, no checkpoints, no leaving; every
// value is finite. Written to be read beside the rules, not to be quick.
#ifndef RONDO_TESTS_SIMULATION_SMALL_WORLDS_PLAIN_RULES_H_
#define RONDO_TESTS_SIMULATION_SMALL_WORLDS_PLAIN_RULES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"

namespace rondo::small_worlds {

// Name and incarnation.
using Who = std::pair<std::string, uint64_t>;

struct PlainLimits {
  size_t workers = 1;  // min at start = max.
  absl::Duration silent = absl::Seconds(5);
  absl::Duration lost = absl::Seconds(10);
  absl::Duration return_wait = absl::Milliseconds(500);
  absl::Duration assemble = absl::Seconds(60);
  absl::Duration collective = absl::Seconds(31);
  absl::Duration report = absl::Seconds(1);
  uint32_t attempts = 5;
};

// What a worker that comes says of itself.
struct PlainHello {
  Who who;
  uint64_t dial = 0;
  uint64_t stream = 0;
  bool new_process = true;  // It never had a Welcome.
  uint64_t holds = 0;       // Round; 0: nothing, or the initial state.
  uint64_t order = 0;       // Round of the order in hand; 0: none.
  struct Staged {
    uint64_t round = 0, group = 0, attempt = 0, hash = 0;
  };
  std::optional<Staged> staged;
};

class PlainRules {
 public:
  PlainRules(PlainLimits limits, absl::Time now) : limits_(limits), now_(now) {}

  // Each gives the decisions in words, one a line, in the order in which they are made.
  using Decisions = std::vector<std::string>;
  Decisions Hello(const PlainHello& hello, absl::Time now);
  Decisions Closed(uint64_t stream, absl::Time now);
  Decisions Heard(const Who& who, uint64_t stream, absl::Time now);  // A heartbeat.
  Decisions Prepared(const Who& who, uint64_t stream, absl::Time now);
  Decisions Endpoint(const Who& who, uint64_t stream, uint64_t group, absl::Time now);
  Decisions Formed(const Who& who, uint64_t stream, uint64_t group, absl::Time now);
  Decisions Ready(const Who& who, uint64_t stream, uint64_t round, absl::Time now);
  // `hash` nothing: Failed.
  Decisions Reported(const Who& who, uint64_t stream, uint64_t round, uint64_t group,
                     uint64_t attempt, std::optional<uint64_t> hash, absl::Time now);
  Decisions Timer(absl::Time now);

  // All that decides about the future, for telling states apart.
  std::string Key() const;

 private:
  enum class Phase { kBorder, kAssembling, kTraining, kReducing, kOver };
  struct Member {
    uint64_t incarnation = 0;
    uint64_t dial = 0;
    uint64_t stream = 0;  // 0: none.
    absl::Time heard, broke;
    bool silent = false;  // That is why its stream is closed.
    bool prepared = false;
    bool lost = false;
    std::optional<uint64_t> holds;
    bool values_only = false;  // It keeps its moments when it takes a state.
  };
  struct Part {  // Of the open round, by worker.
    bool carries = false;
    bool ready = false;
  };
  struct Report {
    bool failed = false;
    std::optional<uint64_t> hash;
  };

  Decisions Turn();
  bool Here(const Who& who) const;
  // A stream that broke is waited for, for a moment (rule 12); until when, if at all.
  std::optional<absl::Time> Awaited(const Who& who, absl::Time since) const;
  Member* Find(const Who& who, uint64_t stream);
  bool OneTurn();
  bool Border();
  bool Assembling();
  bool Training();
  bool Reducing();
  void Streams();
  bool Assemble(const std::string& purpose, const std::vector<Who>& who);
  bool EndAssembly();
  void Say(std::string what) { said_.push_back(std::move(what)); }
  bool Go(Phase phase);
  bool Commit(uint64_t hash);

  PlainLimits limits_;
  absl::Time now_;
  Decisions said_;
  Phase phase_ = Phase::kBorder;
  absl::Time since_ = absl::InfinitePast();
  std::map<std::string, Member> members_;

  uint64_t last_group_ = 0;
  uint64_t committed_ = 0;
  std::map<uint64_t, PlainHello::Staged> history_;
  std::set<Who> in_last_commit_;

  std::vector<Who> group_;  // Formed; empty: none.
  uint64_t group_id_ = 0;
  std::vector<Who> forming_;
  bool retry_ = false;
  std::set<Who> endpoints_, formed_;
  absl::Time forming_since_;

  uint64_t round_ = 0;  // Open; 0: none.
  uint64_t last_round_ = 0;
  uint64_t order_group_ = 0;
  std::map<Who, Part> parts_;
  absl::Time missed_ = absl::InfiniteFuture();
  uint32_t attempts_ = 0;
  uint32_t splits_ = 0;
  std::map<Who, Report> reports_;
  absl::Time attempt_since_, report_by_;
};

}  // namespace rondo::small_worlds

#endif  // RONDO_TESTS_SIMULATION_SMALL_WORLDS_PLAIN_RULES_H_
