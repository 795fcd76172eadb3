#include "worker/collectives/tcp/header.h"

#include <gtest/gtest.h>

#include <functional>

#include "common/status_matchers.h"

namespace rondo {
namespace {

MessageHeader Expected() {
  MessageHeader header = {.job_hash = 11, .group = 12};
  header.token.fill(std::byte{13});
  header.call = {.round = 14, .attempt_or_step = 15, .phase = Phase::kBuffers};
  header.algorithm = Algorithm::kDoubling;
  header.type = ElementType::kFloat32;
  header.sender = 3;
  header.count = 16;
  header.sequence = 17;
  header.length = 64;
  return header;
}

TEST(HeaderTest, IsAcceptedAsItWasSent) {
  EXPECT_OK(CheckHeader(EncodeHeader(Expected()), Expected()));
}

TEST(HeaderTest, NamesTheFieldThatDiffersAndTheSender) {
  const std::pair<const char*, std::function<void(MessageHeader&)>> kCases[] = {
      {"sender", [](MessageHeader& h) { h.sender = 4; }},
      {"job", [](MessageHeader& h) { h.job_hash = 1; }},
      {"group", [](MessageHeader& h) { h.group = 1; }},
      {"token", [](MessageHeader& h) { h.token[15] = std::byte{0}; }},
      {"round", [](MessageHeader& h) { h.call.round = 1; }},
      {"attempt or step", [](MessageHeader& h) { h.call.attempt_or_step = 1; }},
      {"phase", [](MessageHeader& h) { h.call.phase = Phase::kState; }},
      {"algorithm", [](MessageHeader& h) { h.algorithm = Algorithm::kRing; }},
      {"element type", [](MessageHeader& h) { h.type = ElementType::kByte; }},
      {"count", [](MessageHeader& h) { h.count = 1; }},
      {"sequence", [](MessageHeader& h) { h.sequence = 1; }},
      {"length", [](MessageHeader& h) { h.length = 60; }},
  };
  for (const auto& [field, change] : kCases) {
    MessageHeader sent = Expected();
    change(sent);
    EXPECT_THAT(CheckHeader(EncodeHeader(sent), Expected()),
                StatusIs(absl::StatusCode::kInvalidArgument,
                         testing::AllOf(testing::HasSubstr(std::string("refused: ") + field),
                                        testing::HasSubstr("rank 3"))));
  }
}

// Nothing that could arrive is taken for right: each byte of the header matters.
TEST(HeaderTest, RefusesAnyChangedByte) {
  const HeaderBytes right = EncodeHeader(Expected());
  for (size_t i = 0; i < right.size(); ++i) {
    HeaderBytes wrong = right;
    wrong[i] ^= std::byte{0x41};
    EXPECT_THAT(CheckHeader(wrong, Expected()), StatusIs(absl::StatusCode::kInvalidArgument)) << i;
  }
}

TEST(HeaderTest, NeverPrintsTheToken) {
  MessageHeader sent = Expected();
  sent.token.fill(std::byte{'Q'});
  const absl::Status status = CheckHeader(EncodeHeader(sent), Expected());
  EXPECT_THAT(std::string(status.message()), testing::Not(testing::HasSubstr("QQ")));
}

}  // namespace
}  // namespace rondo
