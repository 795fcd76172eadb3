// The residuals in the workers' files of checkpoints, as the simulation sees them.
#ifndef RONDO_TESTS_SIMULATION_SAVED_RESIDUALS_H_
#define RONDO_TESTS_SIMULATION_SAVED_RESIDUALS_H_

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "tests/simulation/pieces.h"

namespace rondo::simulation {

struct SavedResidual {
  Pieces pieces;
  bool parallel = false;  // Of gradients.
};

class SavedResiduals {
 public:
  void Put(uint64_t step, const std::string& worker, SavedResidual residual) {
    files_[{step, worker}] = std::move(residual);
  }
  // Empty where it has no file.
  SavedResidual Find(uint64_t step, const std::string& worker) const {
    const auto found = files_.find({step, worker});
    return found == files_.end() ? SavedResidual{} : found->second;
  }

 private:
  std::map<std::pair<uint64_t, std::string>, SavedResidual> files_;
};

}  // namespace rondo::simulation

#endif  // RONDO_TESTS_SIMULATION_SAVED_RESIDUALS_H_
