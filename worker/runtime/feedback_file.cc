#include "worker/runtime/feedback_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "common/status_macros.h"
#include "worker/collectives/sparse/sparse_agreed.h"

namespace rondo::worker {
namespace {

constexpr char kResidual[] = "residual";
constexpr char kAgreed[] = "residual.agreed";
constexpr char kMode[] = "residual_mode";
constexpr char kK[] = "residual_k";

const SafetensorsEntry* Find(const SafetensorsHeader& header, const std::string& name) {
  const auto found = std::find_if(header.entries.begin(), header.entries.end(),
                                  [&](const auto& entry) { return entry.name == name; });
  return found == header.entries.end() ? nullptr : &*found;
}

absl::Status Misfit(const std::string& path, const std::string& what) {
  return absl::DataLossError(fmt::format("the residual in {} does not fit: {}", path, what));
}

absl::StatusOr<ErrorFeedback::Saved> ParseMetadata(const std::string& path,
                                                   const SafetensorsHeader& header) {
  const auto value = [&](const char* key) {
    const auto found = header.metadata.find(key);
    return found == header.metadata.end() ? std::string() : found->second;
  };
  ErrorFeedback::Saved saved;
  const std::string mode = value(kMode);
  if (mode != "parallel" && mode != "local") {
    return Misfit(path, fmt::format("its mode '{}' is neither parallel nor local", mode));
  }
  saved.mode = mode == "local" ? Mode::kLocal : Mode::kParallel;
  if (!absl::SimpleAtoi(value(kK), &saved.k) || saved.k < 1) {
    return Misfit(path, fmt::format("its k '{}' is not a number above 0", value(kK)));
  }
  return saved;
}

absl::StatusOr<SparseAgreed> ReadAgreed(const std::string& path, const SafetensorsHeader& header,
                                        int64_t size) {
  const SafetensorsEntry* const entry = Find(header, kAgreed);
  if (entry == nullptr) return SparseAgreed{};
  std::vector<int64_t> encoded(static_cast<size_t>(entry->elements));
  RETURN_IF_ERROR(ReadSafetensorsData(path, header, *entry, SafetensorsType::kI64, encoded.data()));
  return DecodeAgreed(encoded, size).value_or(SparseAgreed{});
}

}  // namespace

FeedbackTensors::FeedbackTensors(ErrorFeedback* feedback) {
  const std::optional<ErrorFeedback::Saved> saved = feedback->Describe();
  if (!saved) return;
  residual_ = feedback->residual();
  agreed_ = EncodeAgreed(saved->agreed);
  metadata_ = {{kMode, saved->mode == Mode::kLocal ? "local" : "parallel"},
               {kK, fmt::format("{}", saved->k)}};
}

void FeedbackTensors::AddTo(std::vector<SafetensorsTensor>* tensors,
                            std::map<std::string, std::string>* metadata) const {
  if (metadata_.empty()) return;
  tensors->push_back({.name = kResidual,
                      .type = SafetensorsType::kF32,
                      .shape = {residual_.size},
                      .data = residual_.data});
  tensors->push_back({.name = kAgreed,
                      .type = SafetensorsType::kI64,
                      .shape = {static_cast<int64_t>(agreed_.size())},
                      .data = agreed_.data()});
  metadata->insert(metadata_.begin(), metadata_.end());
}

bool IsFeedbackTensor(const SafetensorsEntry& entry) {
  return entry.name == kResidual || entry.name == kAgreed;
}

absl::Status ReadFeedback(const std::string& path, const SafetensorsHeader& header,
                          ErrorFeedback* feedback) {
  feedback->Forget();
  const SafetensorsEntry* const entry = Find(header, kResidual);
  if (entry == nullptr) return absl::OkStatus();
  ASSIGN_OR_RETURN(ErrorFeedback::Saved saved, ParseMetadata(path, header));
  if (entry->elements != feedback->size()) {
    return Misfit(path, fmt::format("it has {} elements, the model has {} parameters",
                                    entry->elements, feedback->size()));
  }
  ASSIGN_OR_RETURN(saved.agreed, ReadAgreed(path, header, feedback->size()));
  RETURN_IF_ERROR(feedback->Restore(saved));
  RETURN_IF_ERROR(
      ReadSafetensorsData(path, header, *entry, SafetensorsType::kF32, feedback->residual().data));
  return feedback->ForgetUnlessFinite();
}

}  // namespace rondo::worker
