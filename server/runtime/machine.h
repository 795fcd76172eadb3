// The decisions as the runtime sees them; core/job_machine makes them, tests put their own here.
#ifndef RONDO_SERVER_RUNTIME_MACHINE_H_
#define RONDO_SERVER_RUNTIME_MACHINE_H_

#include <vector>

#include "absl/time/time.h"
#include "server/core/job_machine.h"

namespace rondo::server {

// Threads: one caller at a time; the coordinator calls it under its lock.
class Machine {
 public:
  virtual ~Machine() = default;
  virtual Effects Start(absl::Time now) = 0;
  virtual Effects Handle(const Event& event, absl::Time now) = 0;
  virtual StatusView status(absl::Time now) const = 0;
  virtual std::vector<WorkerRow> workers() const = 0;
};

}  // namespace rondo::server

#endif  // RONDO_SERVER_RUNTIME_MACHINE_H_
