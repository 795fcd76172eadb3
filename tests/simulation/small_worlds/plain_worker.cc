#include "tests/simulation/small_worlds/plain_worker.h"

#include <fmt/format.h>

#include <utility>
#include <variant>

#include "server/core/membership.h"

namespace rondo::small_worlds {
namespace {

constexpr uint64_t kInitialHash = 7;

}  // namespace

server::Hello PlainWorker::MakeHello() const {
  server::Hello hello;
  hello.name = who.first;
  hello.incarnation = {who.second};
  hello.dial = dial;
  hello.protocol = server::kProtocolVersion;
  if (new_process) return hello;
  server::Returning& returning = hello.returning.emplace();
  returning.job_id = "small";
  returning.round = {holds};
  returning.state_hash = holds != 0 ? hash : 0;
  if (order != 0) {
    returning.order.emplace();
    returning.order->round = {order};
    returning.order->done = true;
  }
  if (staged) {
    server::StagedResult result;
    result.round = {staged->round};
    result.group = {staged->group};
    result.attempt = static_cast<uint32_t>(staged->attempt);
    result.state_hash = staged->hash;
    returning.staged.push_back(result);
  }
  return hello;
}

PlainHello PlainWorker::MakePlainHello() const {
  return {.who = who,
          .dial = dial,
          .stream = stream,
          .new_process = new_process,
          .holds = holds,
          .order = order,
          .staged = staged};
}

void PlainWorker::Hear() {
  for (const server::CoordinatorBody& body : std::exchange(down, {})) {
    std::visit([this](const auto& message) { On(message); }, body);
  }
}

bool PlainWorker::HasResult(const Reduction& reduction) const {
  const bool has_staged = staged && staged->round == reduction.round &&
                          staged->group == reduction.group && staged->attempt == reduction.attempt;
  return has_staged || holds == reduction.round;
}

void PlainWorker::SayReady() {
  server::Ready ready;
  ready.group = {group};
  ready.round = {order};
  ready.steps = 1;
  up.push_back(ready);
}

void PlainWorker::SayReduced() {
  server::Reduced reduced;
  reduced.round = {staged->round};
  reduced.group = {staged->group};
  reduced.attempt = static_cast<uint32_t>(staged->attempt);
  reduced.reduced.state_hash = staged->hash;
  up.push_back(reduced);
}

void PlainWorker::EndReduce(std::optional<uint64_t> result) {
  const Reduction reduction = *std::exchange(reducing, std::nullopt);
  if (result) {
    staged = {reduction.round, reduction.group, reduction.attempt, *result};
    return SayReduced();
  }
  server::Failed failed;
  failed.round = {reduction.round};
  failed.group = {reduction.group};
  failed.attempt = static_cast<uint32_t>(reduction.attempt);
  up.push_back(failed);
}

void PlainWorker::On(const server::Welcome& welcome) {
  new_process = false;
  for (const server::StagedFate& fate : welcome.fates) {
    if (!staged || staged->round != fate.round.value) continue;
    if (fate.fate == server::Fate::kCommitted) {
      holds = staged->round;
      hash = staged->hash;
      order = 0;
    }
    if (fate.fate != server::Fate::kOpen) staged.reset();
  }
  if (welcome.order_fate == server::OrderFate::kWithdrawn) order = 0;
  if (welcome.assembly.value != group) group = 0;
  if (reducing && (group == 0 || welcome.attempt != reducing->attempt)) reducing.reset();
  server::Prepared prepared;
  prepared.facts.train_samples = 1000;
  up.push_back(prepared);
  if (order != 0) SayReady();
  if (staged) SayReduced();
}

void PlainWorker::On(const server::Assemble& assemble) {
  group = assemble.group.value;
  reducing.reset();
  takes_round = assemble.round.value;
  takes_hash = assemble.round ? assemble.state_hash : kInitialHash;
  if (assemble.purpose != server::Purpose::kRetry) order = 0;
  up.push_back(server::Endpoint{assemble.group, who.first});
}

void PlainWorker::On(const server::Mesh& mesh) {
  if (group != mesh.group.value) return;
  holds = takes_round;
  hash = takes_hash;
  if (staged && staged->round <= holds) staged.reset();
  server::Formed formed;
  formed.group = mesh.group;
  formed.state_hash = hash;
  up.push_back(formed);
}

void PlainWorker::On(const server::Order& message) {
  if (group != message.group.value) return;
  order = message.round.value;
  SayReady();
}

void PlainWorker::On(const server::Reduce& reduce) {
  if (group != reduce.group.value || order != reduce.round.value) return;
  if (staged && staged->attempt == reduce.attempt) return;
  staged.reset();
  reducing = {reduce.round.value, reduce.group.value, reduce.attempt};
}

void PlainWorker::On(const server::Commit& commit) {
  if (staged && staged->round == commit.round.value && staged->attempt == commit.attempt) {
    const bool odd = staged->hash != commit.state_hash;
    holds = odd ? 0 : commit.round.value;
    hash = commit.state_hash;
  }
  staged.reset();
  reducing.reset();
  order = 0;
}

void PlainWorker::On(const server::Abort& abort) {
  if (group == abort.group.value) group = 0;
  reducing.reset();
  if (abort.round) staged.reset();
}

std::string PlainWorker::Key() const {
  std::string key = fmt::format("/{} {}{} {} {} {} {} {}", who.second, stream != 0, new_process,
                                holds, group, takes_round, order, reducing ? reducing->attempt : 0);
  if (staged) key += fmt::format("s{}.{}.{:x}", staged->round, staged->group, staged->hash);
  for (const server::CoordinatorBody& body : down) key += fmt::format(",{}", body.index());
  key += ":";
  for (const server::WorkerBody& body : up) key += fmt::format(",{}", body.index());
  return key;
}

}  // namespace rondo::small_worlds
