#include "tests/simulation/trace.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <iterator>
#include <variant>
#include <vector>

namespace rondo::simulation {
namespace {

using fmt::format;

std::string Id(GroupId group, RoundId round, uint32_t attempt) {
  return format("group {} round {} attempt {}", group, round, attempt);
}

struct Words {
  template <typename T>
  std::string operator()(const T&) const {
    return "(something new)";
  }
  std::string operator()(const server::Hello& m) const {
    std::string text = format("Hello dial {}", m.dial);
    if (!m.returning) return text + ", new";
    text +=
        format(", holds round {} ({:04x})", m.returning->round, m.returning->state_hash & 0xFFFF);
    if (m.returning->order) {
      text += format(", order of round {}{}", m.returning->order->round,
                     m.returning->order->done ? " done" : "");
    }
    for (const server::StagedResult& staged : m.returning->staged) {
      text += ", staged " + Id(staged.group, staged.round, staged.attempt);
    }
    return text;
  }
  std::string operator()(const server::Prepared&) const { return "Prepared"; }
  std::string operator()(const server::Endpoint& m) const {
    return format("Endpoint group {}", m.group);
  }
  std::string operator()(const server::Formed& m) const {
    return format("Formed group {} ({:04x})", m.group, m.state_hash & 0xFFFF);
  }
  std::string operator()(const server::Progress& m) const {
    return format("Progress round {} step {}", m.round, m.step);
  }
  std::string operator()(const server::Ready& m) const {
    return format("Ready round {} steps {}{} ({:04x})", m.round, m.steps,
                  m.finite ? "" : " NOT FINITE", m.reduced.state_hash & 0xFFFF);
  }
  std::string operator()(const server::Reduced& m) const {
    return format("Reduced {}{} ({:04x})", Id(m.group, m.round, m.attempt),
                  m.finite ? "" : " moments not finite", m.reduced.state_hash & 0xFFFF);
  }
  std::string operator()(const server::Failed& m) const {
    return format("Failed {} step {}{}: {}", Id(m.group, m.round, m.attempt), m.step,
                  m.has_result ? " has its result" : "", m.text);
  }
  std::string operator()(const server::Evaluated& m) const {
    return format("Evaluated round {}", m.round);
  }
  std::string operator()(const server::Saved& m) const { return format("Saved step {}", m.step); }
  std::string operator()(const server::SaveFailed& m) const {
    return format("SaveFailed step {}: {}", m.step, m.text);
  }
  std::string operator()(const server::Leave& m) const {
    return format("Leave within {:.1f} s", m.grace_seconds);
  }

  std::string operator()(const server::Welcome& m) const {
    static constexpr const char* kFates[] = {"committed", "aborted", "open"};
    static constexpr const char* kOrders[] = {"", ", order renewed", ", order withdrawn"};
    std::string text = format("Welcome to group {} attempt {}{}", m.assembly, m.attempt,
                              kOrders[static_cast<int>(m.order_fate)]);
    for (const server::StagedFate& fate : m.fates) {
      text += format(", staged {}: {}", Id(fate.group, fate.round, fate.attempt),
                     kFates[static_cast<int>(fate.fate)]);
    }
    return text;
  }
  std::string operator()(const server::Wait& m) const { return "Wait: " + m.text; }
  std::string operator()(const server::Refuse& m) const { return "Refuse: " + m.text; }
  std::string operator()(const server::Assemble& m) const {
    return format("Assemble{} group {} after round {} step {}: {}, giver {}",
                  static_cast<int>(m.purpose), m.group, m.round, m.step, Members(m.members),
                  m.giver);
  }
  std::string operator()(const server::Mesh& m) const { return format("Mesh group {}", m.group); }
  std::string operator()(const server::Order& m) const {
    return format("Order group {} round {}: {} steps from {}{}", m.group, m.round, m.length,
                  m.first_step, m.mode == RoundMode::kParallel ? ", parallel" : "");
  }
  std::string operator()(const server::Reduce& m) const {
    return "Reduce " + Id(m.group, m.round, m.attempt);
  }
  std::string operator()(const server::Commit& m) const {
    return format("Commit {} ({:04x})", Id(m.group, m.round, m.attempt), m.state_hash & 0xFFFF);
  }
  std::string operator()(const server::Abort& m) const {
    return format("Abort {}: {}", Id(m.group, m.round, m.attempt), m.text);
  }
  std::string operator()(const server::EvaluateNow& m) const {
    return format("EvaluateNow round {}", m.round);
  }
  std::string operator()(const server::SaveNow& m) const {
    return format("SaveNow step {}", m.step);
  }
  std::string operator()(const server::Goodbye& m) const {
    return format("Goodbye {}: {}", m.exit_code, m.text);
  }

  std::string operator()(const server::TermRecord& r) const { return format("term {}", r.term); }
  std::string operator()(const server::ReferenceRecord& r) const {
    return format("reference, {} steps", r.total_steps);
  }
  std::string operator()(const server::GroupRecord& r) const {
    return format("group {} (purpose {}): {}", r.group, static_cast<int>(r.purpose),
                  Members(r.members));
  }
  std::string operator()(const server::OrderRecord& r) const {
    return format("order of round {}, group {}: {} steps from {}", r.round, r.group, r.length,
                  r.first_step);
  }
  std::string operator()(const server::CommitRecord& r) const {
    return format("commit {} ({:04x}) of {}", Id(r.group, r.round, r.attempt),
                  r.state_hash & 0xFFFF, fmt::join(r.contributors, " "));
  }
  std::string operator()(const server::VoidRecord& r) const {
    return format("void round {}: {}", r.round, r.reason);
  }
  std::string operator()(const server::RewindRecord& r) const {
    return format("rewind to step {}: {}", r.to_step, r.reason);
  }
  std::string operator()(const server::EvaluationRecord& r) const {
    return format("evaluation of step {}", r.step);
  }
  std::string operator()(const server::CheckpointRecord& r) const {
    return format("checkpoint of step {}", r.step);
  }
  std::string operator()(const server::NoticeRecord& r) const { return r.kind + ": " + r.text; }
  std::string operator()(const server::EndRecord& r) const { return "end: " + r.reason; }
  std::string operator()(const server::RequestRecord& r) const {
    return format("request {} {} {}", static_cast<int>(r.kind), r.worker, r.reason);
  }

  static std::string Members(const std::vector<server::Member>& members) {
    static constexpr const char* kNeeds[] = {"",        "=initial", "=all",
                                             "=values", "=step",    "=moments"};
    std::string text;
    for (const server::Member& member : members) {
      const auto need = static_cast<size_t>(member.need);
      text += format("{}{}#{}{}", text.empty() ? "" : " ", member.name, member.incarnation,
                     need < std::size(kNeeds) ? kNeeds[need] : "=file");
    }
    return text;
  }
};

struct RequestInWords {
  std::string operator()(const server::PauseRequested&) const { return "pause"; }
  std::string operator()(const server::ResumeRequested&) const { return "resume"; }
  std::string operator()(const server::DrainRequested& r) const { return "drain " + r.worker; }
  std::string operator()(const server::CheckpointRequested&) const { return "checkpoint"; }
  std::string operator()(const server::StopRequested&) const { return "stop"; }
  template <typename T>
  std::string operator()(const T&) const {
    return "";
  }
};

}  // namespace

std::string Describe(const server::WorkerMessage& message) {
  return std::visit(Words{}, message.body);
}
std::string Describe(const server::CoordinatorMessage& message) {
  return std::visit(Words{}, message.body);
}
std::string Describe(const server::Record& record) { return std::visit(Words{}, record); }
std::string Describe(const server::Event& request) { return std::visit(RequestInWords{}, request); }

}  // namespace rondo::simulation
