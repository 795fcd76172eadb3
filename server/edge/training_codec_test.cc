#include "server/edge/training_codec.h"

#include <gmock/gmock.h>
#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include <limits>

#include "common/status_matchers.h"

namespace rondo::server {
namespace {

using ::google::protobuf::FieldDescriptor;
using ::google::protobuf::Message;
using ::google::protobuf::TextFormat;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

v1::WorkerMessage FromText(const std::string& text) {
  v1::WorkerMessage message;
  EXPECT_TRUE(TextFormat::ParseFromString(text, &message)) << text;
  return message;
}

// One complete message of each kind, with the fields that it cannot do without.
struct Sample {
  std::string name;  // As errors call it.
  std::string text;
  std::vector<std::string> required;  // "field" or "field.field", of the body.
  std::vector<std::string> enums;
};

std::vector<Sample> Samples() {
  return {
      {"Hello",
       R"(hello { name: "a" incarnation: 7 dial: 2 device: DEVICE_KIND_CPU
                  versions { protocol: 1 rondo: "1" torch: "2.15.0" nccl: 3 } host: "h" pid: 9 })",
       {"name", "incarnation", "dial", "device", "versions.protocol", "versions.rondo",
        "versions.torch", "host", "pid"},
       {"device"}},
      {"Prepared",
       R"(prepared { layout_hash: "l" data_hash: "d" train_samples: 10 test_samples: 2 parameters: 5
                     float_buffers: 1 files { path: "p" size: 4 sha256: "s" } })",
       {"layout_hash", "data_hash", "train_samples", "parameters", "files.path", "files.sha256"},
       {}},
      {"Prepared",
       R"(prepared { problem { reason: REFUSE_REASON_FILES text: "no file" } })",
       {"problem.reason", "problem.text"},
       {"problem.reason"}},
      {"Endpoint", R"(endpoint { group: 3 blob: "x" })", {"group", "blob"}, {}},
      {"Formed",
       R"(formed { group: 3 state_hash: 5 seconds: 0.5 transfer_bytes: 6 })",
       {"group"},
       {}},
      {"Progress",
       R"(progress { round: 1 step: 2 loss: 0.5 samples_per_second: 9 stalled_seconds: 1
                     activity: ACTIVITY_TRAINING })",
       {"activity"},
       {"activity"}},
      {"Ready",
       R"(ready { group: 3 round: 4 steps: 5 samples: 6 loss_sum: 7 finite: true step_seconds: 8
                  state_hash: 9 parameter_norm_squared: 10 residual_norm_squared: 11
                  costs { phase: PHASE_REDUCE bytes_sent: 1 bytes_received: 2 header_bytes_sent: 3
                          seconds: 4 calls: 5 } reduce_seconds: 12
                  sparse { reductions: 1 selected: 2 region_entries: 3 merged: 4 delivered: 5
                           largest_part: 6 cuts: 7 thresholds: 8 rebalanced: 9 } })",
       {"group", "round", "costs.phase"},
       {"costs.phase"}},
      {"Reduced",
       R"(reduced { group: 3 round: 4 attempt: 1 state_hash: 9 parameter_norm_squared: 10
                    residual_norm_squared: 11 reduce_seconds: 12 finite: true
                    costs { phase: PHASE_ALL_GATHER seconds: 1 } })",
       {"group", "round", "attempt", "costs.phase"},
       {"costs.phase"}},
      {"Failed",
       R"(failed { group: 3 round: 4 attempt: 1 step: 5 has_result: true peer: "b"
                   cause: FAILURE_CAUSE_PEER text: "reset" })",
       {"group", "cause", "text"},
       {"cause"}},
      {"Evaluated",
       R"(evaluated { group: 3 round: 4 loss_sum: 5 correct: 6 count: 7 seconds: 8 })",
       {"group", "round"},
       {}},
      {"Saved",
       R"(saved { group: 3 round: 4 step: 5
                  files { file: STATE_FILE_LOCAL size: 6 sha256: "s" } })",
       {"group", "round", "files", "files.file", "files.sha256"},
       {"files.file"}},
      {"SaveFailed",
       R"(save_failed { group: 3 round: 4 step: 5 text: "full" })",
       {"group", "round", "text"},
       {}},
      {"Leave", R"(leave { round: 4 steps_done: 2 grace_seconds: 30 text: "SIGTERM" })", {}, {}},
  };
}

v1::WorkerMessage MessageOf(const Sample& sample) {
  return FromText("job_id: \"job-1\" term: 2 " + sample.text);
}

Message* BodyOf(v1::WorkerMessage& message) {
  const auto* reflection = message.GetReflection();
  const FieldDescriptor* body = reflection->GetOneofFieldDescriptor(
      message, message.GetDescriptor()->FindOneofByName("body"));
  return reflection->MutableMessage(&message, body);
}

// Calls `change` with the message and field that `path` leads to.
template <typename Change>
void At(Message* message, const std::string& path, Change change) {
  const size_t dot = path.find('.');
  const FieldDescriptor* field = message->GetDescriptor()->FindFieldByName(path.substr(0, dot));
  ASSERT_NE(field, nullptr) << path;
  if (dot == std::string::npos) return change(message, field);
  const auto* reflection = message->GetReflection();
  Message* next = field->is_repeated() ? reflection->MutableRepeatedMessage(message, field, 0)
                                       : reflection->MutableMessage(message, field);
  At(next, path.substr(dot + 1), change);
}

TEST(ParseTest, TakesACompleteMessageOfEachKind) {
  for (const Sample& sample : Samples()) EXPECT_OK(ParseWorkerMessage(MessageOf(sample)));
}

TEST(ParseTest, RefusesEachMissingFieldByName) {
  for (const Sample& sample : Samples()) {
    for (const std::string& path : sample.required) {
      v1::WorkerMessage message = MessageOf(sample);
      At(BodyOf(message), path, [](Message* m, const FieldDescriptor* field) {
        m->GetReflection()->ClearField(m, field);
      });
      EXPECT_THAT(ParseWorkerMessage(message), StatusIs(absl::StatusCode::kInvalidArgument,
                                                        HasSubstr(sample.name + "." + path + ":")));
    }
  }
}

TEST(ParseTest, RefusesUnknownEnumValuesByName) {
  for (const Sample& sample : Samples()) {
    for (const std::string& path : sample.enums) {
      for (int value : {0, 77}) {
        v1::WorkerMessage message = MessageOf(sample);
        At(BodyOf(message), path, [value](Message* m, const FieldDescriptor* field) {
          m->GetReflection()->SetEnumValue(m, field, value);
        });
        EXPECT_THAT(ParseWorkerMessage(message),
                    StatusIs(absl::StatusCode::kInvalidArgument,
                             HasSubstr(sample.name + "." + path + ": has the unknown value")));
      }
    }
  }
}

TEST(ParseTest, RefusesAMessageWithoutBodyJobOrTerm) {
  EXPECT_THAT(ParseWorkerMessage(FromText("job_id: 'j' term: 1")),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("WorkerMessage.body")));
  EXPECT_THAT(ParseWorkerMessage(FromText("term: 1 leave {}")),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("WorkerMessage.job_id")));
  EXPECT_THAT(ParseWorkerMessage(FromText("job_id: 'j' leave {}")),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("WorkerMessage.term")));
}

TEST(ParseTest, RefusesNumbersThatAreNotFiniteOrTooLarge) {
  const double kNan = std::numeric_limits<double>::quiet_NaN();
  v1::WorkerMessage message = MessageOf(Samples()[4]);
  message.mutable_formed()->set_seconds(kNan);
  EXPECT_THAT(ParseWorkerMessage(message),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("Formed.seconds")));
  message = MessageOf(Samples()[12]);
  message.mutable_leave()->set_grace_seconds(-1);
  EXPECT_THAT(ParseWorkerMessage(message),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("Leave.grace_seconds")));
  message = MessageOf(Samples()[6]);
  message.mutable_ready()->set_steps(~0ull);
  EXPECT_THAT(ParseWorkerMessage(message),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("Ready.steps")));
  message = MessageOf(Samples()[8]);
  message.mutable_failed()->set_text(std::string(70000, 'x'));
  EXPECT_THAT(ParseWorkerMessage(message),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("Failed.text")));
}

TEST(ParseTest, ALossMayBeNotFiniteOnlyIfTheMessageSaysSo) {
  v1::WorkerMessage message = MessageOf(Samples()[6]);
  message.mutable_ready()->set_loss_sum(std::numeric_limits<double>::infinity());
  EXPECT_THAT(ParseWorkerMessage(message),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("Ready.loss_sum")));
  message.mutable_ready()->set_finite(false);
  ASSERT_OK_AND_ASSIGN(const WorkerMessage parsed, ParseWorkerMessage(message));
  EXPECT_EQ(std::get<Ready>(parsed.body).loss_sum, 0);
}

TEST(ParseTest, KeepsEveryFieldOfHello) {
  v1::WorkerMessage message = MessageOf(Samples()[0]);
  ASSERT_TRUE(TextFormat::MergeFromString(
      R"(hello { returning { round: 4 state_hash: 5
                 order { term: 1 group: 2 round: 5 step: 30 done: true }
                 staged { round: 5 group: 2 attempt: 1 state_hash: 6 finite: true }
                 seen { term: 3 life: 77 group: 8 round: 9 } } })",
      &message));
  ASSERT_OK_AND_ASSIGN(const WorkerMessage parsed, ParseWorkerMessage(message));
  EXPECT_EQ(parsed.job_id, "job-1");
  EXPECT_EQ(parsed.term.value, 2u);
  const auto& hello = std::get<Hello>(parsed.body);
  EXPECT_EQ(hello.name, "a");
  EXPECT_EQ(hello.incarnation.value, 7u);
  EXPECT_EQ(hello.dial, 2u);
  EXPECT_EQ(hello.protocol, 1u);
  EXPECT_EQ(hello.nccl_version, 3u);
  EXPECT_EQ(hello.pid, 9);
  ASSERT_TRUE(hello.returning);
  EXPECT_EQ(hello.returning->job_id, "job-1");
  EXPECT_EQ(hello.returning->round.value, 4u);
  EXPECT_EQ(hello.returning->state_hash, 5u);
  ASSERT_TRUE(hello.returning->order);
  EXPECT_EQ(hello.returning->order->step, 30u);
  EXPECT_TRUE(hello.returning->order->done);
  ASSERT_EQ(hello.returning->staged.size(), 1u);
  EXPECT_EQ(hello.returning->staged[0].attempt, 1u);
  EXPECT_TRUE(hello.returning->staged[0].finite);
  EXPECT_FALSE(hello.returning->finite);
  ASSERT_TRUE(hello.returning->seen);
  EXPECT_EQ(hello.returning->seen->term, Term{3});
  EXPECT_EQ(hello.returning->seen->life, 77u);
  EXPECT_EQ(hello.returning->seen->group, GroupId{8});
  EXPECT_EQ(hello.returning->seen->round, RoundId{9});
  v1::WorkerMessage wild = message;  // Later numbers are larger: there must be some.
  wild.mutable_hello()->mutable_returning()->mutable_seen()->set_term(~uint64_t{0});
  EXPECT_THAT(ParseWorkerMessage(wild),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("seen.term")));
  message.mutable_hello()->mutable_returning()->set_finite(true);
  ASSERT_OK_AND_ASSIGN(const WorkerMessage good, ParseWorkerMessage(message));
  EXPECT_TRUE(std::get<Hello>(good.body).returning->finite);
}

TEST(ParseTest, KeepsEveryFieldOfFormed) {
  v1::WorkerMessage message;
  ASSERT_TRUE(TextFormat::ParseFromString(
      R"(job_id: "job-1" term: 2 formed { group: 3 state_hash: 5 seconds: 0.5 transfer_bytes: 6
         step: 7 moments_zeroed: true residual_norm_squared: 8 })",
      &message));
  ASSERT_OK_AND_ASSIGN(const WorkerMessage parsed, ParseWorkerMessage(message));
  const auto& formed = std::get<Formed>(parsed.body);
  EXPECT_EQ(formed.group.value, 3u);
  EXPECT_EQ(formed.state_hash, 5u);
  EXPECT_EQ(formed.seconds, 0.5);
  EXPECT_EQ(formed.transfer_bytes, 6u);
  EXPECT_EQ(formed.step, 7u);
  EXPECT_TRUE(formed.moments_zeroed);
  EXPECT_EQ(formed.residual_norm_squared, 8);
  message.mutable_formed()->set_residual_norm_squared(-1);
  EXPECT_THAT(ParseWorkerMessage(message), StatusIs(absl::StatusCode::kInvalidArgument,
                                                    HasSubstr("Formed.residual_norm_squared")));
}

TEST(ParseTest, KeepsEveryFieldOfReady) {
  ASSERT_OK_AND_ASSIGN(const WorkerMessage parsed, ParseWorkerMessage(MessageOf(Samples()[6])));
  const auto& ready = std::get<Ready>(parsed.body);
  EXPECT_EQ(ready.group.value, 3u);
  EXPECT_EQ(ready.round.value, 4u);
  EXPECT_EQ(ready.steps, 5u);
  EXPECT_EQ(ready.samples, 6u);
  EXPECT_EQ(ready.loss_sum, 7);
  EXPECT_TRUE(ready.finite);
  EXPECT_EQ(ready.step_seconds, 8);
  EXPECT_EQ(ready.reduced.state_hash, 9u);
  EXPECT_EQ(ready.reduced.parameter_norm_squared, 10);
  EXPECT_EQ(ready.reduced.residual_norm_squared, 11);
  EXPECT_EQ(ready.reduced.reduce_seconds, 12);
  ASSERT_EQ(ready.reduced.costs.size(), 1u);
  EXPECT_EQ(ready.reduced.costs[0].header_bytes_sent, 3u);
  EXPECT_EQ(ready.reduced.costs[0].calls, 5u);
  ASSERT_TRUE(ready.reduced.sparse.has_value());
  const SparseStats& sparse = *ready.reduced.sparse;
  EXPECT_EQ(sparse.reductions, 1u);
  EXPECT_EQ(sparse.selected, 2u);
  EXPECT_EQ(sparse.region_entries, 3u);
  EXPECT_EQ(sparse.merged, 4u);
  EXPECT_EQ(sparse.delivered, 5u);
  EXPECT_EQ(sparse.largest_part, 6u);
  EXPECT_EQ(sparse.cuts, 7u);
  EXPECT_EQ(sparse.thresholds, 8u);
  EXPECT_EQ(sparse.rebalanced, 9u);
}

TEST(ParseTest, KnowsThePhasesOfASparseReduction) {
  for (const v1::Phase phase :
       {v1::PHASE_SELECT, v1::PHASE_AGREE, v1::PHASE_SPLIT, v1::PHASE_THRESHOLD, v1::PHASE_BALANCE,
        v1::PHASE_GATHER, v1::PHASE_APPLY}) {
    v1::WorkerMessage message = MessageOf(Samples()[6]);
    message.mutable_ready()->mutable_costs(0)->set_phase(phase);
    ASSERT_OK_AND_ASSIGN(const WorkerMessage parsed, ParseWorkerMessage(message));
    EXPECT_EQ(static_cast<int>(std::get<Ready>(parsed.body).reduced.costs[0].phase) + 1, phase);
  }
}

TEST(EncodeTest, SplitsTheRatesOfALongOrder) {
  Order order;
  order.group = {3};
  order.round = {4};
  order.length = kRatesInOrder + kRatesPerMessage + 5;
  for (uint64_t i = 0; i < order.length; ++i) order.rates.push_back(static_cast<double>(i));
  const auto messages = EncodeCoordinatorMessage({"job-1", {2}, order});
  ASSERT_EQ(messages.size(), 3u);
  EXPECT_EQ(messages[0].order().rates_size(), static_cast<int>(kRatesInOrder));
  EXPECT_EQ(messages[1].rates().first(), kRatesInOrder);
  EXPECT_EQ(messages[2].rates().first(), kRatesInOrder + kRatesPerMessage);
  EXPECT_THAT(messages[2].rates().values(),
              ElementsAre(order.length - 5.0, order.length - 4.0, order.length - 3.0,
                          order.length - 2.0, order.length - 1.0));
  for (const v1::CoordinatorMessage& message : messages) {
    EXPECT_EQ(message.job_id(), "job-1");
    EXPECT_EQ(message.term(), 2u);
  }
}

TEST(EncodeTest, WritesEveryFieldOfAnOrder) {
  Order order;
  order.group = {3};
  order.round = {4};
  order.mode = RoundMode::kParallel;
  order.collective = Collective::kSparse;
  order.density = 0.25;
  order.first_step = 10;
  order.length = 2;
  order.rates = {0.5, 0.25};
  order.runs = {{1, 2, 3, 4, 5, 6, true}};
  order.weight = 3;
  order.weight_sum = 6;
  order.evaluation_due = true;
  order.save_due = true;
  const auto messages = EncodeCoordinatorMessage({"job-1", {2}, order});
  ASSERT_EQ(messages.size(), 1u);
  v1::CoordinatorMessage expected;
  ASSERT_TRUE(TextFormat::ParseFromString(
      R"(job_id: "job-1" term: 2
         order { group: 3 round: 4 mode: MODE_PARALLEL collective: COLLECTIVE_KIND_SPARSE
                 density: 0.25 first_step: 10 length: 2 rates: 0.5 rates: 0.25
                 runs { epoch: 1 first: 2 count: 3 stride: 4 steps: 5 advance: 6 same_steps: true }
                 weight: 3 weight_sum: 6 evaluation_due: true save_due: true })",
      &expected));
  EXPECT_EQ(messages[0].DebugString(), expected.DebugString());
}

TEST(EncodeTest, WritesEachCollectiveOfAnOrder) {
  const std::pair<Collective, v1::CollectiveKind> kCases[] = {
      {Collective::kRing, v1::COLLECTIVE_KIND_RING},
      {Collective::kSparse, v1::COLLECTIVE_KIND_SPARSE},
      {Collective::kTopkGather, v1::COLLECTIVE_KIND_TOPK_GATHER}};
  for (const auto& [collective, expected] : kCases) {
    Order order;
    order.collective = collective;
    EXPECT_EQ(EncodeCoordinatorMessage({"job-1", {2}, order})[0].order().collective(), expected);
  }
}

TEST(EncodeTest, WritesEveryOtherMessage) {
  const std::pair<CoordinatorBody, std::string> kCases[] = {
      {Welcome{{{{1}, {2}, 3, Fate::kCommitted}, {{1}, {2}, 4, Fate::kAborted}},
               {5},
               6,
               OrderFate::kWithdrawn,
               Facts{"l", "d", 1, 2, 3, 4, {}}},
       R"(welcome { fates { round: 1 group: 2 attempt: 3 fate: FATE_COMMITTED }
                    fates { round: 1 group: 2 attempt: 4 fate: FATE_ABORTED }
                    assembly: 5 attempt: 6 order_fate: ORDER_FATE_WITHDRAWN
                    reference { layout_hash: "l" data_hash: "d" train_samples: 1 test_samples: 2
                                parameters: 3 float_buffers: 4 } })"},
      {Wait{WaitReason::kFull, "t", 2},
       R"(wait { reason: WAIT_REASON_FULL text: "t" retry_seconds: 2 })"},
      {Refuse{RefuseReason::kEnded, "t"}, R"(refuse { reason: REFUSE_REASON_ENDED text: "t" })"},
      {Assemble{Purpose::kRetry, {1}, {{"a", {7}, StateNeed::kMoments}}, 2, {3}, 4, 5, 6},
       R"(assemble { purpose: PURPOSE_RETRY group: 1
                     members { name: "a" incarnation: 7 need: STATE_NEED_MOMENTS }
                     giver: 2 round: 3 state_hash: 4 step: 5 limit_seconds: 6 })"},
      {Mesh{{1}, {"x", "y"}, "token"}, R"(mesh { group: 1 blobs: "x" blobs: "y" token: "token" })"},
      {Reduce{{1}, {2}, 3, {{0, 4}, {1, 5}}},
       R"(reduce { group: 1 round: 2 attempt: 3 contributors { weight: 4 }
                   contributors { rank: 1 weight: 5 } })"},
      {Commit{{1}, {2}, 3, 4, 5},
       R"(commit { group: 1 round: 2 attempt: 3 state_hash: 4 next_step: 5 })"},
      {Abort{{1}, {2}, 3, "t"}, R"(abort { group: 1 round: 2 attempt: 3 text: "t" })"},
      {EvaluateNow{{1}, {2}}, R"(evaluate { group: 1 round: 2 })"},
      {SaveNow{{1}, {2}, 3, {StateFile::kBuffers}},
       R"(save { group: 1 round: 2 step: 3 files: STATE_FILE_BUFFERS })"},
      {Goodbye{GoodbyeReason::kLeft, "t", 5},
       R"(goodbye { reason: GOODBYE_REASON_LEFT text: "t" exit_code: 5 })"},
  };
  for (const auto& [body, text] : kCases) {
    const auto messages = EncodeCoordinatorMessage({"job-1", {2}, body});
    ASSERT_EQ(messages.size(), 1u);
    v1::CoordinatorMessage expected;
    ASSERT_TRUE(TextFormat::ParseFromString("job_id: 'job-1' term: 2 " + text, &expected)) << text;
    EXPECT_EQ(messages[0].DebugString(), expected.DebugString());
  }
}

}  // namespace
}  // namespace rondo::server
