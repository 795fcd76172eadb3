// Messages, records and requests in a line each, for the trace of a replayed seed.
#ifndef RONDO_TESTS_SIMULATION_TRACE_H_
#define RONDO_TESTS_SIMULATION_TRACE_H_

#include <string>

#include "server/core/job_machine.h"
#include "server/core/messages.h"
#include "server/core/records.h"

namespace rondo::simulation {

std::string Describe(const server::WorkerMessage& message);
std::string Describe(const server::CoordinatorMessage& message);
std::string Describe(const server::Record& record);
// A user's request.
std::string Describe(const server::Event& request);

}  // namespace rondo::simulation

#endif  // RONDO_TESTS_SIMULATION_TRACE_H_
