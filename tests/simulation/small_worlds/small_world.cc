#include "tests/simulation/small_worlds/small_world.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "common/mix64.h"
#include "tests/simulation/small_worlds/in_words.h"

namespace rondo::small_worlds {
namespace {

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
  config.limits.discipline.cool_down = absl::ZeroDuration();  // The plain rules know no cool-down.
  return config;
}

}  // namespace

std::string Describe(const Action& action) {
  static constexpr const char* kNames[] = {"hear", "say",  "finish", "flip",  "break", "drop",
                                           "dial", "kill", "ghost",  "stray", "time"};
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
    PlainWorker worker;
    worker.who = {std::string(1, static_cast<char>('a' + i)), 1};
    workers_.push_back(worker);
  }
}

bool SmallWorld::AllJoined(const Reduction& reduction) const {
  return std::all_of(asked_.at(reduction).begin(), asked_.at(reduction).end(), [&](const Who& who) {
    return std::any_of(workers_.begin(), workers_.end(), [&](const PlainWorker& w) {
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
    return std::none_of(workers_.begin(), workers_.end(), [&](const PlainWorker& w) {
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
    const PlainWorker& w = workers_[i];
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
    if (budget_.strays > 0 && w.dial > 0) actions.push_back({Act::kGhost, i});
    if (budget_.kills > 0) actions.push_back({Act::kKill, i});
  }
  if (stray_ && budget_.strays > 0) actions.push_back({Act::kStray, 0});
  if (budget_.timers > 0) actions.push_back({Act::kTime, 0});
  return actions;
}

std::string SmallWorld::Do(const Action& action) {
  PlainWorker& worker = workers_[action.worker];
  switch (action.act) {
    case Act::kHear:
      worker.Hear();
      return "";
    case Act::kSay: {
      const server::WorkerBody body = worker.up.front();
      worker.up.pop_front();
      return Say(worker.who, worker.stream, body);
    }
    case Act::kFinish:
      worker.EndReduce(ResultOf(*worker.reducing));
      return "";
    case Act::kFlip:
      --budget_.flips;
      worker.EndReduce(ResultOf(*worker.reducing) + 1 + action.worker);
      return "";
    case Act::kBreak:
      worker.EndReduce(std::nullopt);
      return "";
    case Act::kDrop:
      --budget_.drops;
      return Drop(worker);
    case Act::kDial:
      return Dial(worker);
    case Act::kKill: {
      --budget_.kills;
      std::string wrong = worker.stream != 0 ? Drop(worker) : "";
      PlainWorker fresh;
      fresh.who = {worker.who.first, worker.who.second + 1};
      worker = fresh;
      return wrong;
    }
    case Act::kGhost:
      --budget_.strays;
      return Ghost(worker);
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

std::string SmallWorld::Drop(PlainWorker& worker) {
  if (!worker.up.empty()) stray_ = Stray{worker.who, worker.stream, worker.up.front()};
  worker.up.clear();
  worker.down.clear();
  const uint64_t stream = std::exchange(worker.stream, 0);
  return Both(server::StreamClosed{{stream}}, rules_.Closed(stream, now_));
}

std::string SmallWorld::Dial(PlainWorker& worker) {
  worker.stream = ++last_stream_;
  streams_[worker.stream] = worker.who;
  ++worker.dial;
  machine_.Handle(server::StreamOpened{{worker.stream}}, now_);
  return Both(server::Received{{worker.stream}, {"small", {1}, worker.MakeHello()}},
              rules_.Hello(worker.MakePlainHello(), now_));
}

std::string SmallWorld::Ghost(const PlainWorker& worker) {
  PlainWorker ghost = worker;
  ghost.stream = ++last_stream_;
  machine_.Handle(server::StreamOpened{{ghost.stream}}, now_);
  return Both(server::Received{{ghost.stream}, {"small", {1}, ghost.MakeHello()}},
              rules_.Hello(ghost.MakePlainHello(), now_));
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
  for (const PlainWorker& worker : workers_) {
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
  for (const server::Effect& effect : effects.effects) {
    if (const auto* close = std::get_if<server::CloseStream>(&effect)) {
      for (PlainWorker& worker : workers_) {
        if (worker.stream != close->stream.value) continue;
        worker.stream = 0;
        worker.up.clear();
      }
    }
    const auto* send = std::get_if<server::Send>(&effect);
    if (send == nullptr) continue;
    if (const auto* reduce = std::get_if<server::Reduce>(&send->message.body)) {
      std::vector<Who>& asked = asked_[{reduce->round.value, reduce->group.value, reduce->attempt}];
      const Who& who = streams_[send->stream.value];
      if (std::find(asked.begin(), asked.end(), who) == asked.end()) asked.push_back(who);
    }
    for (PlainWorker& worker : workers_) {
      if (worker.stream == send->stream.value) worker.down.push_back(send->message.body);
    }
  }
  for (const std::string& line : expected) {
    over_ = over_ || line == "nobody holds the state" || line == "the job fails";
    commits_ += line.rfind("commit", 0) == 0 ? 1 : 0;
  }
  if (over_) return "";
  const Words core = InWords(effects, &said_);
  const Words rules = InWords(expected);
  if (core == rules) return "";
  return fmt::format("the core: {} / {}\n  the rules: {} / {}", fmt::join(core.records, "; "),
                     fmt::join(core.messages, "; "), fmt::join(rules.records, "; "),
                     fmt::join(rules.messages, "; "));
}

std::string SmallWorld::Key() const {
  std::string key = rules_.Key();
  for (const PlainWorker& w : workers_) key += w.Key();
  key += fmt::format("/{} {} {} {} {} {}", budget_.drops, budget_.kills, budget_.flips,
                     budget_.strays, budget_.timers, stray_ ? stray_->body.index() : 99);
  key += fmt::format(" {}", absl::ToInt64Milliseconds(std::min(wake_at_ - now_, absl::Minutes(2))));
  return key;
}

}  // namespace rondo::small_worlds
