// What `rondo replay` found, as text and as JSON.
#ifndef RONDO_SERVER_CLI_REPLAY_FORMAT_H_
#define RONDO_SERVER_CLI_REPLAY_FORMAT_H_

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "server/cli/retrain.h"
#include "server/core/replay.h"

namespace rondo::cli {

// Of --train.
struct TrainView {
  uint64_t committed = 0;  // Rounds that could be trained again.
  uint64_t same = 0;       // Rounds that came to the same state.
  std::string ended_by;    // Why no later round could be; empty: there is none.
  std::optional<RetrainReport::Difference> difference;
};

struct ReplayView {
  std::string job_id;
  server::ReplayReport report;
  std::optional<TrainView> train;  // Absent without --train, or when decisions differ already.

  bool Same() const { return report.found == 0 && (!train || !train->difference); }
};

nlohmann::ordered_json ReplayJson(const ReplayView& view);

// Several lines, each ended by a newline.
std::string ReplayText(const ReplayView& view);

}  // namespace rondo::cli

#endif  // RONDO_SERVER_CLI_REPLAY_FORMAT_H_
