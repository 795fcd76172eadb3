#include "tests/simulation/job_shape.h"

#include <algorithm>

#include "server/core/collective.h"
#include "server/core/messages.h"

namespace rondo::simulation {
namespace {

int64_t Draw(World* world, int64_t low, int64_t high) {
  return low + static_cast<int64_t>(world->Below(static_cast<uint64_t>(high - low + 1)));
}

PolicyConfig DrawLocalPolicy(World* world) {
  PolicyConfig policy;
  policy.base_steps = Draw(world, 1, 5);
  policy.max_steps = 40;
  switch (world->Below(4)) {
    case 0:
      policy.policy = SyncPolicy::kConstant;
      break;
    case 1:
      policy.policy = SyncPolicy::kTable;
      policy.table = {{0, Draw(world, 1, 3)}, {10, Draw(world, 2, 9)}, {30, Draw(world, 1, 20)}};
      break;
    default:
      policy.policy = SyncPolicy::kPower;
      policy.power = world->Chance(0.5) ? 2 : 1;
      policy.alpha = 0.5 + 0.25 * static_cast<double>(world->Below(4));
  }
  return policy;
}

PolicyConfig DrawPolicy(World* world, Rounds rounds) {
  PolicyConfig policy = DrawLocalPolicy(world);
  policy.round_steps = Draw(world, 1, 9);
  if (rounds == Rounds::kParallel) policy.policy = SyncPolicy::kParallel;
  if (rounds == Rounds::kMixed) {
    policy.policy = SyncPolicy::kPostLocal;
    policy.switch_step = Draw(world, 5, 40);
  }
  return policy;
}

// Two jobs in five are dense.
server::CollectiveConfig DrawCollective(const World& world) {
  constexpr uint64_t kKind = 1;
  constexpr uint64_t kWarmUp = 2;
  server::CollectiveConfig config;
  const uint64_t kind = world.Aside(kKind, 10);
  if (kind < 4) return config;
  config.density = 0.125;
  if (kind < 6) {
    config.kind = server::Collective::kAuto;
    return config;
  }
  config.kind = kind < 9 ? server::Collective::kSparse : server::Collective::kTopkGather;
  config.warmup_steps = world.Aside(kWarmUp, 2) * 30;
  config.warmup_density = config.warmup_steps > 0 ? 0.5 : config.density;
  return config;
}

}  // namespace

server::MachineConfig DrawConfig(World* world, const Weather& weather) {
  server::MachineConfig config;
  config.job_id = "simulated-0123456789abcdef";
  config.term = {1};
  config.schedule.kind = ScheduleKind::kCosine;
  config.schedule.peak = 0.5;
  config.schedule.final = 0.01;
  config.schedule.warmup_steps = Draw(world, 0, 7);
  config.policy = DrawPolicy(world, weather.rounds);
  config.epochs = 1 + world->Below(4);
  config.workers_min = 1 + world->Below(3);
  config.workers_max = config.workers_min + world->Below(4);
  if (world->Chance(0.3)) {
    config.workers_max = config.workers_min;
    config.batch_per_worker = 1 + world->Below(7);
  } else {
    config.batch_global = 1 + world->Below(30);
  }
  config.wait = absl::Seconds(world->Below(6));
  config.has_test_set = world->Chance(0.7);
  config.evaluate_every_epochs = world->Below(3);
  config.checkpoint_every_steps = world->Chance(0.6) ? 2 + world->Below(20) : 0;
  config.token_seed = {1, 2};
  config.partials = config.checkpoint_every_steps != 0 && world->Chance(0.7);
  if (weather.long_rounds) {
    config.policy.policy = SyncPolicy::kConstant;
    config.policy.base_steps = Draw(world, 8, 40);
    config.checkpoint_every_steps = 2 + world->Below(6);
    config.partials = true;
  }
  if (!weather.few_attempts) config.limits.attempts_max = 1'000'000;
  config.limits.rewind_after = absl::Seconds(40);
  config.collective = DrawCollective(*world);
  return config;
}

uint64_t DrawTrainSamples(World* world, const server::MachineConfig& config) {
  const uint64_t batch =
      config.batch_global != 0 ? config.batch_global : config.batch_per_worker * config.workers_max;
  return batch * (1 + world->Below(world->Chance(0.2) ? 4 : 120)) + world->Below(batch);
}

}  // namespace rondo::simulation
