#include "worker/runtime/partial.h"

#include <fmt/format.h>

#include <bit>
#include <map>
#include <string>

#include "absl/strings/numbers.h"
#include "common/safetensors.h"
#include "common/status_macros.h"
#include "worker/runtime/state_files.h"
#include "worker/runtime/state_tensors.h"

namespace rondo::worker {
namespace {

using Metadata = std::map<std::string, std::string>;

absl::StatusOr<uint64_t> NumberIn(const Metadata& metadata, const std::string& key) {
  const auto found = metadata.find(key);
  uint64_t number = 0;
  const bool good =
      found != metadata.end() && (key == "loss_sum" ? absl::SimpleHexAtoi(found->second, &number)
                                                    : absl::SimpleAtoi(found->second, &number));
  if (good) return number;
  return absl::DataLossError(fmt::format("a partial's metadata has no {}", key));
}

absl::StatusOr<Partial> Parse(const Metadata& metadata) {
  Partial partial;
  ASSIGN_OR_RETURN(partial.round.value, NumberIn(metadata, "round"));
  ASSIGN_OR_RETURN(partial.first_step, NumberIn(metadata, "first_step"));
  ASSIGN_OR_RETURN(partial.next_step, NumberIn(metadata, "step"));
  ASSIGN_OR_RETURN(partial.samples, NumberIn(metadata, "samples"));
  ASSIGN_OR_RETURN(const uint64_t loss_bits, NumberIn(metadata, "loss_sum"));
  partial.loss_sum = std::bit_cast<double>(loss_bits);
  ASSIGN_OR_RETURN(const uint64_t finite, NumberIn(metadata, "finite"));
  partial.finite = finite != 0;
  return partial;
}

}  // namespace

bool PartialDue(const Order& order, uint64_t next_step, uint64_t every) {
  return every != 0 && order.mode == Mode::kLocal && order.length > every &&
         next_step % every == 0 && next_step < order.first_step + order.length;
}

absl::Status SavePartial(const Partial& partial, uint64_t members, StateSink* sink,
                         const StopCheck& stop, MemberState* state) {
  const Metadata metadata = {
      {"round", fmt::format("{}", partial.round)},
      {"first_step", fmt::format("{}", partial.first_step)},
      {"step", fmt::format("{}", partial.next_step)},
      {"step_count", fmt::format("{}", state->optimizer().step_count())},
      {"samples", fmt::format("{}", partial.samples)},
      {"loss_sum", fmt::format("{:016x}", std::bit_cast<uint64_t>(partial.loss_sum))},
      {"finite", partial.finite ? "1" : "0"}};
  const std::string path = sink->TemporaryPath(StateFile::kPartial);
  RETURN_IF_ERROR(WriteTensors(path, StateFile::kPartial, metadata, state));
  return sink->PutPartial({partial.round, partial.next_step, members}, path, stop);
}

absl::StatusOr<Partial> LoadPartial(uint64_t step, StateSource* source, const StopCheck& stop,
                                    MemberState* state) {
  ASSIGN_OR_RETURN(const std::string path, source->Get(step, StateFile::kPartial, stop));
  ASSIGN_OR_RETURN(const SafetensorsHeader header, ReadSafetensorsHeader(path));
  ASSIGN_OR_RETURN(const Partial partial, Parse(header.metadata));
  if (partial.next_step != step) {
    return absl::DataLossError(fmt::format("{} is named a partial of step {} and is of step {}",
                                           path, step, partial.next_step));
  }
  if (partial.first_step > 0) {
    RETURN_IF_ERROR(LoadValues(partial.first_step, source, stop, state));
  }
  state->KeepBase();
  RETURN_IF_ERROR(ReadTensors(path, StateFile::kPartial, state).status());
  ASSIGN_OR_RETURN(const uint64_t count, NumberIn(header.metadata, "step_count"));
  state->optimizer().set_step_count(static_cast<int64_t>(count));
  return partial;
}

}  // namespace rondo::worker
