#include "tests/simulation/small_worlds/small_world.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "common/mix64.h"
#include "server/core/membership.h"

namespace rondo::small_worlds {
namespace {

constexpr uint64_t kInitialHash = 7;

server::MachineConfig ConfigOf(size_t workers) {
  server::MachineConfig config;
  config.job_id = "small";
  config.term = {1};
  config.schedule.kind = ScheduleKind::kConstant;
  config.schedule.peak = 0.1;
  config.schedule.steps = 1000;
  config.policy.policy = SyncPolicy::kConstant;
  config.policy.base_steps = 1;
  config.batch_global = workers;
  config.workers_min = 1;
  config.workers_max = workers;
  config.workers_at_start = workers;
  config.wait = absl::ZeroDuration();
  config.limits.stall = absl::Hours(1);
  return config;
}

std::string Text(const server::Member& member) {
  return fmt::format("{}#{}", member.name, member.incarnation);
}

// The core's records and messages in the words of PlainRules.
struct InWords {
  std::vector<std::string> lines;
  std::set<std::string>* attempts = nullptr;

  void operator()(const server::GroupRecord& r) {
    static constexpr const char* kPurposes[] = {"start", "join", "retry", "repair"};
    static constexpr const char* kNeeds[] = {"",        "=initial", "=all",
                                             "=values", "=step",    "=moments"};
    std::string text =
        fmt::format("group {} to {}:", r.group, kPurposes[static_cast<size_t>(r.purpose)]);
    for (const server::Member& member : r.members) {
      text += " " + Text(member) + kNeeds[static_cast<size_t>(member.need)];
    }
    lines.push_back(text);
  }
  void operator()(const server::OrderRecord& r) {
    lines.push_back(fmt::format("order {} of group {}", r.round, r.group));
  }
  void operator()(const server::CommitRecord& r) {
    lines.push_back(fmt::format("commit round {} attempt {}: {}", r.round, r.attempt,
                                fmt::join(r.contributors, " ")));
  }
  void operator()(const server::VoidRecord& r) {
    lines.push_back(fmt::format("void round {}", r.round));
  }
  void operator()(const server::EndRecord&) { lines.push_back("the job fails"); }
  void operator()(const server::Welcome&) { lines.push_back("welcome"); }
  void operator()(const server::Wait&) { lines.push_back("wait"); }
  void operator()(const server::Reduce& m) {
    const std::string text = fmt::format("reduce round {} attempt {}", m.round, m.attempt);
    if (attempts->insert(text).second) lines.push_back(text);
  }
  template <typename T>
  void operator()(const T&) {}
};

// What both sides can be asked about, without the names' incarnations where the core has none.
std::vector<std::string> Comparable(const PlainRules::Decisions& decisions, bool records) {
  std::vector<std::string> lines;
  for (const std::string& line : decisions) {
    const auto starts = [&](const char* with) { return line.rfind(with, 0) == 0; };
    if (starts("abort") || starts("close") || line.find("is formed") != std::string::npos) continue;
    const bool message = starts("welcome") || starts("wait") || starts("reduce");
    if (message == records) continue;
    if (starts("welcome")) {
      lines.push_back("welcome");
    } else if (starts("reduce")) {
      lines.push_back(line.substr(0, line.find(':')));
    } else if (starts("commit")) {
      std::string text;
      for (size_t i = 0; i < line.size(); ++i) {
        if (line[i] == '#') {
          while (i + 1 < line.size() && line[i + 1] != ' ') ++i;
        } else {
          text += line[i];
        }
      }
      lines.push_back(text);
    } else {
      lines.push_back(line);
    }
  }
  return lines;
}

}  // namespace

std::string Describe(const Action& action) {
  static constexpr const char* kNames[] = {"hear", "say",  "finish", "flip",  "break",
                                           "drop", "dial", "kill",   "stray", "time"};
  return fmt::format("{} {}", kNames[static_cast<size_t>(action.act)],
                     std::string(1, static_cast<char>('a' + action.worker)));
}

SmallWorld::SmallWorld(size_t workers, Budget budget)
    : count_(workers),
      budget_(budget),
      machine_(ConfigOf(workers)),
      rules_({.workers = workers}, now_) {
  wake_at_ = machine_.Start(now_).wake_at;
  for (size_t i = 0; i < workers; ++i) {
    Worker worker;
    worker.who = {std::string(1, static_cast<char>('a' + i)), 1};
    workers_.push_back(worker);
  }
}

bool SmallWorld::AllJoined(const Reduction& reduction) const {
  return std::all_of(asked_.at(reduction).begin(), asked_.at(reduction).end(), [&](const Who& who) {
    return std::any_of(workers_.begin(), workers_.end(), [&](const Worker& w) {
      return w.who == who &&
             (w.reducing == reduction ||
              (w.staged && w.staged->round == reduction.round &&
               w.staged->group == reduction.group && w.staged->attempt == reduction.attempt) ||
              w.holds == reduction.round);
    });
  });
}

bool SmallWorld::SomeGone(const Reduction& reduction) const {
  return std::any_of(asked_.at(reduction).begin(), asked_.at(reduction).end(), [&](const Who& who) {
    return std::none_of(workers_.begin(), workers_.end(), [&](const Worker& w) {
      return w.who == who && w.group == reduction.group;
    });
  });
}

uint64_t SmallWorld::ResultOf(const Reduction& reduction) const {
  uint64_t hash = Mix64(reduction.round);
  for (const Who& who : asked_.at(reduction)) {
    hash += Mix64(static_cast<uint64_t>(who.first[0]) * 1000 + who.second);
  }
  return hash;
}

std::vector<Action> SmallWorld::Possible() const {
  std::vector<Action> actions;
  for (size_t i = 0; i < workers_.size(); ++i) {
    const Worker& w = workers_[i];
    if (w.stream == 0) {
      actions.push_back({Act::kDial, i});
    } else {
      if (!w.down.empty()) actions.push_back({Act::kHear, i});
      if (!w.up.empty()) actions.push_back({Act::kSay, i});
      if (budget_.drops > 0) actions.push_back({Act::kDrop, i});
    }
    if (w.reducing) {
      if (AllJoined(*w.reducing)) {
        actions.push_back({Act::kFinish, i});
        if (budget_.flips > 0) actions.push_back({Act::kFlip, i});
      }
      if (SomeGone(*w.reducing)) actions.push_back({Act::kBreak, i});
    }
    if (budget_.kills > 0) actions.push_back({Act::kKill, i});
  }
  if (stray_ && budget_.strays > 0) actions.push_back({Act::kStray, 0});
  if (budget_.timers > 0) actions.push_back({Act::kTime, 0});
  return actions;
}

std::string SmallWorld::Do(const Action& action) {
  Worker& worker = workers_[action.worker];
  switch (action.act) {
    case Act::kHear:
      Hear(worker);
      return "";
    case Act::kSay: {
      const server::WorkerBody body = worker.up.front();
      worker.up.pop_front();
      return Say(worker.who, worker.stream, body);
    }
    case Act::kFinish:
      End(worker, ResultOf(*worker.reducing));
      return "";
    case Act::kFlip:
      --budget_.flips;
      End(worker, ResultOf(*worker.reducing) + 1 + action.worker);
      return "";
    case Act::kBreak:
      End(worker, std::nullopt);
      return "";
    case Act::kDrop:
      --budget_.drops;
      return Drop(worker);
    case Act::kDial:
      return Dial(worker);
    case Act::kKill: {
      --budget_.kills;
      std::string wrong = worker.stream != 0 ? Drop(worker) : "";
      Worker fresh;
      fresh.who = {worker.who.first, worker.who.second + 1};
      worker = fresh;
      return wrong;
    }
    case Act::kStray: {
      --budget_.strays;
      const Stray stray = *std::exchange(stray_, std::nullopt);
      return Say(stray.who, stray.stream, stray.body);
    }
    case Act::kTime:
      --budget_.timers;
      return PassTime();
  }
  return "";
}

// ---------------------------------------------------------------------------- a worker

void SmallWorld::Hear(Worker& worker) {
  for (const server::CoordinatorBody& body : std::exchange(worker.down, {})) Take(worker, body);
}

void SmallWorld::Take(Worker& w, const server::CoordinatorBody& body) {
  if (const auto* welcome = std::get_if<server::Welcome>(&body)) {
    w.new_process = false;
    for (const server::StagedFate& fate : welcome->fates) {
      if (!w.staged || w.staged->round != fate.round.value) continue;
      if (fate.fate == server::Fate::kCommitted) {
        w.holds = w.staged->round;
        w.hash = w.staged->hash;
        w.order = 0;
      }
      if (fate.fate != server::Fate::kOpen) w.staged.reset();
    }
    if (welcome->order_fate == server::OrderFate::kWithdrawn) w.order = 0;
    if (welcome->assembly.value != w.group) w.group = 0;
    if (w.reducing && (w.group == 0 || welcome->attempt != w.reducing->attempt)) {
      w.reducing.reset();
    }
    if (!w.prepared) {
      w.prepared = true;
    }
    server::Prepared prepared;
    prepared.facts.train_samples = 1000;
    w.up.push_back(prepared);
    if (w.order != 0 && w.done) {
      server::Ready ready;
      ready.round = {w.order};
      ready.steps = 1;
      w.up.push_back(ready);
    }
    if (w.staged) {
      server::Reduced reduced;
      reduced.round = {w.staged->round};
      reduced.group = {w.staged->group};
      reduced.attempt = static_cast<uint32_t>(w.staged->attempt);
      reduced.reduced.state_hash = w.staged->hash;
      w.up.push_back(reduced);
    }
  } else if (const auto* assemble = std::get_if<server::Assemble>(&body)) {
    w.group = assemble->group.value;
    w.reducing.reset();
    w.takes_round = assemble->round.value;
    w.takes_hash = assemble->round ? assemble->state_hash : kInitialHash;
    if (assemble->purpose != server::Purpose::kRetry) w.order = 0;
    w.up.push_back(server::Endpoint{assemble->group, w.who.first});
  } else if (const auto* mesh = std::get_if<server::Mesh>(&body)) {
    if (w.group != mesh->group.value) return;
    w.holds = w.takes_round;
    w.hash = w.takes_hash;
    if (w.staged && w.staged->round <= w.holds) w.staged.reset();
    server::Formed formed;
    formed.group = mesh->group;
    formed.state_hash = w.hash;
    w.up.push_back(formed);
  } else if (const auto* order = std::get_if<server::Order>(&body)) {
    if (w.group != order->group.value) return;
    w.order = order->round.value;
    w.done = true;
    server::Ready ready;
    ready.group = order->group;
    ready.round = order->round;
    ready.steps = 1;
    w.up.push_back(ready);
  } else if (const auto* reduce = std::get_if<server::Reduce>(&body)) {
    if (w.group != reduce->group.value || w.order != reduce->round.value) return;
    const Reduction asked{reduce->round.value, reduce->group.value, reduce->attempt};
    if (w.staged && w.staged->attempt == asked.attempt) return;
    w.staged.reset();
    w.reducing = asked;
  } else if (const auto* commit = std::get_if<server::Commit>(&body)) {
    if (w.staged && w.staged->round == commit->round.value &&
        w.staged->attempt == commit->attempt) {
      if (w.staged->hash == commit->state_hash) {
        w.holds = commit->round.value;
        w.hash = commit->state_hash;
      } else {
        w.holds = 0;  // The odd one out.
      }
    }
    w.staged.reset();
    w.reducing.reset();
    w.order = 0;
  } else if (const auto* abort = std::get_if<server::Abort>(&body)) {
    if (w.group == abort->group.value) w.group = 0;
    w.reducing.reset();
    if (abort->round) w.staged.reset();
  }
}

void SmallWorld::End(Worker& worker, std::optional<uint64_t> hash) {
  const Reduction reduction = *std::exchange(worker.reducing, std::nullopt);
  if (!hash) {
    server::Failed failed;
    failed.round = {reduction.round};
    failed.group = {reduction.group};
    failed.attempt = static_cast<uint32_t>(reduction.attempt);
    worker.up.push_back(failed);
    return;
  }
  worker.staged = {reduction.round, reduction.group, reduction.attempt, *hash};
  server::Reduced reduced;
  reduced.round = {reduction.round};
  reduced.group = {reduction.group};
  reduced.attempt = static_cast<uint32_t>(reduction.attempt);
  reduced.reduced.state_hash = *hash;
  worker.up.push_back(reduced);
}

std::string SmallWorld::Drop(Worker& worker) {
  if (!worker.up.empty()) stray_ = Stray{worker.who, worker.stream, worker.up.front()};
  worker.up.clear();
  worker.down.clear();
  const uint64_t stream = std::exchange(worker.stream, 0);
  return Both(server::StreamClosed{{stream}}, rules_.Closed(stream, now_));
}

std::string SmallWorld::Dial(Worker& worker) {
  worker.stream = ++last_stream_;
  streams_[worker.stream] = worker.who;
  PlainHello plain{.who = worker.who,
                   .dial = ++worker.dial,
                   .stream = worker.stream,
                   .new_process = worker.new_process,
                   .holds = worker.holds,
                   .order = worker.order,
                   .staged = worker.staged};
  server::Hello hello;
  hello.name = worker.who.first;
  hello.incarnation = {worker.who.second};
  hello.dial = worker.dial;
  hello.protocol = server::kProtocolVersion;
  if (!worker.new_process) {
    server::Returning& returning = hello.returning.emplace();
    returning.job_id = "small";
    returning.round = {worker.holds};
    returning.state_hash = worker.holds != 0 ? worker.hash : 0;
    if (worker.order != 0) {
      returning.order.emplace();
      returning.order->round = {worker.order};
      returning.order->done = worker.done;
    }
    if (worker.staged) {
      server::StagedResult staged;
      staged.round = {worker.staged->round};
      staged.group = {worker.staged->group};
      staged.attempt = static_cast<uint32_t>(worker.staged->attempt);
      staged.state_hash = worker.staged->hash;
      returning.staged.push_back(staged);
    }
  }
  machine_.Handle(server::StreamOpened{{worker.stream}}, now_);
  return Both(server::Received{{worker.stream}, {"small", {1}, hello}}, rules_.Hello(plain, now_));
}

std::string SmallWorld::Say(const Who& who, uint64_t stream, const server::WorkerBody& body) {
  PlainRules::Decisions expected;
  if (const auto* endpoint = std::get_if<server::Endpoint>(&body)) {
    expected = rules_.Endpoint(who, stream, endpoint->group.value, now_);
  } else if (const auto* formed = std::get_if<server::Formed>(&body)) {
    expected = rules_.Formed(who, stream, formed->group.value, now_);
  } else if (const auto* ready = std::get_if<server::Ready>(&body)) {
    expected = rules_.Ready(who, stream, ready->round.value, now_);
  } else if (const auto* reduced = std::get_if<server::Reduced>(&body)) {
    expected = rules_.Reported(who, stream, reduced->round.value, reduced->group.value,
                               reduced->attempt, reduced->reduced.state_hash, now_);
  } else if (const auto* failed = std::get_if<server::Failed>(&body)) {
    expected = rules_.Reported(who, stream, failed->round.value, failed->group.value,
                               failed->attempt, std::nullopt, now_);
  } else {
    expected = rules_.Prepared(who, stream, now_);
  }
  return Both(server::Received{{stream}, {"small", {1}, body}}, std::move(expected));
}

std::string SmallWorld::PassTime() {
  if (wake_at_ == absl::InfiniteFuture()) return "";
  now_ = std::max(now_, wake_at_);
  for (const Worker& worker : workers_) {
    if (worker.stream == 0) continue;
    const std::string wrong =
        Both(server::Received{{worker.stream}, {"small", {1}, server::Progress{}}},
             rules_.Heard(worker.who, worker.stream, now_));
    if (!wrong.empty()) return wrong;
  }
  return Both(server::TimerFired{}, rules_.Timer(now_));
}

// ---------------------------------------------------------------------------- both

std::string SmallWorld::Both(const server::Event& event, PlainRules::Decisions expected) {
  const server::Effects effects = machine_.Handle(event, now_);
  wake_at_ = effects.wake_at;
  InWords records{{}, &said_};
  for (const server::Record& record : effects.records) std::visit(records, record);
  InWords messages{{}, &said_};
  for (const server::Effect& effect : effects.effects) {
    if (const auto* close = std::get_if<server::CloseStream>(&effect)) {
      for (Worker& worker : workers_) {
        if (worker.stream != close->stream.value) continue;
        worker.stream = 0;
        worker.up.clear();
      }
    }
    const auto* send = std::get_if<server::Send>(&effect);
    if (send == nullptr) continue;
    std::visit(messages, send->message.body);
    if (const auto* reduce = std::get_if<server::Reduce>(&send->message.body)) {
      std::vector<Who>& asked = asked_[{reduce->round.value, reduce->group.value, reduce->attempt}];
      const Who& who = streams_[send->stream.value];
      if (std::find(asked.begin(), asked.end(), who) == asked.end()) asked.push_back(who);
    }
    for (Worker& worker : workers_) {
      if (worker.stream == send->stream.value) worker.down.push_back(send->message.body);
    }
  }
  for (const std::string& line : expected) {
    over_ = over_ || line == "nobody holds the state" || line == "the job fails";
    commits_ += line.rfind("commit", 0) == 0 ? 1 : 0;
  }
  if (over_) return "";
  const auto plain_records = Comparable(expected, true);
  const auto plain_messages = Comparable(expected, false);
  if (records.lines != plain_records || messages.lines != plain_messages) {
    return fmt::format("the core: {} / {}\n  the rules: {} / {}", fmt::join(records.lines, "; "),
                       fmt::join(messages.lines, "; "), fmt::join(plain_records, "; "),
                       fmt::join(plain_messages, "; "));
  }
  return "";
}

std::string SmallWorld::Key() const {
  std::string key = rules_.Key();
  for (const Worker& w : workers_) {
    key += fmt::format("/{}{}{}{} {} {} {} {}{} {}", w.who.second, w.stream != 0, w.new_process,
                       w.prepared, w.holds, w.group, w.takes_round, w.order, w.done,
                       w.reducing ? w.reducing->attempt : 0);
    if (w.staged) key += fmt::format("s{}.{}.{}", w.staged->round, w.staged->group, w.staged->hash);
    for (const server::CoordinatorBody& body : w.down) key += fmt::format(",{}", body.index());
    key += ":";
    for (const server::WorkerBody& body : w.up) key += fmt::format(",{}", body.index());
  }
  key += fmt::format("/{} {} {} {} {} {}", budget_.drops, budget_.kills, budget_.flips,
                     budget_.strays, budget_.timers, stray_ ? stray_->body.index() : 99);
  key += fmt::format(" {}", absl::ToInt64Milliseconds(std::min(wake_at_ - now_, absl::Minutes(2))));
  return key;
}

}  // namespace rondo::small_worlds
