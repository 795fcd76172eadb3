// For tests of JobMachine: a job that is interrupted in the middle of a round, and new processes.
#ifndef RONDO_SERVER_CORE_SCRIPTED_INTERRUPTION_H_
#define RONDO_SERVER_CORE_SCRIPTED_INTERRUPTION_H_

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "server/core/job_machine.h"
#include "server/core/scripted_workers.h"

namespace rondo::server {

// Rounds of 4 steps to step 30; checkpoints of steps 12 and 20 on the way.
inline MachineConfig SavingJob(uint64_t workers_max = 2) {
  MachineConfig config = SmallJob(2, workers_max);
  config.checkpoint_every_steps = 10;
  config.wait = absl::Seconds(1);
  return config;
}

// a and b, or those named, have committed `rounds` rounds, with the next one in work.
struct Interrupted {
  explicit Interrupted(uint64_t rounds, MachineConfig config = SavingJob(),
                       const std::vector<std::string>& names = {"a", "b"})
      : script(config) {
    for (const std::string& name : names) script.Join(name).last_round = rounds;
    script.Run();
    script.Pass(absl::Seconds(2));
  }
  void BreakAll() {
    for (auto& [name, worker] : script.workers) script.Break(*worker);
  }
  // All processes die, new ones come under these names.
  void Replace(const std::vector<std::string>& names) {
    BreakAll();
    uint64_t incarnation = 10;
    for (const std::string& name : names) {
      for (auto& [old, worker] : script.workers)
        worker->connected = worker->connected && old != name;
      script.Join(name, ++incarnation);
    }
    script.Run();
  }
  std::vector<std::pair<std::string, StateNeed>> NeedsOfGroup(size_t index) const {
    std::vector<std::pair<std::string, StateNeed>> needs;
    const std::vector<GroupRecord> groups = script.Records<GroupRecord>();
    for (const Member& m : groups.at(index).members) needs.emplace_back(m.name, m.need);
    return needs;
  }
  // The run has ended well, with every sample used once.
  void ExpectDone() const {
    ASSERT_TRUE(script.finish);
    EXPECT_EQ(script.finish->exit_code, 0) << script.finish->reason;
    const EndRecord end = script.Records<EndRecord>().back();
    EXPECT_EQ(end.step, 30u);
    EXPECT_EQ(end.syncs, 8u);
    EXPECT_EQ(script.Records<CommitRecord>().back().ledger.samples_used, 300u);
    Script undisturbed(SavingJob());
    undisturbed.Join("a");
    undisturbed.Join("b");
    undisturbed.Run();
    EXPECT_EQ(end.checksum, undisturbed.Records<EndRecord>().back().checksum);
  }
  Script script;
};

}  // namespace rondo::server

#endif  // RONDO_SERVER_CORE_SCRIPTED_INTERRUPTION_H_
