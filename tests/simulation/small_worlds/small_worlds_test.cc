// All orders of a few events in small worlds: the coordinator's core against the plain rules.
#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <iostream>
#include <string>
#include <unordered_set>
#include <vector>

#include "absl/hash/hash.h"
#include "tests/simulation/small_worlds/small_world.h"

namespace rondo::small_worlds {
namespace {

using Path = std::vector<Action>;

std::string Text(const Path& path) {
  std::string text;
  for (const Action& action : path) text += Describe(action) + ", ";
  return text;
}

// The first thing that is possible and no fault, until `commits` rounds are committed.
Path Undisturbed(size_t workers, uint64_t commits) {
  Path path;
  SmallWorld world(workers, {0, 0, 0, 0, 0});
  while (world.commits() < commits) {
    const Action next = world.Possible().front();
    EXPECT_EQ(world.Do(next), "") << Text(path);
    path.push_back(next);
  }
  return path;
}

// Tries every history of up to `depth` actions after `start`; returns how many states it saw.
size_t Explore(size_t workers, const Budget& budget, const Path& start, size_t depth) {
  struct Node {
    Path path;
    std::vector<Action> possible;
  };
  std::unordered_set<size_t> seen;
  SmallWorld first(workers, budget);
  for (const Action& action : start) first.Do(action);
  std::deque<Node> open = {{start, first.Possible()}};
  uint64_t commits = 0;
  while (!open.empty()) {
    const auto [path, possible] = std::move(open.front());
    open.pop_front();
    for (const Action& next : possible) {
      SmallWorld world(workers, budget);
      for (const Action& action : path) world.Do(action);
      const std::string wrong = world.Do(next);
      Path longer = path;
      longer.push_back(next);
      if (!wrong.empty()) {
        ADD_FAILURE() << wrong << "\nafter " << Text(longer);
        return seen.size();
      }
      commits = std::max(commits, world.commits());
      if (world.over() || longer.size() >= start.size() + depth) continue;
      if (seen.insert(absl::HashOf(world.Key())).second) {
        open.push_back({std::move(longer), world.Possible()});
      }
    }
  }
  std::cout << seen.size() << " states, up to " << commits << " commits\n";
  return seen.size();
}

// The part of an undisturbed history before its last `actions`.
Path Before(Path path, size_t actions) {
  path.resize(path.size() - std::min(actions, path.size()));
  return path;
}

TEST(SmallWorldsTest, OneWorkerFromItsFirstHello) {
  EXPECT_GT(Explore(1, {.drops = 2, .kills = 2, .strays = 1, .timers = 3}, {}, 15), 500u);
}

TEST(SmallWorldsTest, TwoWorkersFromTheirFirstHello) {
  EXPECT_GT(Explore(2, {.drops = 1, .kills = 1, .strays = 1, .timers = 2}, {}, 14), 1'000u);
}

TEST(SmallWorldsTest, TwoWorkersAroundACommit) {
  const Path start = Before(Undisturbed(2, 1), 6);
  EXPECT_GT(Explore(2, {.drops = 2, .kills = 1, .flips = 1, .strays = 1, .timers = 3}, start, 9),
            1'000u);
}

TEST(SmallWorldsTest, ThreeWorkersAroundACommit) {
  const Path start = Before(Undisturbed(3, 1), 6);
  EXPECT_GT(Explore(3, {.drops = 1, .kills = 1, .flips = 1, .strays = 0, .timers = 2}, start, 7),
            1'000u);
}

}  // namespace
}  // namespace rondo::small_worlds
