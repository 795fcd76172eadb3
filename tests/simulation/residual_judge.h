// The judge of residuals (rule 9 of proto/RULES.md): nothing is delivered twice or lost in silence;
// a residual is kept by who holds every committed result since it joined, is zero in every other
// case, and the journal says so by name. Works out by itself, from the journal and the states'
// histories, what each worker must have.
#ifndef RONDO_TESTS_SIMULATION_RESIDUAL_JUDGE_H_
#define RONDO_TESTS_SIMULATION_RESIDUAL_JUDGE_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "server/core/messages.h"
#include "server/core/records.h"
#include "tests/simulation/pieces.h"
#include "tests/simulation/states.h"
#include "tests/simulation/world.h"

namespace rondo::simulation {

// Workers are called NAME#INCARNATION here.
class ResidualJudge {
 public:
  ResidualJudge(World* world, const States* states) : world_(world), states_(states) {}

  void SeeGroup(const server::GroupRecord& record);
  void SeeOrder(const server::OrderRecord& record, bool goes_on);
  // `head`: the state that it extends. `staged`: what members have staged for its attempt.
  void SeeCommit(const server::CommitRecord& record, uint64_t head,
                 const std::map<std::string, uint64_t>& staged);
  void SeeNotice(const server::NoticeRecord& record);
  void SeeCheckpoint(const server::CheckpointRecord& record);
  void SeeRewind(const server::RewindRecord& record);
  void SeeEnd(const server::EndRecord& record);

  // It has formed the group (no repair) for this need, and goes on with this residual.
  void SeeFormed(const std::string& worker, uint64_t group, server::StateNeed need,
                 const Pieces& residual);
  // It has applied the result of the round.
  void SeeApplied(const std::string& worker, uint64_t round, const Pieces& residual);

 private:
  // What a rewind goes back to.
  struct Kept {
    std::map<std::string, double> reported = {};
    std::map<std::string, Pieces> files = {};  // By name.
    std::map<Piece, uint64_t> delivered = {};
    uint64_t told = 0;
    RoundMode mode = RoundMode::kLocal;
  };

  void Deliver(const server::CommitRecord& record, uint64_t head);
  void CheckReported(const server::CommitRecord& record,
                     const std::map<std::string, uint64_t>& staged);
  void CheckTold();
  Pieces FileOf(const std::string& name) const;
  void Bad(const std::string& what) { world_->Violate(what); }
  static std::string NameOf(const std::string& worker) {
    return worker.substr(0, worker.find('#'));
  }

  World* world_;
  const States* states_;
  std::map<uint64_t, std::vector<std::string>> groups_;  // Members.
  std::vector<std::string> ordered_;                     // Members of the open round's orders.
  uint64_t round_ = 0;                                   // Of the last commit.
  std::map<std::string, Pieces> owed_;       // By worker: what it has after the last commit.
  std::map<std::string, Pieces> last_owed_;  // By name, of who took part in the last commit.
  std::map<Piece, uint64_t> delivered_;      // -> round; not undone.
  std::map<std::string, double> reported_;   // By name, as the journal has it.
  std::map<std::string, double> untold_;     // By name: lost, and no event has said so.
  std::set<std::string> zeroed_;             // Names with one, whose needs leave them none.
  std::map<uint64_t, Kept> checkpoints_;     // By round.
  std::map<std::string, Pieces> files_;      // Of the checkpoint that the job went back to.
  RoundMode mode_ = RoundMode::kLocal;       // Of the last commit.
  bool mode_changes_ = false;                // The open round is the first of its mode.
  bool rewound_ = false;                     // No order since.
  uint64_t told_ = 0;
};

}  // namespace rondo::simulation

#endif  // RONDO_TESTS_SIMULATION_RESIDUAL_JUDGE_H_
