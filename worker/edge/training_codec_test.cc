#include "worker/edge/training_codec.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <variant>

#include "common/status_matchers.h"

namespace rondo::worker {
namespace {

v1::CoordinatorMessage Welcome() {
  v1::CoordinatorMessage message;
  message.set_job_id("digits-0123456789abcdef");
  message.set_term(3);
  v1::Welcome* welcome = message.mutable_welcome();
  welcome->mutable_job()->set_id(message.job_id());
  v1::SessionLimits* limits = welcome->mutable_limits();
  limits->set_heartbeat_seconds(1);
  limits->set_silent_seconds(5);
  limits->set_collective_seconds(30);
  limits->set_abort_seconds(10);
  return message;
}
v1::CoordinatorMessage Assemble() {
  v1::CoordinatorMessage message;
  v1::Assemble* assemble = message.mutable_assemble();
  assemble->set_purpose(v1::PURPOSE_RETRY);
  assemble->set_group(4);
  assemble->set_limit_seconds(60);
  v1::Member* member = assemble->add_members();
  member->set_name("w0");
  member->set_incarnation(7);
  member->set_need(v1::STATE_NEED_MOMENTS);
  return message;
}
v1::CoordinatorMessage Order() {
  v1::CoordinatorMessage message;
  v1::Order* order = message.mutable_order();
  order->set_group(4);
  order->set_round(9);
  order->set_mode(v1::MODE_PARALLEL);
  order->set_collective(v1::COLLECTIVE_KIND_RING);
  order->set_first_step(40);
  order->set_length(2);
  order->add_rates(0.1);
  order->add_rates(0.2);
  order->set_weight(2);
  order->set_weight_sum(6);
  v1::SampleRun* run = order->add_runs();
  run->set_epoch(1);
  run->set_first(5);
  run->set_count(2);
  run->set_stride(3);
  run->set_steps(2);
  run->set_advance(6);
  return message;
}

TEST(TrainingCodecTest, ReadsWelcomeWithItsFates) {
  v1::CoordinatorMessage message = Welcome();
  v1::StagedFate* fate = message.mutable_welcome()->add_fates();
  fate->set_round(2);
  fate->set_group(3);
  fate->set_attempt(1);
  fate->set_fate(v1::FATE_COMMITTED);
  message.mutable_welcome()->set_assembly(5);
  message.mutable_welcome()->set_order_fate(v1::ORDER_FATE_WITHDRAWN);
  ASSERT_OK_AND_ASSIGN(const CoordinatorMessage decoded, DecodeCoordinatorMessage(message));
  EXPECT_EQ(decoded.term, Term{3});
  const auto& welcome = std::get<worker::Welcome>(decoded.body);
  ASSERT_EQ(welcome.fates.size(), 1u);
  EXPECT_EQ(welcome.fates[0].fate, Fate::kCommitted);
  EXPECT_EQ(welcome.assembly, GroupId{5});
  EXPECT_EQ(welcome.order_fate, OrderFate::kWithdrawn);
  EXPECT_EQ(welcome.limits.collective_seconds, 30);
  EXPECT_FALSE(welcome.reference.has_value());
}

TEST(TrainingCodecTest, ReadsAnOrder) {
  ASSERT_OK_AND_ASSIGN(const CoordinatorMessage decoded, DecodeCoordinatorMessage(Order()));
  const auto& order = std::get<worker::Order>(decoded.body);
  EXPECT_EQ(order.mode, Mode::kParallel);
  EXPECT_EQ(order.rates, (std::vector<double>{0.1, 0.2}));
  ASSERT_EQ(order.runs.size(), 1u);
  EXPECT_EQ(order.runs[0].advance, 6u);
  EXPECT_EQ(order.weight_sum, 6);
}

TEST(TrainingCodecTest, ReadsWhichCollectiveAnOrderWants) {
  v1::CoordinatorMessage message = Order();
  message.mutable_order()->set_density(0.01);
  const std::pair<v1::CollectiveKind, Collective> kKinds[] = {
      {v1::COLLECTIVE_KIND_RING, Collective::kRing},
      {v1::COLLECTIVE_KIND_SPARSE, Collective::kSparse},
      {v1::COLLECTIVE_KIND_TOPK_GATHER, Collective::kTopkGather}};
  for (const auto& [sent, read] : kKinds) {
    message.mutable_order()->set_collective(sent);
    ASSERT_OK_AND_ASSIGN(const CoordinatorMessage decoded, DecodeCoordinatorMessage(message));
    EXPECT_EQ(std::get<worker::Order>(decoded.body).collective, read);
    EXPECT_EQ(std::get<worker::Order>(decoded.body).density, 0.01);
  }
}

struct Fault {
  const char* named;  // What the refusal must say.
  v1::CoordinatorMessage message;
};

template <typename Change>
v1::CoordinatorMessage Changed(v1::CoordinatorMessage message, Change change) {
  change(&message);
  return message;
}

TEST(TrainingCodecTest, RefusesUnknownValuesAndMissingFieldsByName) {
  using M = v1::CoordinatorMessage;
  const Fault kFaults[] = {
      {"no body", M()},
      {"Welcome.job", Changed(Welcome(), [](M* m) { m->mutable_welcome()->clear_job(); })},
      {"Welcome.limits", Changed(Welcome(), [](M* m) { m->mutable_welcome()->clear_limits(); })},
      {"abort_seconds",
       Changed(Welcome(),
               [](M* m) { m->mutable_welcome()->mutable_limits()->set_abort_seconds(-1); })},
      {"job_id", Changed(Welcome(), [](M* m) { m->clear_job_id(); })},
      {"term", Changed(Welcome(), [](M* m) { m->clear_term(); })},
      {"Welcome.order_fate",
       Changed(Welcome(),
               [](M* m) { m->mutable_welcome()->set_order_fate(static_cast<v1::OrderFate>(77)); })},
      {"Assemble.purpose",
       Changed(Assemble(), [](M* m) { m->mutable_assemble()->clear_purpose(); })},
      {"Assemble.members.need", Changed(Assemble(),
                                        [](M* m) {
                                          m->mutable_assemble()->mutable_members(0)->set_need(
                                              static_cast<v1::StateNeed>(99));
                                        })},
      {"Assemble.giver", Changed(Assemble(), [](M* m) { m->mutable_assemble()->set_giver(1); })},
      {"Assemble.group", Changed(Assemble(), [](M* m) { m->mutable_assemble()->clear_group(); })},
      {"Order.mode", Changed(Order(), [](M* m) { m->mutable_order()->clear_mode(); })},
      {"Order.collective",
       Changed(Order(),
               [](M* m) { m->mutable_order()->set_collective(v1::COLLECTIVE_KIND_AUTO); })},
      {"Order.density",
       Changed(Order(),
               [](M* m) { m->mutable_order()->set_collective(v1::COLLECTIVE_KIND_SPARSE); })},
      {"Order.density", Changed(Order(),
                                [](M* m) {
                                  m->mutable_order()->set_collective(v1::COLLECTIVE_KIND_SPARSE);
                                  m->mutable_order()->set_density(1.01);
                                })},
      {"rates", Changed(Order(), [](M* m) { m->mutable_order()->add_rates(1); })},
      {"Order.runs.stride",
       Changed(Order(), [](M* m) { m->mutable_order()->mutable_runs(0)->clear_stride(); })},
      {"Order.weight_sum", Changed(Order(), [](M* m) { m->mutable_order()->clear_weight_sum(); })},
      {"Mesh.token", Changed(M(),
                             [](M* m) {
                               m->mutable_mesh()->set_group(1);
                               m->mutable_mesh()->add_blobs("x");
                             })},
      {"Reduce.attempt", Changed(M(),
                                 [](M* m) {
                                   m->mutable_reduce()->set_group(1);
                                   m->mutable_reduce()->set_round(1);
                                 })},
      {"Goodbye.reason", Changed(M(), [](M* m) { m->mutable_goodbye(); })},
      {"Wait.reason", Changed(M(), [](M* m) { m->mutable_wait(); })},
      {"Refuse.reason", Changed(M(), [](M* m) { m->mutable_refuse(); })},
      {"SaveNow.files", Changed(M(), [](M* m) { m->mutable_save()->set_group(1); })},
  };
  for (const Fault& fault : kFaults) {
    const auto decoded = DecodeCoordinatorMessage(fault.message);
    EXPECT_THAT(decoded,
                StatusIs(absl::StatusCode::kInvalidArgument, testing::HasSubstr(fault.named)));
  }
}

TEST(TrainingCodecTest, WritesEveryKindOfMessageWithJobAndTerm) {
  const WorkerBody kBodies[] = {Hello{},     Prepared{}, Endpoint{},   Formed{},
                                Progress{},  Ready{},    Reduced{},    Failed{},
                                Evaluated{}, Saved{},    SaveFailed{}, Leave{}};
  int expected = v1::WorkerMessage::kHello;
  for (const WorkerBody& body : kBodies) {
    const v1::WorkerMessage message = EncodeWorkerMessage({"job", Term{4}, body});
    EXPECT_EQ(message.job_id(), "job");
    EXPECT_EQ(message.term(), 4u);
    EXPECT_EQ(message.body_case(), expected++);
  }
}

TEST(TrainingCodecTest, AClockThatWasSetBackMakesNoNegativeTime) {
  Ready ready;
  ready.step_seconds = -3;
  ready.reduced.reduce_seconds = -1;
  ready.reduced.costs = {{.phase = CostPhase::kReduce, .seconds = -2}};
  const v1::Ready sent = EncodeWorkerMessage({"job", Term{4}, ready}).ready();
  EXPECT_EQ(sent.step_seconds(), 0);
  EXPECT_EQ(sent.reduce_seconds(), 0);
  EXPECT_EQ(sent.costs(0).seconds(), 0);
}

TEST(TrainingCodecTest, WritesWhatSparseReductionsDid) {
  Reduced reduced;
  EXPECT_FALSE(EncodeWorkerMessage({"job", Term{4}, reduced}).reduced().has_sparse());
  reduced.reduced.sparse = SparseStats{.reductions = 1,
                                       .selected = 2,
                                       .region_entries = 3,
                                       .merged = 4,
                                       .delivered = 5,
                                       .largest_part = 6,
                                       .cuts = 7,
                                       .thresholds = 8,
                                       .rebalanced = 9};
  reduced.reduced.residual_norm_squared = 2.5;
  reduced.reduced.costs = {{.phase = CostPhase::kSelect, .seconds = 1},
                           {.phase = CostPhase::kApply, .seconds = 1}};
  const v1::Reduced sent = EncodeWorkerMessage({"job", Term{4}, reduced}).reduced();
  EXPECT_EQ(sent.residual_norm_squared(), 2.5);
  EXPECT_EQ(sent.costs(0).phase(), v1::PHASE_SELECT);
  EXPECT_EQ(sent.costs(1).phase(), v1::PHASE_APPLY);
  const v1::SparseStats& stats = sent.sparse();
  EXPECT_EQ(stats.reductions(), 1u);
  EXPECT_EQ(stats.selected(), 2u);
  EXPECT_EQ(stats.region_entries(), 3u);
  EXPECT_EQ(stats.merged(), 4u);
  EXPECT_EQ(stats.delivered(), 5u);
  EXPECT_EQ(stats.largest_part(), 6u);
  EXPECT_EQ(stats.cuts(), 7u);
  EXPECT_EQ(stats.thresholds(), 8u);
  EXPECT_EQ(stats.rebalanced(), 9u);
  Ready ready;
  ready.reduced = reduced.reduced;
  EXPECT_EQ(EncodeWorkerMessage({"job", Term{4}, ready}).ready().sparse().rebalanced(), 9u);
}

TEST(TrainingCodecTest, WritesWhatAReturningWorkerHas) {
  Hello hello;
  hello.returning = Returning{.round = {6},
                              .state_hash = 9,
                              .order = OrderInHand{{1}, {2}, {7}, 33, true},
                              .staged = {{{7}, {2}, 1, 5, true}}};
  const v1::WorkerMessage message = EncodeWorkerMessage({"job", Term{}, hello});
  EXPECT_EQ(message.hello().returning().round(), 6u);
  EXPECT_EQ(message.hello().returning().order().step(), 33u);
  EXPECT_TRUE(message.hello().returning().order().done());
  EXPECT_EQ(message.hello().returning().staged(0).state_hash(), 5u);
  EXPECT_TRUE(message.hello().returning().finite());
  hello.returning->finite = false;
  EXPECT_FALSE(EncodeWorkerMessage({"job", Term{}, hello}).hello().returning().finite());
}

TEST(TrainingCodecTest, WritesWithWhichMomentsAndResidualAMemberBegins) {
  Formed formed;
  formed.group = {3};
  EXPECT_FALSE(EncodeWorkerMessage({"job", Term{1}, formed}).formed().moments_zeroed());
  formed.moments_zeroed = true;
  EXPECT_TRUE(EncodeWorkerMessage({"job", Term{1}, formed}).formed().moments_zeroed());
  formed.residual_norm_squared = 1.5;
  EXPECT_EQ(EncodeWorkerMessage({"job", Term{1}, formed}).formed().residual_norm_squared(), 1.5);
}

}  // namespace
}  // namespace rondo::worker
