// What users were promised, and whether it is kept: requests that were answered hold over crashes
// of the coordinator, a paused job begins no round, who drains finishes its order, what falls due
// after a round is done before the next one. Sees records as they reach the disk, and answers as
// they leave.
#ifndef RONDO_TESTS_SIMULATION_PROMISES_H_
#define RONDO_TESTS_SIMULATION_PROMISES_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "server/core/job_machine.h"
#include "server/core/messages.h"
#include "server/core/records.h"
#include "tests/simulation/world.h"

namespace rondo::simulation {

class Promises {
 public:
  explicit Promises(World* world) : world_(world) {}

  void See(const server::Record& record);
  // To a request that was not refused.
  void SeeAnswer(const server::Event& request, const server::SteerAnswer& answer);
  // To a worker (name#incarnation).
  void SeeGoodbye(const std::string& worker, const server::Goodbye& goodbye);

 private:
  struct Open {
    uint64_t round = 0;
    std::vector<std::string> members;  // name#incarnation
    bool save_due = false;
    bool evaluation_due = false;
  };

  template <typename T>
  void On(const T&) {}
  void On(const server::TermRecord& record);
  void On(const server::GroupRecord& record);
  void On(const server::OrderRecord& record);
  void On(const server::CommitRecord& record);
  void On(const server::VoidRecord& record);
  void On(const server::EvaluationRecord& record);
  void On(const server::CheckpointRecord& record);
  void On(const server::RewindRecord& record);
  void On(const server::NoticeRecord& record);
  void On(const server::RequestRecord& record);
  void OnAnswer(const server::PauseRequested& request, const server::SteerAnswer& answer);
  void OnAnswer(const server::ResumeRequested& request, const server::SteerAnswer& answer);
  void OnAnswer(const server::DrainRequested& request, const server::SteerAnswer& answer);
  void OnAnswer(const server::CheckpointRequested& request, const server::SteerAnswer& answer);
  void OnAnswer(const server::StopRequested& request, const server::SteerAnswer& answer);
  template <typename T>
  void OnAnswer(const T&, const server::SteerAnswer&) {}
  void CheckNewRound();
  void ForgetSave();

  World* world_;
  uint64_t step_ = 0;  // Committed.
  std::optional<Open> open_;
  std::vector<std::string> group_;  // The newest group's members.
  bool paused_ = false;
  bool stopping_ = false;         // Promised by this term.
  std::set<std::string> drains_;  // name#incarnation
  std::set<std::string> lost_;    // Names that are away for too long.
  bool save_due_ = false;
  bool evaluation_due_ = false;
  std::optional<uint64_t> promised_save_;  // Of this step.
  std::set<uint64_t> saved_;               // Steps.
};

}  // namespace rondo::simulation

#endif  // RONDO_TESTS_SIMULATION_PROMISES_H_
