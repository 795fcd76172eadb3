#include "worker/runtime/state_exchange.h"

#include <fmt/format.h>

#include <array>

#include "common/status_macros.h"

namespace rondo::worker {
namespace {

// What goes before the pieces, so that the taker can check what it gets.
struct Preface {
  uint64_t state_hash = 0;
  uint64_t step_count = 0;
};
using PrefaceWords = std::array<uint64_t, 2>;

bool NeedsValues(StateNeed need) { return need == StateNeed::kAll || need == StateNeed::kValues; }
bool NeedsMoments(StateNeed need) { return need == StateNeed::kAll || need == StateNeed::kMoments; }
bool NeedsGiver(StateNeed need) {
  return NeedsValues(need) || NeedsMoments(need) || need == StateNeed::kStep;
}

// One direction of the exchange between two ranks: the pieces in their order, sent or received.
class Transfer {
 public:
  Transfer(const Assemble& assemble, int peer, bool sends, const ExchangeParts& parts)
      : call_{.round = static_cast<int64_t>(assemble.round.value),
              .attempt_or_step = static_cast<int64_t>(assemble.step),
              .phase = rondo::Phase::kState},
        peer_(peer),
        sends_(sends),
        parts_(parts) {}

  template <typename T>
  absl::Status Move(T* data, int64_t count) {
    if (count == 0) return absl::OkStatus();
    const ByteSpan bytes = AsWritableBytes(DeviceSpan<T>(data, count));
    bytes_ += static_cast<uint64_t>(bytes.size);
    return sends_ ? parts_.group->Send(call_, peer_, bytes, parts_.limit)
                  : parts_.group->Receive(call_, peer_, bytes, parts_.limit);
  }
  absl::Status Move(DeviceSpan<float> floats) { return Move(floats.data, floats.size); }

  absl::Status MovePieces(StateNeed need, bool base) {
    MemberState& state = *parts_.state;
    if (NeedsValues(need)) {
      RETURN_IF_ERROR(Move(state.given_parameters(base)));
      RETURN_IF_ERROR(Move(state.given_buffers(base)));
      const std::span<int64_t> integers = state.given_integers(base);
      RETURN_IF_ERROR(Move(integers.data(), static_cast<int64_t>(integers.size())));
    }
    if (NeedsMoments(need)) {
      for (const DeviceSpan<float>& moment : state.optimizer().moments()) {
        RETURN_IF_ERROR(Move(moment));
      }
    }
    if (need != StateNeed::kStep) return absl::OkStatus();
    if (parts_.gradients->sparse()) return sends_ ? SendSparseStep() : ReceiveSparseStep();
    return Move(sends_ ? parts_.gradients->outgoing() : parts_.gradients->incoming());
  }
  uint64_t bytes() const { return bytes_; }

 private:
  absl::Status SendSparseStep() {
    SparseStepResult result = parts_.gradients->OutgoingSparse();
    return MoveSparseStep(result.entries.size(), &result);
  }

  absl::Status ReceiveSparseStep() {
    return MoveSparseStep(0, &parts_.gradients->incoming_sparse());
  }

  // What is received is as long as the sender says, within the vector.
  absl::Status MoveSparseStep(uint64_t count, SparseStepResult* result) {
    RETURN_IF_ERROR(Move(&count, 1));
    RETURN_IF_ERROR(Move(&result->factor_sum, 1));
    const auto elements = static_cast<uint64_t>(parts_.state->engine().parameters().size);
    if (count > elements || !(result->factor_sum > 0)) {
      return absl::InvalidArgumentError(
          fmt::format("rank {} gives a step's result of {} entries, of {} elements, and factor {}",
                      peer_, count, elements, result->factor_sum));
    }
    result->entries.resize(static_cast<size_t>(count));
    RETURN_IF_ERROR(Move(result->counts.data(), static_cast<int64_t>(result->counts.size())));
    return Move(result->entries.data(), static_cast<int64_t>(count));
  }

  const CallId call_;
  const int peer_;
  const bool sends_;
  const ExchangeParts& parts_;
  uint64_t bytes_ = 0;
};

absl::Status Give(const Assemble& assemble, uint32_t own_rank, bool base, Preface preface,
                  const ExchangeParts& parts) {
  for (uint32_t rank = 0; rank < assemble.members.size(); ++rank) {
    const StateNeed need = assemble.members[rank].need;
    if (rank == own_rank || !NeedsGiver(need)) continue;
    if (need == StateNeed::kStep &&
        parts.gradients->last_step() != static_cast<int64_t>(assemble.step)) {
      return absl::InternalError(
          fmt::format("the giver does not hold the result of step {}", assemble.step));
    }
    Transfer transfer(assemble, static_cast<int>(rank), /*sends=*/true, parts);
    PrefaceWords words{preface.state_hash, preface.step_count};
    RETURN_IF_ERROR(transfer.Move(words.data(), 2));
    RETURN_IF_ERROR(transfer.MovePieces(need, base));
  }
  return absl::OkStatus();
}

absl::StatusOr<ExchangeResult> Take(const Assemble& assemble, StateNeed need, uint64_t held_hash,
                                    const ExchangeParts& parts) {
  Transfer transfer(assemble, static_cast<int>(assemble.giver), /*sends=*/false, parts);
  PrefaceWords words{};
  RETURN_IF_ERROR(transfer.Move(words.data(), 2));
  if (NeedsValues(need)) parts.state->ForgetBase();
  RETURN_IF_ERROR(transfer.MovePieces(need, /*base=*/false));
  ExchangeResult result{.state_hash = held_hash, .received_bytes = transfer.bytes()};
  if (NeedsMoments(need)) {
    parts.state->optimizer().set_step_count(static_cast<int64_t>(words[1]));
  }
  if (NeedsValues(need)) {
    ASSIGN_OR_RETURN(result.state_hash, parts.state->HashWorking());
    if (result.state_hash != words[0]) {
      return absl::DataLossError(
          fmt::format("the state received from rank {} has hash {:016x}, it was sent with {:016x}",
                      assemble.giver, result.state_hash, words[0]));
    }
  }
  if (need == StateNeed::kStep) {
    if (!parts.gradients->sparse()) parts.gradients->Accept(static_cast<int64_t>(assemble.step));
    result.took_step = true;
  }
  return result;
}

}  // namespace

absl::StatusOr<ExchangeResult> ExchangeState(const Assemble& assemble, uint32_t rank,
                                             uint64_t held_hash, const ExchangeParts& parts) {
  const bool base = assemble.purpose != Purpose::kRepair && parts.state->has_base();
  const StateNeed need = assemble.members[rank].need;
  ExchangeResult result{.state_hash = held_hash};
  if (need == StateNeed::kInitial || need == StateNeed::kFile) {
    ASSIGN_OR_RETURN(result.state_hash, parts.state->HashWorking());
  }
  if (need == StateNeed::kPartial) {
    ASSIGN_OR_RETURN(result.state_hash, parts.state->HashBase());
  }
  if (rank == assemble.giver) {
    Preface preface{.state_hash = result.state_hash,
                    .step_count = static_cast<uint64_t>(parts.state->optimizer().step_count())};
    if (assemble.purpose == Purpose::kRepair) {  // What is given lies past the last commit.
      ASSIGN_OR_RETURN(preface.state_hash, parts.state->HashWorking());
    }
    RETURN_IF_ERROR(Give(assemble, rank, base, preface, parts));
  } else if (NeedsGiver(need)) {
    ASSIGN_OR_RETURN(result, Take(assemble, need, held_hash, parts));
  }
  const bool named = assemble.round && assemble.purpose != Purpose::kRepair;
  if (named && result.state_hash != assemble.state_hash) {
    return absl::DataLossError(fmt::format(
        "this member holds a state with hash {:016x}, the group's is {:016x} (round {})",
        result.state_hash, assemble.state_hash, assemble.round));
  }
  return result;
}

}  // namespace rondo::worker
