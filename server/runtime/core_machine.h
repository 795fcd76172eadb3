// The real decisions behind the runtime's interface.
#ifndef RONDO_SERVER_RUNTIME_CORE_MACHINE_H_
#define RONDO_SERVER_RUNTIME_CORE_MACHINE_H_

#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "server/core/history.h"
#include "server/core/job_machine.h"
#include "server/runtime/machine.h"

namespace rondo::server {

class CoreMachine final : public Machine {
 public:
  explicit CoreMachine(MachineConfig config, History history = {})
      : machine_(std::move(config), std::move(history)) {}
  Effects Start(absl::Time now) override { return machine_.Start(now); }
  Effects Handle(const Event& event, absl::Time now) override {
    return machine_.Handle(event, now);
  }
  StatusView status(absl::Time now) const override { return machine_.status(now); }
  std::vector<WorkerRow> workers() const override { return machine_.workers(); }

 private:
  JobMachine machine_;
};

}  // namespace rondo::server

#endif  // RONDO_SERVER_RUNTIME_CORE_MACHINE_H_
