#include "tests/simulation/small_worlds/in_words.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <variant>

namespace rondo::small_worlds {
namespace {

std::string Text(const server::Member& member) {
  return fmt::format("{}#{}", member.name, member.incarnation);
}

// The core's records and messages in the words of PlainRules.
struct CoreWords {
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

// Without the incarnations where a record of the core has none.
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

Words InWords(const server::Effects& effects, std::set<std::string>* attempts) {
  CoreWords records{{}, attempts};
  for (const server::Record& record : effects.records) std::visit(records, record);
  CoreWords messages{{}, attempts};
  for (const server::Effect& effect : effects.effects) {
    const auto* send = std::get_if<server::Send>(&effect);
    if (send != nullptr) std::visit(messages, send->message.body);
  }
  return {records.lines, messages.lines};
}

Words InWords(const PlainRules::Decisions& decisions) {
  return {Comparable(decisions, true), Comparable(decisions, false)};
}

}  // namespace rondo::small_worlds
