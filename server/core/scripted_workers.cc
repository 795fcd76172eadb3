#include "server/core/scripted_workers.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"

namespace rondo::server {
namespace {

// The state that all members have after a round.
uint64_t StateAfter(RoundId round) { return Mix64(1000 + round.value); }

// A life of its own: so is its seed of tokens.
MachineConfig InTerm(MachineConfig config, Term term, uint64_t seed) {
  config.term = term;
  config.token_seed = {seed, 22};
  return config;
}

History HistoryOf(const std::vector<Record>& records) {
  History history;
  for (const Record& record : records) Apply(record, &history);
  return history;
}

StateNeed NeedOf(const ScriptedWorker& worker, const Assemble& assemble) {
  for (const Member& member : assemble.members) {
    if (member.name == worker.name) return member.need;
  }
  return StateNeed::kHolds;
}

}  // namespace

MachineConfig SmallJob(uint64_t workers_min, uint64_t workers_max) {
  MachineConfig config;
  config.job_id = "small-0123456789abcdef";
  config.term = {1};
  config.schedule.kind = ScheduleKind::kConstant;
  config.schedule.peak = 0.1;
  config.policy.policy = SyncPolicy::kConstant;
  config.policy.base_steps = 4;
  config.epochs = 3;
  config.batch_global = 10;
  config.workers_min = workers_min;
  config.workers_max = workers_max;
  config.wait = absl::Seconds(30);
  config.has_test_set = true;
  config.token_seed = {11, 22};
  return config;
}

Facts SmallFacts() {
  Facts facts;
  facts.layout_hash = "layout";
  facts.data_hash = "data";
  facts.train_samples = 100;
  facts.test_samples = 20;
  facts.parameters = 7;
  facts.files = {{"train", 1000, "abc"}};
  return facts;
}

Returning ScriptedWorker::Describe() const {
  Returning returning;
  returning.round = round;
  returning.state_hash = state;
  if (order) {
    returning.order =
        OrderInHand{{}, order->group, order->round, order->first_step, ready.has_value()};
  }
  for (const auto& [key, hash] : staged) {
    returning.staged.push_back({key.round, key.group, key.attempt, hash, !sick_moments});
  }
  returning.finite = !sick_moments;
  if (seen.term) returning.seen = seen;
  return returning;
}

Script::Script(MachineConfig c, uint64_t seed) : config(c), machine(c), random_(seed) {
  Take(machine.Start(now));
}

Script::Script(Script& dead, uint64_t seed) : Script(dead, dead.records, seed) {}

Script::Script(Script& dead, std::vector<Record> disk, uint64_t seed)
    : config(InTerm(dead.config, HistoryOf(disk).term.Next(), seed + 1'000)),
      machine(config, HistoryOf(disk)),
      now(dead.now + absl::Seconds(1)),
      records(std::move(disk)),
      workers(std::move(dead.workers)),
      checkpoints(dead.checkpoints),
      random_(seed) {
  Take(machine.Start(now));
  for (auto& [name, worker] : workers) {
    if (worker->exit_code) continue;
    worker->returning = worker->Describe();
    Redial(*worker);
  }
}

ScriptedWorker& Script::Join(const std::string& name, uint64_t incarnation) {
  auto& slot = workers[name];
  slot = std::make_unique<ScriptedWorker>();
  slot->name = name;
  slot->incarnation = {incarnation};
  Redial(*slot);
  return *slot;
}

void Script::Redial(ScriptedWorker& worker) {
  last_stream_ = last_stream_.Next();
  worker.stream = last_stream_;
  worker.connected = true;
  Handle(StreamOpened{worker.stream});
  Hello hello;
  hello.name = worker.name;
  hello.incarnation = worker.incarnation;
  hello.dial = ++worker.dial;
  hello.protocol = 1;
  hello.torch_version = "2.15.0";
  hello.returning = worker.returning;
  to_machine_[worker.stream].push_back({"", {}, hello});
}

void Script::Break(ScriptedWorker& worker) {
  worker.connected = false;
  to_machine_.erase(worker.stream);
  to_workers_.erase(worker.stream);
  Handle(StreamClosed{worker.stream});
}

void Script::Run() {
  while (RunOne()) {
  }
}

bool Script::RunOne() {
  std::vector<StreamId> up;
  std::vector<StreamId> down;
  for (auto& [stream, queue] : to_machine_) {
    if (!queue.empty()) up.push_back(stream);
  }
  for (auto& [stream, queue] : to_workers_) {
    if (!queue.empty()) down.push_back(stream);
  }
  if ((up.empty() && down.empty()) || (crashed && lose_in_flight)) return false;
  const uint64_t pick = random_.Below(up.size() + down.size());
  if (pick < up.size()) {
    const StreamId stream = up[pick];
    const WorkerMessage message = to_machine_[stream].front();
    to_machine_[stream].pop_front();
    SayAs(stream, message);
    return true;
  }
  const StreamId stream = down[pick - up.size()];
  const CoordinatorMessage message = to_workers_[stream].front();
  to_workers_[stream].pop_front();
  if (ScriptedWorker* worker = WorkerOf(stream)) Answer(*worker, message);
  return true;
}

void Script::Pass(absl::Duration time) {
  const absl::Time end = now + time;
  absl::Time beat = now + absl::Seconds(1);
  while (now < end) {
    now = std::min({end, beat, std::max(wake_at_, now + absl::Milliseconds(1))});
    Handle(TimerFired{});
    if (now >= beat) {
      beat += absl::Seconds(1);
      for (auto& [name, worker] : workers) {
        if (worker->connected && !worker->heard.empty()) Say(*worker, Progress{});
      }
    }
    Run();
  }
}

void Script::Handle(const Event& event) {
  if (!crashed) Take(machine.Handle(event, now));
}

absl::StatusOr<SteerAnswer> Script::Ask(const Event& request) {
  answer.reset();
  Handle(request);
  absl::StatusOr<SteerAnswer> given =
      answer.value_or(absl::InternalError("the request was not answered"));
  Run();
  return given;
}

void Script::Say(ScriptedWorker& worker, WorkerBody body) {
  const Term term = std::max(config.term, worker.seen.term);
  to_machine_[worker.stream].push_back({config.job_id, term, std::move(body)});
}

void Script::SayAs(StreamId stream, WorkerMessage message) {
  Handle(Received{stream, message});
  if (twice) Handle(Received{stream, message});
}

bool Script::Noted(const std::string& kind) const {
  const auto notices = Records<NoticeRecord>();
  return std::any_of(notices.begin(), notices.end(),
                     [&](const NoticeRecord& n) { return n.kind == kind; });
}

void Script::Take(Effects effects) {
  const bool writes = !effects.records.empty();
  crashed = crash_in_front && writes && crash_after == transactions;
  if (crashed) return;
  records.insert(records.end(), effects.records.begin(), effects.records.end());
  if (writes) ++transactions;
  crashed = !crash_in_front && crash_after == transactions;
  if (crashed) return;
  wake_at_ = effects.wake_at;
  if (effects.answer) answer = effects.answer;
  for (Effect& effect : effects.effects) {
    if (const auto* send = std::get_if<Send>(&effect)) {
      to_workers_[send->stream].push_back(send->message);
    } else if (const auto* close = std::get_if<CloseStream>(&effect)) {
      closed.push_back(close->stream);
      close_reasons[close->stream] = close->reason;
      to_machine_.erase(close->stream);
    } else if (auto* checkpoint = std::get_if<CompleteCheckpoint>(&effect)) {
      checkpoints.push_back(*checkpoint);
      const bool ok = checkpoint_ok && failing_checkpoint != checkpoint->step;
      Handle(CheckpointCompleted{checkpoint->step, ok, "disk full"});
    } else if (const auto* trim = std::get_if<TrimCheckpoints>(&effect)) {
      trims.push_back(*trim);
    } else if (const auto* look = std::get_if<LookForPartials>(&effect)) {
      Handle(PartialsFound{look->round, partial_step});
    } else if (const auto* inspect = std::get_if<LookForCheckpoint>(&effect)) {
      looks.push_back(*inspect);
      CheckpointFound found{inspect->step, CheckpointCondition::kGood, ""};
      if (away) {
        found = {inspect->step, CheckpointCondition::kAway, *away};
      } else if (damaged.contains(inspect->step) && (inspect->whole || !damage_is_hidden)) {
        found = {inspect->step, CheckpointCondition::kDamaged, "other bytes"};
      }
      Handle(found);
    } else if (const auto* f = std::get_if<Finish>(&effect)) {
      finish = *f;
    }
  }
}

ScriptedWorker* Script::WorkerOf(StreamId stream) {
  for (auto& [name, worker] : workers) {
    if (worker->stream == stream && worker->connected) return worker.get();
  }
  return nullptr;
}

void Script::Answer(ScriptedWorker& worker, const CoordinatorMessage& message) {
  const auto& body = message.body;
  const auto* welcome = std::get_if<Welcome>(&body);
  if (welcome != nullptr && message.term < worker.seen.term) return;
  worker.heard.push_back(message);
  if (welcome != nullptr) {
    if (worker.seen.life != welcome->life) worker.seen_before = worker.seen.group;
    worker.seen.term = message.term;
    worker.seen.life = welcome->life;
    AnswerWelcome(worker, *welcome);
  } else if (const auto* refuse = std::get_if<Refuse>(&body)) {
    worker.refused = *refuse;
  } else if (const auto* goodbye = std::get_if<Goodbye>(&body)) {
    worker.exit_code = goodbye->exit_code;
  } else if (const auto* assemble = std::get_if<Assemble>(&body)) {
    if (assemble->group <= worker.seen_before) return;  // As workers do, silently.
    worker.seen.group = std::max(worker.seen.group, assemble->group);
    const bool at_border =
        assemble->purpose == Purpose::kStart || assemble->purpose == Purpose::kJoin;
    if (at_border) worker.order.reset();
    if (!worker.mute_endpoint) Say(worker, Endpoint{assemble->group, worker.name});
  } else if (const auto* mesh = std::get_if<Mesh>(&body)) {
    const Assemble last = worker.Heard<Assemble>().back();
    const StateNeed need = NeedOf(worker, last);
    if ((worker.cannot_read && need == StateNeed::kFile) ||
        (worker.cannot_read_partial && need == StateNeed::kPartial)) {
      return Say(worker, Failed{mesh->group, {}, 0, 0, false, "", FailureCause::kFile, "damaged"});
    }
    if (last.purpose == Purpose::kRepair) return AnswerRepair(worker, last);
    worker.state = last.round ? last.state_hash : StateAfter({});
    worker.round = last.round;
    const bool from_peer = need == StateNeed::kAll || need == StateNeed::kValues;
    if (from_peer) worker.residual = 0;
    if (!worker.mute_formed) {
      Formed formed{mesh->group, worker.wrong_state.value_or(worker.state), 0.1, 0};
      if (last.purpose != Purpose::kRetry) {
        formed.moments_zeroed = need == StateNeed::kHolds && worker.sick_moments;
        worker.sick_moments = false;
      }
      formed.residual_norm_squared = worker.residual;
      Say(worker, formed);
    }
  } else {
    AnswerWork(worker, message);
  }
}

void Script::AnswerWelcome(ScriptedWorker& worker, const Welcome& welcome) {
  for (const StagedFate& fate : welcome.fates) {
    const auto staged = worker.staged.find({fate.round, fate.group, fate.attempt});
    if (staged == worker.staged.end() || fate.fate == Fate::kOpen) continue;
    if (fate.fate == Fate::kCommitted && fate.round > worker.round) {
      worker.state = staged->second;
      worker.round = fate.round;
    }
    worker.staged.erase(staged);
  }
  if (welcome.order_fate == OrderFate::kWithdrawn) worker.order.reset();
  Say(worker, Prepared{worker.facts, {}});
  if (worker.order && !worker.mute_ready) SayReady(worker);
}

void Script::SayReady(ScriptedWorker& worker) {
  const Order& order = *worker.order;
  Ready ready{
      order.group,
      order.round,
      order.length,
      0,
      worker.loss * static_cast<double>(order.length),
      worker.finite || (worker.finite_every != 0 && order.round.value % worker.finite_every == 0),
      1,
      {}};
  if (order.mode == RoundMode::kParallel) {
    worker.stands_at = order.first_step + order.length;
    ready.reduced = worker.CostsOf(order);
    ready.reduced.state_hash = worker.wrong_hash.value_or(StateAfter(order.round));
    worker.staged[{order.round, order.group, 0}] = ready.reduced.state_hash;
  }
  worker.ready = ready;
  Say(worker, ready);
}

void Script::AnswerRepair(ScriptedWorker& worker, const Assemble& assemble) {
  if (worker.mute_formed) return;
  for (const Member& member : assemble.members) {
    if (member.name != worker.name || member.need != StateNeed::kStep) continue;
    worker.stands_at = assemble.step + 1;
  }
  Say(worker, Formed{assemble.group, worker.parameters, 0.1, 0, worker.stands_at});
}

void Script::AnswerWork(ScriptedWorker& worker, const CoordinatorMessage& message) {
  const auto& body = message.body;
  if (const auto* order = std::get_if<Order>(&body)) {
    if (order->mode == RoundMode::kLocal && order->group != worker.seen.group) return;
    worker.seen.round = std::max(worker.seen.round, order->round);
    worker.order = *order;
    worker.ready.reset();
    worker.stands_at = order->first_step;
    if (!worker.mute_ready && order->round.value <= worker.last_round) SayReady(worker);
  } else if (const auto* reduce = std::get_if<Reduce>(&body)) {
    if (worker.mute_reduced) return;
    Reduced reduced{reduce->group, reduce->round, reduce->attempt, {}, !worker.sick_moments};
    if (worker.order) reduced.reduced = worker.CostsOf(*worker.order);
    reduced.reduced.state_hash = worker.wrong_hash.value_or(StateAfter(reduce->round));
    reduced.reduced.costs = {{CostPhase::kReduce, 100, 100, 10, 0.1, 1}};
    worker.staged = {{{reduce->round, reduce->group, reduce->attempt}, reduced.reduced.state_hash}};
    Say(worker, reduced);
  } else if (const auto* commit = std::get_if<Commit>(&body)) {
    const bool sparse = worker.order && worker.order->collective != Collective::kRing;
    worker.order.reset();
    const auto staged = worker.staged.find({commit->round, commit->group, commit->attempt});
    if (staged == worker.staged.end() || staged->second != commit->state_hash) return;
    worker.state = commit->state_hash;
    worker.round = commit->round;
    worker.residual = sparse ? worker.leaves_residual : 0;
    worker.staged.clear();
  } else if (const auto* abort = std::get_if<Abort>(&body)) {
    const bool working = worker.order && worker.order->mode == RoundMode::kParallel &&
                         worker.order->group == abort->group && worker.mute_ready;
    if (!working || abort->round || worker.mute_failed) return;
    Say(worker, Failed{abort->group, worker.order->round, 0, worker.stands_at, false, "",
                       FailureCause::kAborted, "aborted"});
  } else if (const auto* evaluate = std::get_if<EvaluateNow>(&body)) {
    if (!worker.mute_evaluated) {
      Say(worker, Evaluated{evaluate->group, evaluate->round, 4, 3, 5, 0.1});
    }
  } else if (const auto* save = std::get_if<SaveNow>(&body)) {
    if (worker.mute_saved) return;
    Saved saved{save->group, save->round, save->step, {}};
    for (StateFile file : save->files) saved.files.push_back({file, 10, "hash"});
    Say(worker, saved);
  }
}

}  // namespace rondo::server
