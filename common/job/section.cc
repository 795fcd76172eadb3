#include "common/job/section.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>

#include "absl/strings/escaping.h"
#include "absl/strings/str_join.h"
#include "common/nearest.h"

namespace rondo {
namespace {

constexpr size_t kTextBytesMax = 4096;

std::string_view KindOf(const YamlNode& node) {
  switch (node.kind) {
    case YamlNode::Kind::kNull:
      return "nothing";
    case YamlNode::Kind::kScalar:
      return "a single value";
    case YamlNode::Kind::kList:
      return "a list";
    case YamlNode::Kind::kMap:
      return "a map";
  }
  return "nothing";
}

// Text of the file, short enough for a message and on one line.
std::string Brief(std::string_view text) {
  constexpr size_t kShown = 40;
  if (text.size() <= kShown) return absl::Utf8SafeCHexEscape({text.data(), text.size()});
  size_t end = kShown;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return absl::Utf8SafeCHexEscape({text.data(), end}) + "...";
}

// What the file has there.
std::string Shown(const YamlNode& node) {
  if (node.kind != YamlNode::Kind::kScalar) return std::string(KindOf(node));
  return fmt::format(fmt::runtime(node.quoted ? "the text \"{}\"" : "'{}'"), Brief(node.text));
}

std::string Allowed(IntRange range) {
  return fmt::format("a whole number from {} to {}", range.min, range.max);
}

std::string Allowed(RealRange range) {
  std::string text =
      fmt::format("a number {} {}", range.above_min ? "greater than" : "from", range.min);
  if (range.max < RealRange{}.max) {
    text += fmt::format(" {} {}", range.below_max ? "and less than" : "up to", range.max);
  }
  return text;
}

// The whole of `text` as a number. errc() = fine.
template <typename T>
std::errc ParseWhole(std::string_view text, T* value) {
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), *value);
  if (code != std::errc()) return code;
  return end == text.data() + text.size() ? std::errc() : std::errc::invalid_argument;
}

bool IsPlainScalar(const YamlNode& node) {
  return node.kind == YamlNode::Kind::kScalar && !node.quoted;
}

// nullptr when fine, else what is wrong with a path below --files.
const char* WrongInPath(std::string_view path) {
  if (path.front() == '/') {
    return "an absolute path: give one relative to the folder of --files (with `rondo run` the job "
           "file's own)";
  }
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find('/', begin), path.size());
    if (path.substr(begin, end - begin) == "..") {
      return "a path that leads out of the folder of --files: '..' is not allowed";
    }
    begin = end + 1;
  }
  return nullptr;
}

}  // namespace

Section::Section(const YamlNode* node, std::string path, ReadLog* log)
    : node_(node), path_(std::move(path)), log_(log) {
  if (node_ == nullptr || node_->kind == YamlNode::Kind::kMap) return;
  if (node_->kind != YamlNode::Kind::kNull) {
    FailAt(*node_, path_,
           fmt::format("must be a map of keys, like {{key: value}}, not {}", Shown(*node_)));
  }
  node_ = nullptr;
}

const YamlEntry* Section::Entry(std::string_view key) const {
  if (node_ == nullptr) return nullptr;
  for (const YamlEntry& entry : node_->entries) {
    if (entry.key == key) return &entry;
  }
  return nullptr;
}

bool Section::Has(std::string_view key) const {
  const YamlEntry* entry = Entry(key);
  return entry != nullptr && entry->value.kind != YamlNode::Kind::kNull;
}

const YamlNode* Section::Find(std::string_view key) {
  if (std::find(known_.begin(), known_.end(), key) == known_.end()) {
    known_.emplace_back(key);
    log_->known_keys.push_back(PathOf(key));
  }
  const YamlEntry* entry = Entry(key);
  if (entry == nullptr) return nullptr;
  log_->positions[PathOf(key)] = entry->position;
  return entry->value.kind == YamlNode::Kind::kNull ? nullptr : &entry->value;
}

std::string Section::PathOf(std::string_view key) const {
  return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
}

void Section::FailAt(const YamlNode& node, std::string path, std::string message) {
  log_->errors.push_back({node.position, std::move(path), std::move(message)});
}

std::optional<int64_t> Section::ReadInt(const YamlNode& node, const std::string& path,
                                        IntRange range) {
  int64_t value = 0;
  const std::errc code =
      IsPlainScalar(node) ? ParseWhole(node.text, &value) : std::errc::invalid_argument;
  if (code == std::errc() && value >= range.min && value <= range.max) return value;
  FailAt(node, path, fmt::format("must be {}, not {}", Allowed(range), Shown(node)));
  return std::nullopt;
}

std::optional<double> Section::ReadReal(const YamlNode& node, const std::string& path,
                                        RealRange range) {
  double value = 0;
  const std::errc code =
      IsPlainScalar(node) ? ParseWhole(node.text, &value) : std::errc::invalid_argument;
  const bool low = range.above_min ? value <= range.min : value < range.min;
  const bool high = range.below_max ? value >= range.max : value > range.max;
  if (code == std::errc() && std::isfinite(value) && !low && !high) return value;
  FailAt(node, path, fmt::format("must be {}, not {}", Allowed(range), Shown(node)));
  return std::nullopt;
}

std::optional<std::string> Section::ReadText(const YamlNode& node, const std::string& path) {
  if (node.kind != YamlNode::Kind::kScalar || node.text.empty()) {
    FailAt(node, path, fmt::format("must be a text, not {}", Shown(node)));
    return std::nullopt;
  }
  const bool control = std::any_of(node.text.begin(), node.text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < 0x20 || byte == 0x7F;
  });
  if (control || node.text.size() > kTextBytesMax) {
    FailAt(node, path,
           fmt::format("must be a text of one line and at most {} bytes", kTextBytesMax));
    return std::nullopt;
  }
  return node.text;
}

std::optional<int64_t> Section::Int(std::string_view key, IntRange range) {
  const YamlNode* node = Find(key);
  return node == nullptr ? std::nullopt : ReadInt(*node, PathOf(key), range);
}

std::optional<uint64_t> Section::Unsigned64(std::string_view key) {
  const YamlNode* node = Find(key);
  if (node == nullptr) return std::nullopt;
  uint64_t value = 0;
  if (IsPlainScalar(*node) && ParseWhole(node->text, &value) == std::errc()) return value;
  FailAt(*node, PathOf(key),
         fmt::format("must be a whole number from 0 to {}, not {}", ~uint64_t{0}, Shown(*node)));
  return std::nullopt;
}

std::optional<double> Section::Real(std::string_view key, RealRange range) {
  const YamlNode* node = Find(key);
  return node == nullptr ? std::nullopt : ReadReal(*node, PathOf(key), range);
}

std::optional<bool> Section::Bool(std::string_view key) {
  const YamlNode* node = Find(key);
  if (node == nullptr) return std::nullopt;
  if (IsPlainScalar(*node) && node->text == "true") return true;
  if (IsPlainScalar(*node) && node->text == "false") return false;
  FailAt(*node, PathOf(key), fmt::format("must be true or false, not {}", Shown(*node)));
  return std::nullopt;
}

std::optional<std::string> Section::Text(std::string_view key) {
  const YamlNode* node = Find(key);
  return node == nullptr ? std::nullopt : ReadText(*node, PathOf(key));
}

std::optional<std::string> Section::Path(std::string_view key) {
  std::optional<std::string> path = Text(key);
  if (!path) return std::nullopt;
  const char* wrong = WrongInPath(*path);
  if (wrong == nullptr) return path;
  Fail(key, fmt::format("'{}' is {}", *path, wrong));
  return std::nullopt;
}

// All elements, or nullopt when the value is no list or one of them is wrong.
template <typename T, typename Read>
std::optional<std::vector<T>> Section::ReadList(std::string_view key, Read read) {
  const YamlNode* node = Find(key);
  if (node == nullptr) return std::nullopt;
  if (node->kind != YamlNode::Kind::kList) {
    FailAt(*node, PathOf(key), fmt::format("must be a list like [a, b], not {}", Shown(*node)));
    return std::nullopt;
  }
  std::vector<T> values;
  for (size_t i = 0; i < node->items.size(); ++i) {
    std::optional<T> value = read(node->items[i], fmt::format("{}[{}]", PathOf(key), i));
    if (value) values.push_back(*std::move(value));
  }
  if (values.size() != node->items.size()) return std::nullopt;
  return values;
}

std::optional<std::vector<int64_t>> Section::Ints(std::string_view key, IntRange range) {
  return ReadList<int64_t>(key, [&](const YamlNode& node, const std::string& path) {
    return ReadInt(node, path, range);
  });
}

std::optional<std::vector<double>> Section::Reals(std::string_view key, RealRange range) {
  return ReadList<double>(key, [&](const YamlNode& node, const std::string& path) {
    return ReadReal(node, path, range);
  });
}

std::optional<std::vector<std::string>> Section::Texts(std::string_view key) {
  return ReadList<std::string>(
      key, [&](const YamlNode& node, const std::string& path) { return ReadText(node, path); });
}

std::optional<std::vector<std::pair<int64_t, int64_t>>> Section::Pairs(std::string_view key,
                                                                       IntRange first,
                                                                       IntRange second) {
  using IntPair = std::pair<int64_t, int64_t>;
  return ReadList<IntPair>(
      key, [&](const YamlNode& node, const std::string& path) -> std::optional<IntPair> {
        if (node.kind != YamlNode::Kind::kList || node.items.size() != 2) {
          FailAt(node, path, fmt::format("must be a pair [a, b], not {}", Shown(node)));
          return std::nullopt;
        }
        const std::optional<int64_t> a = ReadInt(node.items[0], path + "[0]", first);
        const std::optional<int64_t> b = ReadInt(node.items[1], path + "[1]", second);
        if (!a || !b) return std::nullopt;
        return IntPair{*a, *b};
      });
}

std::optional<size_t> Section::WordIndex(std::string_view key,
                                         const std::vector<std::string>& allowed) {
  const YamlNode* node = Find(key);
  if (node == nullptr) return std::nullopt;
  const bool scalar = node->kind == YamlNode::Kind::kScalar;
  if (scalar) {
    const auto found = std::find(allowed.begin(), allowed.end(), node->text);
    if (found != allowed.end()) return found - allowed.begin();
  }
  std::string message = fmt::format(
      "must be {}, not {}",
      allowed.size() == 1 ? allowed[0] : "one of " + absl::StrJoin(allowed, ", "), Shown(*node));
  const std::string near = scalar ? NearestWord(node->text, allowed) : "";
  if (!near.empty()) message += fmt::format("; did you mean '{}'?", near);
  FailAt(*node, PathOf(key), std::move(message));
  return std::nullopt;
}

const YamlNode* Section::Map(std::string_view key) { return Find(key); }

void Section::Require(std::string_view key, std::string_view what_to_write) {
  if (node_ == nullptr || Has(key)) return;
  Fail(key, fmt::format("missing: write {}", what_to_write));
}

void Section::Fail(std::string_view key, std::string message) {
  const YamlEntry* entry = Entry(key);
  const Position position = entry != nullptr   ? entry->position
                            : node_ != nullptr ? node_->position
                                               : Position{};
  log_->errors.push_back({position, PathOf(key), std::move(message)});
}

void Section::Warn(std::string_view key, std::string message) {
  const YamlEntry* entry = Entry(key);
  log_->warnings.push_back(
      {entry == nullptr ? Position{} : entry->position, PathOf(key), std::move(message)});
}

void Section::Finish() {
  if (node_ == nullptr) return;
  for (const YamlEntry& entry : node_->entries) {
    if (std::find(known_.begin(), known_.end(), entry.key) != known_.end()) continue;
    const std::string near = NearestWord(entry.key, known_);
    log_->errors.push_back(
        {entry.position, PathOf(Brief(entry.key)),
         fmt::format("unknown key;{} allowed here: {}",
                     near.empty() ? "" : fmt::format(" did you mean '{}'?", near),
                     absl::StrJoin(known_, ", "))});
  }
}

}  // namespace rondo
