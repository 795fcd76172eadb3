// A job drawn by chance: policy, batch, limits, how many workers.
#ifndef RONDO_TESTS_SIMULATION_JOB_SHAPE_H_
#define RONDO_TESTS_SIMULATION_JOB_SHAPE_H_

#include <cstdint>

#include "server/core/job_machine.h"
#include "tests/simulation/weather.h"
#include "tests/simulation/world.h"

namespace rondo::simulation {

server::MachineConfig DrawConfig(World* world, const Weather& weather);
// Enough for at least one step of every epoch.
uint64_t DrawTrainSamples(World* world, const server::MachineConfig& config);

}  // namespace rondo::simulation

#endif  // RONDO_TESTS_SIMULATION_JOB_SHAPE_H_
