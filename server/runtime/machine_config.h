// What the core's machine takes, from the frozen job.
#ifndef RONDO_SERVER_RUNTIME_MACHINE_CONFIG_H_
#define RONDO_SERVER_RUNTIME_MACHINE_CONFIG_H_

#include <array>
#include <cstdint>

#include "absl/status/statusor.h"
#include "common/ids.h"
#include "proto/rondo/v1/job.pb.h"
#include "server/core/job_machine.h"

namespace rondo::server {

// `job` is frozen: resolved, with an id. `token_seed`: fresh bits from the system. Errors:
// InvalidArgument names what is missing or unknown.
absl::StatusOr<MachineConfig> MachineConfigFromJob(const v1::Job& job, Term term,
                                                   std::array<uint64_t, 2> token_seed);

}  // namespace rondo::server

#endif  // RONDO_SERVER_RUNTIME_MACHINE_CONFIG_H_
