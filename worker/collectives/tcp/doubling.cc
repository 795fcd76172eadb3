#include "worker/collectives/tcp/doubling.h"

#include "common/status_macros.h"
#include "kernels/accumulate.h"
#include "kernels/span.h"

namespace rondo {
namespace {

int LargestPowerOfTwo(int at_most) {
  int power = 1;
  while (2 * power <= at_most) power *= 2;
  return power;
}

// `data` = lower + higher; `theirs` is the lower part if `theirs_first`.
void Combine(std::span<float> data, const float* theirs, bool theirs_first) {
  const int64_t size = static_cast<int64_t>(data.size());
  const DeviceSpan<const float> mine(data.data(), size);
  const DeviceSpan<const float> other(theirs, size);
  // Spans on the CPU of one size: Sum cannot fail.
  Sum({.left = theirs_first ? other : mine,
       .right = theirs_first ? mine : other,
       .result = DeviceSpan<float>(data.data(), size)})
      .IgnoreError();
}

void Combine(std::span<uint64_t> data, const uint64_t* theirs, bool) {
  for (size_t i = 0; i < data.size(); ++i) data[i] += theirs[i];
}

template <typename T>
int64_t BytesOf(std::span<T> data) {
  return static_cast<int64_t>(data.size() * sizeof(T));
}

template <typename T>
absl::Status SendTo(Exchange& exchange, const ExchangeCall& call, int peer, std::span<T> data) {
  Outgoing out[] = {{.peer = peer,
                     .data = reinterpret_cast<const std::byte*>(data.data()),
                     .length = BytesOf(data)}};
  return exchange.Run(call, out, {});
}

template <typename T>
absl::Status ReceiveFrom(Exchange& exchange, const ExchangeCall& call, int peer, T* data,
                         int64_t length) {
  Incoming in[] = {{.peer = peer, .data = reinterpret_cast<std::byte*>(data), .length = length}};
  return exchange.Run(call, {}, in);
}

}  // namespace

template <typename T>
absl::Status DoublingAllReduce::Swap(const ExchangeCall& call, int partner, std::span<T> data) {
  Outgoing out[] = {{.peer = partner,
                     .data = reinterpret_cast<const std::byte*>(data.data()),
                     .length = BytesOf(data)}};
  Incoming in[] = {{.peer = partner,
                    .data = reinterpret_cast<std::byte*>(theirs_.data()),
                    .length = BytesOf(data)}};
  return exchange_.Run(call, out, in);
}

template <typename T>
absl::Status DoublingAllReduce::SumOf(const ExchangeCall& call, std::span<T> data) {
  const int rank = exchange_.rank();
  const int doubling_ranks = LargestPowerOfTwo(exchange_.size());
  const int folded = exchange_.size() - doubling_ranks;  // pairs
  theirs_.resize((data.size_bytes() + sizeof(uint64_t) - 1) / sizeof(uint64_t));
  T* const theirs = reinterpret_cast<T*>(theirs_.data());
  const bool in_pair = rank < 2 * folded;

  if (in_pair && rank % 2 == 1) {
    RETURN_IF_ERROR(SendTo(exchange_, call, rank - 1, data));
    return ReceiveFrom(exchange_, call, rank - 1, data.data(), BytesOf(data));
  }
  if (in_pair) {
    RETURN_IF_ERROR(ReceiveFrom(exchange_, call, rank + 1, theirs, BytesOf(data)));
    Combine(data, theirs, /*theirs_first=*/false);
  }
  const int number = in_pair ? rank / 2 : rank - folded;
  for (int bit = 1; bit < doubling_ranks; bit *= 2) {
    const int other = number ^ bit;
    const int partner = other < folded ? 2 * other : other + folded;
    RETURN_IF_ERROR(Swap(call, partner, data));
    Combine(data, theirs, /*theirs_first=*/other < number);
  }
  return in_pair ? SendTo(exchange_, call, rank + 1, data) : absl::OkStatus();
}

absl::Status DoublingAllReduce::Sum(const CallId& call, std::span<float> data, Deadline deadline) {
  return SumOf({.id = call,
                .algorithm = Algorithm::kDoubling,
                .type = ElementType::kFloat32,
                .count = static_cast<int64_t>(data.size()),
                .deadline = deadline},
               data);
}

absl::Status DoublingAllReduce::Sum(const CallId& call, std::span<uint64_t> data,
                                    Deadline deadline) {
  return SumOf({.id = call,
                .algorithm = Algorithm::kDoubling,
                .type = ElementType::kUint64,
                .count = static_cast<int64_t>(data.size()),
                .deadline = deadline},
               data);
}

}  // namespace rondo
