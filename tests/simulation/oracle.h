// The judge of a simulation: sees the journal's records as they reach the disk and what workers say
// they hold, and knows what must be true of them. Written from DESIGN.md, not from the core.
#ifndef RONDO_TESTS_SIMULATION_ORACLE_H_
#define RONDO_TESTS_SIMULATION_ORACLE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "server/core/messages.h"
#include "server/core/records.h"
#include "tests/simulation/states.h"
#include "tests/simulation/world.h"

namespace rondo::simulation {

class Oracle {
 public:
  Oracle(World* world, const States* states, uint64_t train_samples)
      : world_(world), states_(states), train_samples_(train_samples) {}

  void See(const server::Record& record);
  // A message may leave only if what it rests on is on disk.
  void SeeSent(const server::CoordinatorBody& body);
  // A worker holds the state of a committed round (0: the initial one).
  void SeeHolding(uint64_t round, uint64_t state);

  uint64_t commits() const { return history_.size(); }
  uint64_t groups() const { return groups_.size(); }
  uint64_t retries() const { return retries_; }
  const std::optional<server::EndRecord>& end() const { return end_; }

 private:
  void On(const server::TermRecord& record);
  void On(const server::ReferenceRecord&) {}
  void On(const server::GroupRecord& record);
  void On(const server::OrderRecord& record);
  void On(const server::CommitRecord& record);
  void On(const server::VoidRecord& record);
  void On(const server::EvaluationRecord& record);
  void On(const server::CheckpointRecord& record);
  void On(const server::NoticeRecord& record);
  void On(const server::EndRecord& record);
  void On(const server::RewindRecord&) {}
  void Bad(const std::string& what) { world_->Violate(what); }
  void Use(const server::CommitRecord& record, const std::vector<Sample>& samples);
  static std::vector<Sample> SamplesOf(const std::vector<server::SampleRun>& runs);

  World* const world_;
  const States* const states_;
  const uint64_t train_samples_;
  uint64_t term_ = 0;
  uint64_t step_ = 0;
  uint64_t head_ = States::kInitial;
  std::map<uint64_t, std::vector<std::string>> groups_;  // Members' names by rank.
  std::optional<server::OrderRecord> open_;
  uint64_t last_order_ = 0;
  std::map<uint64_t, uint64_t> history_;  // Round -> state.
  std::map<Sample, uint64_t> used_;       // -> round.
  std::set<Sample> not_finite_;
  server::LedgerState ledger_;
  uint64_t retries_ = 0;
  std::optional<uint64_t> checkpoint_step_;
  std::optional<uint64_t> evaluation_step_;
  std::optional<server::EndRecord> end_;
};

}  // namespace rondo::simulation

#endif  // RONDO_TESTS_SIMULATION_ORACLE_H_
