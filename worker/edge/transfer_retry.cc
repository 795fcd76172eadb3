#include "worker/edge/transfer_retry.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/mix64.h"

namespace rondo::worker {
namespace {

constexpr absl::Duration kFirstPause = absl::Milliseconds(100);
constexpr absl::Duration kLongestPause = absl::Seconds(5);
constexpr absl::Duration kAskEvery = absl::Milliseconds(100);

bool IsTransient(const absl::Status& status, Patience patience) {
  if (absl::IsResourceExhausted(status)) return true;
  return patience == Patience::kAlways && absl::IsUnavailable(status);
}

}  // namespace

absl::Status RetryTransfer(const RetryOptions& options, Patience patience,
                           const std::function<bool()>& stop,
                           const std::function<absl::Status()>& attempt) {
  SplitMix64 jitter(options.seed);
  absl::Duration pause = kFirstPause;
  for (;;) {
    absl::Status status = attempt();
    if (!IsTransient(status, patience)) return status;
    absl::Duration rest = pause * (0.5 + 0.5 * static_cast<double>(jitter.Below(1'001)) / 1'000);
    pause = std::min(2 * pause, kLongestPause);
    while (rest > absl::ZeroDuration()) {
      if (stop()) return status;
      const absl::Duration slice = std::min(rest, kAskEvery);
      options.sleep(slice);
      rest -= slice;
    }
    if (stop()) return status;
  }
}

absl::Status FromTransfer(const grpc::Status& status, const std::string& what) {
  const std::string text = fmt::format("{}: {}", what, status.error_message());
  switch (status.error_code()) {
    case grpc::StatusCode::OK:
      return absl::OkStatus();
    case grpc::StatusCode::UNAVAILABLE:
      return absl::UnavailableError(text);
    case grpc::StatusCode::RESOURCE_EXHAUSTED:
      return absl::ResourceExhaustedError(text);
    case grpc::StatusCode::NOT_FOUND:
      return absl::NotFoundError(text);
    case grpc::StatusCode::DATA_LOSS:
      return absl::DataLossError(text);
    default:
      return absl::InternalError(text);
  }
}

}  // namespace rondo::worker
