// The judge of a simulation: sees the journal's records as they reach the disk and what workers say
// they hold, and knows what must be true of them. Written from proto/RULES.md, not from the core.
#ifndef RONDO_TESTS_SIMULATION_ORACLE_H_
#define RONDO_TESTS_SIMULATION_ORACLE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "server/core/messages.h"
#include "server/core/records.h"
#include "tests/simulation/pieces.h"
#include "tests/simulation/residual_judge.h"
#include "tests/simulation/states.h"
#include "tests/simulation/world.h"

namespace rondo::simulation {

class Oracle {
 public:
  // `may_differ`: the weather makes results differ among members.
  Oracle(World* world, const States* states, uint64_t train_samples, bool may_differ)
      : world_(world),
        states_(states),
        train_samples_(train_samples),
        may_differ_(may_differ),
        residuals_(world, states) {}

  // The job's; `sparse_is_faster`: what its workers measure.
  void ExpectCollective(server::Collective kind, bool sparse_is_faster) {
    collective_ = kind;
    sparse_is_faster_ = sparse_is_faster;
  }

  void See(const server::Record& record);
  // A message may leave only if what it rests on is on disk.
  void SeeSent(const server::CoordinatorMessage& message);
  // A worker (name#incarnation) holds the state of a committed round (0: the initial one).
  void SeeHolding(uint64_t round, uint64_t state);
  // It has formed a group: from now on it has moments.
  void SeeFormed(const std::string& worker) {
    has_moments_.insert(worker);
    moments_at_.erase(worker);
  }
  // It has given up a parallel round: its moments are those of this state.
  void SeeMoments(const std::string& worker, uint64_t state) { moments_at_[worker] = state; }
  // It has staged this as the result of an attempt.
  void SeeStaged(const std::string& worker, uint64_t round, uint64_t group, uint32_t attempt,
                 uint64_t state);

  // The disk is as it was at `copy` again. What workers have, and what was counted, stays.
  void PutBack(const Oracle& copy);

  // It has formed a group (no repair), and goes on with this residual.
  void SeeResidual(const std::string& worker, uint64_t group, server::StateNeed need,
                   const Pieces& residual) {
    residuals_.SeeFormed(worker, group, need, residual);
  }
  // It has applied the result of a round, and has this residual now.
  void SeeResidual(const std::string& worker, uint64_t round, const Pieces& residual) {
    residuals_.SeeApplied(worker, round, residual);
  }

  // In a step of a parallel order, which is that of `group`, its gradient is not finite.
  void SeeNotFinite(const std::string& worker, uint64_t group) {
    not_finite_in_.emplace(group, worker);
  }
  // It goes on with a round in which another process has done the first steps.
  void SeeResumed(uint64_t round) { resumed_.insert(round); }

  uint64_t commits() const { return commits_; }
  uint64_t groups() const { return groups_.size(); }
  uint64_t retries() const { return retries_; }
  uint64_t term() const { return term_; }
  uint64_t step() const { return step_; }
  uint64_t voids() const { return voids_; }
  uint64_t rewinds() const { return rewinds_; }
  uint64_t undone() const { return undone_.size(); }  // Rounds.
  uint64_t resumed() const { return resumed_.size(); }
  const std::optional<server::EndRecord>& end() const { return end_; }

 private:
  void On(const server::TermRecord& record);
  void On(const server::ReferenceRecord&) {}
  template <typename T>
  void On(const T&) {}
  void On(const server::GroupRecord& record);
  void On(const server::OrderRecord& record);
  void On(const server::CommitRecord& record);
  void On(const server::VoidRecord& record);
  void On(const server::EvaluationRecord& record);
  void On(const server::CheckpointRecord& record);
  void On(const server::EndRecord& record);
  void On(const server::RewindRecord& record);
  void On(const server::NoticeRecord& record);
  void Bad(const std::string& what) { world_->Violate(what); }
  void CheckNeeds(const server::GroupRecord& record);
  void CheckCollective(const server::OrderRecord& record);
  // What the commit's state was trained on, the open round's orders have dealt.
  std::optional<std::vector<Sample>> TrainedFor(const server::CommitRecord& record);
  struct Dealt {
    std::vector<Sample> credited;              // Of members that were finite.
    std::vector<std::vector<Sample>> unclear;  // Of each that was not, in a parallel order.
  };
  Dealt DealtFor(const server::CommitRecord& record);
  void CheckSamples(const server::CommitRecord& record);
  bool ExplainUnclear(const server::CommitRecord& record, Dealt* dealt);
  void FindOddOnes(const server::CommitRecord& record);
  void Use(const server::CommitRecord& record, const std::vector<Sample>& samples);
  // Samples of the open round by rank of each order's group: those of steps that are done.
  std::vector<Sample> Done(size_t order, size_t rank) const;
  static std::vector<Sample> SamplesOf(const std::vector<server::SampleRun>& runs);

  World* world_;
  const States* states_;
  uint64_t train_samples_;
  bool may_differ_;
  ResidualJudge residuals_;
  server::Collective collective_ = server::Collective::kRing;
  bool sparse_is_faster_ = false;
  // Rounds that have measured it; of those that were undone, too.
  std::map<server::Collective, int> measured_;
  uint64_t term_ = 0;
  std::set<uint64_t> terms_;  // Of this life of the coordinator.
  uint64_t step_ = 0;
  uint64_t head_ = States::kInitial;
  std::map<uint64_t, std::vector<std::string>> groups_;  // Members' names by rank.
  std::vector<server::OrderRecord> open_;  // The open round's: one, and those that went on with it.
  uint64_t last_order_ = 0;
  struct Committed {
    uint64_t state = States::kInitial;
    uint64_t step = 0;
    server::LedgerState ledger;
  };
  std::map<uint64_t, Committed> history_ = {{0, {}}};  // By round, not undone.
  // Rounds and their states; also those of histories that an old copy of the disk has replaced.
  std::set<std::pair<uint64_t, uint64_t>> undone_;
  std::map<Sample, uint64_t> used_;                           // -> round.
  std::map<Sample, uint64_t> not_finite_;                     // -> round.
  std::set<std::pair<uint64_t, std::string>> not_finite_in_;  // (group, worker): parallel orders.
  std::set<uint64_t> resumed_;                                // Rounds.
  std::set<uint64_t> checkpoints_;                            // Rounds, not undone.
  server::LedgerState ledger_;
  // (round, group, attempt) -> worker -> state.
  std::map<std::tuple<uint64_t, uint64_t, uint32_t>, std::map<std::string, uint64_t>> staged_;
  std::map<std::string, uint64_t> moments_at_;
  std::set<std::string> has_moments_;  // Workers whose moments may be kept (rule 8).
  uint64_t commits_ = 0;
  uint64_t retries_ = 0;
  uint64_t voids_ = 0;
  uint64_t rewinds_ = 0;
  std::optional<uint64_t> checkpoint_step_;
  std::optional<uint64_t> evaluation_step_;
  std::optional<server::EndRecord> end_;
};

}  // namespace rondo::simulation

#endif  // RONDO_TESTS_SIMULATION_ORACLE_H_
