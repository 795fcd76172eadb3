#include "worker/collectives/sparse/sparse_agreed.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"
#include "common/status_matchers.h"
#include "kernels/key_formula.h"

namespace rondo {
namespace {

SparseAgreed Some() {
  return {.cuts = {0, 10, 10, 50}, .global_key = 77, .local_key = 88, .steps = 12};
}

TEST(SparseAgreedTest, ComesBackAsItWasSaved) {
  for (const SparseAgreed& agreed : {Some(), SparseAgreed{}}) {
    ASSERT_OK_AND_ASSIGN(const SparseAgreed back, DecodeAgreed(EncodeAgreed(agreed), 50));
    EXPECT_EQ(back, agreed);
  }
}

TEST(SparseAgreedTest, DigestsTellApartWhatMembersMustShare) {
  const std::vector<std::function<void(SparseAgreed&)>> kChanges = {
      [](SparseAgreed& a) { a.cuts[1] = 9; }, [](SparseAgreed& a) { a.cuts.pop_back(); },
      [](SparseAgreed& a) { a.global_key = 78; }, [](SparseAgreed& a) { a.steps = 13; }};
  for (const auto& change : kChanges) {
    SparseAgreed other = Some();
    change(other);
    EXPECT_NE(DigestOf(other), DigestOf(Some()));
  }
  SparseAgreed other = Some();
  other.local_key = 89;  // each member has its own
  EXPECT_EQ(DigestOf(other), DigestOf(Some()));
  EXPECT_NE(DigestOf(Some()), 0u);
  EXPECT_EQ(DigestOf({.global_key = 5}), 0u);
}

TEST(SparseAgreedTest, WhatWasNotSavedIsRefused) {
  const std::vector<std::function<void(std::vector<int64_t>&)>> kChanges = {
      [](auto& e) { e.clear(); },
      [](auto& e) { e.resize(3); },
      [](auto& e) { e[0] = 2; },
      [](auto& e) { e[1] = -1; },
      [](auto& e) { e[2] = int64_t{kInfinityKey}; },
      [](auto& e) { e[3] = -1; },
      [](auto& e) { e[4] = 1; },
      [](auto& e) { e[5] = 60; },
      [](auto& e) { e.back() = 49; },
      [](auto& e) { e.resize(5); }};
  for (size_t i = 0; i < kChanges.size(); ++i) {
    std::vector<int64_t> encoded = EncodeAgreed(Some());
    kChanges[i](encoded);
    EXPECT_THAT(DecodeAgreed(encoded, 50), StatusIs(absl::StatusCode::kDataLoss)) << i;
  }
}

}  // namespace
}  // namespace rondo
