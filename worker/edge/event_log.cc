#include "worker/edge/event_log.h"

#include <fmt/format.h>

#include <variant>

#include "common/log.h"

namespace rondo::worker {
namespace {

std::string Hex(uint64_t hash) { return fmt::format("{:016x}", hash); }

void LogFailure(std::string_view what, const Failed& failed) {
  rondo::LogEvent(LogLevel::kWarning, what,
                  {{"group", fmt::format("{}", failed.group)},
                   {"round", fmt::format("{}", failed.round)},
                   {"attempt", fmt::format("{}", failed.attempt)},
                   {"step", fmt::format("{}", failed.step)},
                   {"cause", failed.text}});
}

void Log(const Welcome& welcome, const CoordinatorMessage& message) {
  rondo::LogEvent(LogLevel::kInfo, "welcomed",
                  {{"job", message.job_id},
                   {"term", fmt::format("{}", message.term)},
                   {"assembly", fmt::format("{}", welcome.assembly)}});
}
void Log(const Wait& wait, const CoordinatorMessage&) {
  rondo::LogEvent(LogLevel::kInfo, "told_to_wait",
                  {{"seconds", fmt::format("{}", wait.retry_seconds)}, {"reason", wait.text}});
}
void Log(const Abort& abort, const CoordinatorMessage&) {
  rondo::LogEvent(LogLevel::kWarning, "aborted",
                  {{"group", fmt::format("{}", abort.group)},
                   {"round", fmt::format("{}", abort.round)},
                   {"attempt", fmt::format("{}", abort.attempt)},
                   {"reason", abort.text}});
}
template <typename Body>
void Log(const Body&, const CoordinatorMessage&) {}

void Log(const StreamLost& event) {
  if (event.expected) return;  // Goodbye, Refuse and Wait have been told.
  rondo::LogEvent(LogLevel::kWarning, "stream_lost",
                  {{"dial", fmt::format("{}", event.dial)}, {"reason", event.text}});
}
void Log(const Received& event) {
  std::visit([&](const auto& body) { Log(body, event.message); }, event.message.body);
}
void Log(const LeaveRequested& event) {
  rondo::LogEvent(LogLevel::kInfo, "leaving",
                  {{"grace", absl::FormatDuration(event.grace)}, {"reason", event.text}});
}
void Log(const PrepareDone& event) {
  if (event.prepared.problem) {
    rondo::LogEvent(LogLevel::kError, "not_prepared", {{"reason", event.prepared.problem->text}});
    return;
  }
  const Facts& facts = event.prepared.facts;
  rondo::LogEvent(LogLevel::kInfo, "prepared",
                  {{"parameters", fmt::format("{}", facts.parameters)},
                   {"train_samples", fmt::format("{}", facts.train_samples)},
                   {"test_samples", fmt::format("{}", facts.test_samples)}});
}
void Log(const GroupFormed& event) {
  rondo::LogEvent(LogLevel::kInfo, "formed",
                  {{"group", fmt::format("{}", event.formed.group)},
                   {"state", Hex(event.formed.state_hash)},
                   {"received", fmt::format("{}", event.formed.transfer_bytes)},
                   {"seconds", fmt::format("{:.3f}", event.formed.seconds)}});
  if (!event.formed.moments_zeroed) return;
  rondo::LogEvent(LogLevel::kWarning, "moments_zeroed",
                  {{"group", fmt::format("{}", event.formed.group)},
                   {"reason", "they were not finite and no member had good ones"}});
}
void Log(const GroupFailed& event) { LogFailure("not_formed", event.failed); }
void Log(const StepsFailed& event) { LogFailure("step_failed", event.failed); }
void Log(const ReduceFailed& event) { LogFailure("reduce_failed", event.failed); }
void Log(const SaveDone& event) {
  rondo::LogEvent(LogLevel::kInfo, "saved",
                  {{"step", fmt::format("{}", event.saved.step)},
                   {"files", fmt::format("{}", event.saved.files.size())}});
}
void Log(const SaveStopped& event) {
  rondo::LogEvent(LogLevel::kWarning, "save_failed",
                  {{"step", fmt::format("{}", event.failed.step)}, {"reason", event.failed.text}});
}
template <typename T>
void Log(const T&) {}

}  // namespace

void LogWorkerEvent(const Event& event) {
  std::visit([](const auto& e) { Log(e); }, event);
}

}  // namespace rondo::worker
