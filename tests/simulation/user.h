// A user of the simulated job, who pauses it and lets it go on, drains workers, wants checkpoints
// and stops it, at any moment. What was not answered is asked again, or forgotten. When the weather
// is fair the job is not left paused.
#ifndef RONDO_TESTS_SIMULATION_USER_H_
#define RONDO_TESTS_SIMULATION_USER_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "server/core/job_machine.h"
#include "tests/simulation/sim_coordinator.h"
#include "tests/simulation/weather.h"
#include "tests/simulation/world.h"

namespace rondo::simulation {

class User {
 public:
  User(World* world, const Weather* weather, SimCoordinator* coordinator)
      : world_(world), weather_(weather), coordinator_(coordinator) {}

  // Once a second. `workers`: names of those that are there.
  void Act(const std::vector<std::string>& workers);
  // A request to stop may have been heard.
  bool asked_to_stop() const { return asked_to_stop_; }

 private:
  std::optional<server::Event> Wish(const std::vector<std::string>& workers);
  void Ask(const server::Event& request);
  void OnAnswer(const server::Event& request, const absl::StatusOr<server::SteerAnswer>& answer);

  World* const world_;
  const Weather* const weather_;
  SimCoordinator* const coordinator_;
  bool waits_ = false;      // For an answer, or to ask again.
  bool may_pause_ = false;  // It has asked to pause and does not know that it goes on.
  absl::Time resumes_at_ = absl::InfiniteFuture();
  bool asked_to_stop_ = false;
};

}  // namespace rondo::simulation

#endif  // RONDO_TESTS_SIMULATION_USER_H_
