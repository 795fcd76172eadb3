// What workers do with each other: they meet (to form a group, in a collective), and either all of
// them get the same result or, if one leaves, each gets it or an error.
#ifndef RONDO_TESTS_SIMULATION_DATA_PLANE_H_
#define RONDO_TESTS_SIMULATION_DATA_PLANE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "tests/simulation/pieces.h"
#include "tests/simulation/world.h"

namespace rondo::simulation {

// What one member brings into a meeting.
struct Offer {
  std::string worker;  // Name and incarnation.
  uint64_t group = 0;
  uint32_t rank = 0;
  uint32_t size = 1;
  std::string token;
  uint64_t base = 0;  // The state it holds.
  uint64_t work = 0;  // What it trained; 0: nothing.
  // In a parallel round: its next step, its state there, what the step before it averaged in.
  uint64_t stands_at = 0;
  uint64_t working = 0;
  std::set<uint64_t> result = {};
  Pieces delivered = {};  // What that step took.
  Pieces residual = {};   // What earlier reductions left of this member's.
  bool flawed = false;    // A step of this round has gone wrong here: its state is another one.
  double weight = 1;      // 0: its work is not averaged in.
  bool sick = false;      // Its moments are not finite.
  absl::Duration limit = absl::Seconds(30);
};

struct Meeting {
  std::map<uint32_t, Offer> offers;  // By rank.
};

class DataPlane {
 public:
  using Done = std::function<void(const Meeting&)>;
  using Failed = std::function<void(const std::string& why)>;

  // `half_done`: chance that a member sees a failure where others have the result.
  DataPlane(World* world, double half_done) : world_(world), half_done_(half_done) {}

  // Joins the meeting `key` of those with its token. Exactly one of the two is called, later; after
  // Leave by the worker itself it is Failed.
  void Join(const std::string& key, Offer offer, Done done, Failed failed);
  // The worker leaves what it has joined in this group (0: everywhere): what is not finished fails.
  void Leave(const std::string& worker, uint64_t group);
  // The worker stops: whom it owes data waits until its limit, or until somebody leaves.
  void Freeze(const std::string& worker);

 private:
  struct Party {
    std::string worker;
    uint64_t group = 0;
    Done done;
    Failed failed;
    bool over = false;
    bool stuck = false;  // Its data will not come.
  };
  struct Place {
    Meeting meeting;
    std::vector<std::shared_ptr<Party>> parties;
    bool broken = false;
    bool complete = false;
  };
  using PlacePtr = std::shared_ptr<Place>;

  void FailLater(const std::shared_ptr<Party>& party, const std::string& why);
  void Complete(const PlacePtr& place);

  World* const world_;
  const double half_done_;
  std::map<std::pair<std::string, std::string>, PlacePtr> places_;  // By key and token.
  std::map<std::string, std::vector<PlacePtr>> joined_;  // By worker: what may not be over.
};

}  // namespace rondo::simulation

#endif  // RONDO_TESTS_SIMULATION_DATA_PLANE_H_
