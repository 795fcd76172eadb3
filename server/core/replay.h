// Recomputes what a journal records from what it had recorded before: each round's length, rates
// and samples, numbers of groups and rounds, the ledger after each commit, the end's counts. The
// same pure functions decide here as in the running coordinator, so that a difference means another
// program, other settings, or a journal that was changed. Pure.
//
// What comes from workers is taken as it stands: hashes, losses, norms, seconds, who was lost.
#ifndef RONDO_SERVER_CORE_REPLAY_H_
#define RONDO_SERVER_CORE_REPLAY_H_

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "common/ids.h"
#include "server/core/history.h"
#include "server/core/job_machine.h"
#include "server/core/records.h"
#include "server/core/residuals.h"

namespace rondo::server {

struct Difference {
  uint64_t record = 0;   // Its number in the journal, from 1.
  std::string where;     // "the order of round 7".
  std::string what;      // "length".
  std::string journal;   // What the journal says,
  std::string computed;  // and what it should say.
};

inline constexpr size_t kDifferencesKept = 20;

struct ReplayReport {
  uint64_t records = 0;  // Looked at.
  uint64_t terms = 0;
  uint64_t groups = 0;
  uint64_t orders = 0;
  uint64_t commits = 0;
  uint64_t rewinds = 0;
  uint64_t found = 0;                   // Differences.
  std::vector<Difference> differences;  // The first kDifferencesKept.
  bool broken_off = false;              // At a record that cannot follow those before it.
  uint32_t checksum = 0;                // Of the committed rounds that were not undone.
};

// Replays a journal record by record. After a difference it goes on with what the journal says.
class Replayer {
 public:
  // `config`: of the frozen job; its term, token and limits are not looked at.
  explicit Replayer(MachineConfig config);

  // In the journal's order.
  void See(const Record& record);

  const ReplayReport& report() const { return report_; }

 private:
  void Check(const TermRecord& record);
  void Check(const ReferenceRecord& record);
  void Check(const GroupRecord& record);
  void CheckContinuation(const OrderRecord& record);
  void Check(const OrderRecord& record);
  void Check(const CommitRecord& record);
  void Check(const EvaluationRecord& record);
  void Check(const CheckpointRecord& record);
  void Check(const RewindRecord& record);
  void Check(const EndRecord& record);
  void Check(const VoidRecord&) {}
  void Check(const NoticeRecord& record);
  void Check(const RequestRecord&) {}

  void Expect(const std::string& what, const std::string& journal, const std::string& computed);
  template <typename T>
  void ExpectSame(const std::string& what, const T& journal, const T& computed);
  void ExpectLedger(const LedgerState& journal, const LedgerState& computed);
  void ExpectSameOrder(const OrderRecord& journal, const OrderRecord& computed);
  uint64_t GlobalBatch(size_t members) const;
  void ExpectTold(const std::vector<LostResidual>& lost);
  void CheckTold();

  MachineConfig config_;
  History history_;
  std::map<GroupId, GroupRecord> groups_;  // Since the open order's.
  Residuals before_commit_;                // The last one.
  Residuals untold_;                       // Lost, and no event has said so yet.
  std::string where_;                      // The record in hand.
  ReplayReport report_;
};

ReplayReport Replay(const MachineConfig& config, std::span<const Record> records);

}  // namespace rondo::server

#endif  // RONDO_SERVER_CORE_REPLAY_H_
