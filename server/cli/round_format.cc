#include "server/cli/round_format.h"

#include <fmt/format.h>

#include "server/cli/comm_format.h"
#include "server/cli/units.h"

namespace rondo::cli {

std::string ModeName(v1::Mode mode) {
  switch (mode) {
    case v1::MODE_PARALLEL:
      return "parallel";
    case v1::MODE_LOCAL:
      return "local";
    default:
      return fmt::format("unknown ({})", static_cast<int>(mode));  // A newer coordinator's.
  }
}

nlohmann::ordered_json RoundJson(const v1::Round& round) {
  nlohmann::ordered_json json;
  json["round"] = round.round();
  json["mode"] = ModeName(round.mode());
  json["first_step"] = round.first_step();
  json["length"] = round.length();
  json["rate_first"] = round.rate_first();
  json["mean_loss"] = round.mean_loss();
  json["parameter_norm_squared"] = round.parameter_norm_squared();
  json["state_hash"] = fmt::format("{:016x}", round.state_hash());
  json["members"] = nlohmann::json::array();
  for (const std::string& member : round.members()) json["members"].push_back(member);
  json["bytes_sent"] = round.bytes_sent();
  json["reduce_seconds"] = round.reduce_seconds();
  json["control_seconds"] = round.control_seconds();
  json["samples"] = round.samples();
  json["group"] = round.group();
  json["attempts"] = round.attempts();
  json["step_seconds"] = round.step_seconds();
  json["seconds"] = round.seconds();
  json["undone"] = round.undone();
  json["collective"] = CollectiveName(round.collective());
  json["density"] = round.density();
  json["residual_norm_squared"] = round.residual_norm_squared();
  json["costs"] = CostsJson(round.costs());
  if (round.has_sparse()) json["sparse"] = SparseJson(round.sparse());
  if (round.has_evaluation()) {
    json["test_loss"] = round.evaluation().loss();
    json["test_accuracy"] = nullptr;
    if (round.evaluation().has_accuracy()) json["test_accuracy"] = round.evaluation().accuracy();
  }
  return json;
}

std::string RoundHeading() {
  return fmt::format("{:>6} {:<8} {:>9} {:>7} {:>10} {:>10} {:>7} {:>9} {:>9} {:>9} {:>9}  {}",
                     "round", "mode", "step", "H", "rate", "loss", "members", "sent", "steps",
                     "reduce", "control", "test");
}

std::string RoundLine(const v1::Round& round) {
  std::string test;
  if (round.has_evaluation()) {
    test = fmt::format("  loss {:.4f}", round.evaluation().loss());
    if (round.evaluation().has_accuracy()) {
      test += fmt::format(", accuracy {:.4f}", round.evaluation().accuracy());
    }
  }
  if (round.has_sparse()) {
    test += "  " + SparseText(round.collective(), round.density(), round.sparse());
  }
  if (round.undone()) test += "  undone";
  return fmt::format("{:>6} {:<8} {:>9} {:>7} {:>10.4g} {:>10.4g} {:>7} {:>9} {:>9} {:>9} {:>9}{}",
                     round.round(), ModeName(round.mode()), round.first_step(), round.length(),
                     round.rate_first(), round.mean_loss(), round.members_size(),
                     BytesText(round.bytes_sent()), SecondsText(round.step_seconds()),
                     SecondsText(round.reduce_seconds()), SecondsText(round.control_seconds()),
                     test);
}

}  // namespace rondo::cli
