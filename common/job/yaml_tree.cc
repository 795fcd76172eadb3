#include "common/job/yaml_tree.h"

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <exception>
#include <sstream>
#include <utility>

namespace rondo {
namespace {

Position PositionOf(const YAML::Mark& mark) {
  return mark.is_null() ? Position{} : Position{mark.line + 1, mark.column + 1};
}

YamlNode MakeNode(YamlNode::Kind kind, const YAML::Mark& mark) {
  YamlNode node;
  node.kind = kind;
  node.position = PositionOf(mark);
  return node;
}

// Builds the tree bottom-up: open maps and lists are on a stack, and move into their parent when
// they end.
class TreeBuilder final : public YAML::EventHandler {
 public:
  explicit TreeBuilder(std::vector<Diagnostic>* errors) : errors_(errors) {}

  YamlNode TakeRoot() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    RefuseAnchor(mark, anchor);
    Add(MakeNode(YamlNode::Kind::kNull, mark));
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    Refuse(mark, "aliases (*name) are not allowed: write the value out");
    Add(MakeNode(YamlNode::Kind::kNull, mark));
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    RefuseAnchor(mark, anchor);
    RefuseTag(mark, tag);
    // yaml-cpp's tag of a plain scalar is "?", of a quoted one "!".
    YamlNode node = MakeNode(YamlNode::Kind::kScalar, mark);
    node.text = value;
    node.quoted = tag == "!";
    Add(std::move(node));
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    Open(mark, tag, anchor, YamlNode::Kind::kList);
  }
  void OnSequenceEnd() override { Close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    Open(mark, tag, anchor, YamlNode::Kind::kMap);
  }
  void OnMapEnd() override { Close(); }

 private:
  struct Frame {
    YamlNode node;
    bool has_key = false;
    YamlEntry entry;  // The key whose value comes next, when has_key.
  };

  void Refuse(const YAML::Mark& mark, std::string message) {
    errors_->push_back({PositionOf(mark), "", std::move(message)});
  }
  void RefuseAnchor(const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (anchor != 0) Refuse(mark, "anchors (&name) are not allowed: write the value out");
  }
  void RefuseTag(const YAML::Mark& mark, const std::string& tag) {
    if (tag.empty() || tag == "?" || tag == "!") return;
    Refuse(mark, fmt::format("the tag '{}' is not allowed: write the plain value", tag));
  }

  void Open(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
            YamlNode::Kind kind) {
    RefuseAnchor(mark, anchor);
    RefuseTag(mark, tag);
    if (stack_.size() >= kYamlDepthMax) {
      throw YAML::ParserException(
          mark, fmt::format("nested more than {} deep, which no job needs", kYamlDepthMax));
    }
    stack_.emplace_back().node = MakeNode(kind, mark);
  }

  void Close() {
    YamlNode node = std::move(stack_.back().node);
    stack_.pop_back();
    Add(std::move(node));
  }

  void Add(YamlNode node) {
    if (stack_.empty()) {
      root_ = std::move(node);
      return;
    }
    Frame& top = stack_.back();
    if (top.node.kind == YamlNode::Kind::kList) {
      top.node.items.push_back(std::move(node));
    } else if (top.has_key) {
      top.entry.value = std::move(node);
      top.has_key = false;
      AddEntry(&top.node, std::move(top.entry));
    } else {
      if (node.kind != YamlNode::Kind::kScalar) {
        errors_->push_back({node.position, "", "a key must be a word"});
      }
      top.entry.key = std::move(node.text);
      top.entry.position = node.position;
      top.has_key = true;
    }
  }

  void AddEntry(YamlNode* map, YamlEntry entry) {
    const auto same = std::find_if(map->entries.begin(), map->entries.end(),
                                   [&](const YamlEntry& other) { return other.key == entry.key; });
    if (same == map->entries.end()) {
      if (map->entries.size() >= kYamlEntriesMax) {
        throw YAML::ParserException(
            YAML::Mark(),
            fmt::format("more than {} keys in one map, which no job needs", kYamlEntriesMax));
      }
      map->entries.push_back(std::move(entry));
      return;
    }
    std::string path;
    for (const Frame& frame : stack_) {
      if (frame.has_key) path += frame.entry.key + ".";
    }
    errors_->push_back(
        {entry.position, path + entry.key,
         fmt::format("given twice, first in line {}: keep one of the two", same->position.line)});
  }

  std::vector<Diagnostic>* errors_;
  std::vector<Frame> stack_;
  YamlNode root_;
};

// The length of the well-formed UTF-8 sequence at the start of `text`; 0 when there is none.
// Source: table 3-7 of the Unicode standard.
size_t Utf8Length(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  const unsigned char low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : 0x80;
  const unsigned char high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : 0xBF;
  if (byte(1) < low || byte(1) > high) return 0;
  for (size_t i = 2; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  return length;
}

// Finds the first place that is not printable UTF-8; yaml-cpp would replace it silently.
std::optional<Diagnostic> CheckText(std::string_view text) {
  Position position = {1, 1};
  for (size_t i = 0; i < text.size();) {
    const size_t length = Utf8Length(text.substr(i));
    if (length == 0) return Diagnostic{position, "", "not UTF-8: save the file as UTF-8"};
    const auto c = static_cast<unsigned char>(text[i]);
    const bool blank = c == '\n' || c == '\r' || c == '\t';
    if ((c < 0x20 && !blank) || c == 0x7F) {
      return Diagnostic{position, "", fmt::format("the control character {:#04x}", c)};
    }
    position =
        c == '\n' ? Position{position.line + 1, 1} : Position{position.line, position.column + 1};
    i += length;
  }
  return std::nullopt;
}

}  // namespace

std::optional<YamlNode> ReadYaml(std::string_view text, std::vector<Diagnostic>* errors) {
  if (text.size() > kYamlBytesMax) {
    errors->push_back({{},
                       "",
                       fmt::format("{} bytes long; the limit is {} (is this a job file?)",
                                   text.size(), kYamlBytesMax)});
    return std::nullopt;
  }
  if (std::optional<Diagnostic> wrong = CheckText(text)) {
    errors->push_back(*std::move(wrong));
    return std::nullopt;
  }
  TreeBuilder builder(errors);
  try {
    std::istringstream in{std::string(text)};
    YAML::Parser parser(in);
    if (!parser.HandleNextDocument(builder)) return YamlNode{};
    YamlNode root = builder.TakeRoot();
    std::vector<Diagnostic> ignored;
    TreeBuilder second(&ignored);
    if (parser.HandleNextDocument(second)) {
      errors->push_back({second.TakeRoot().position, "",
                         "a second YAML document (after ---): a file holds one job"});
    }
    return root;
  } catch (const YAML::Exception& e) {
    errors->push_back({PositionOf(e.mark), "", "not YAML: " + e.msg});
  } catch (const std::exception& e) {
    errors->push_back({{}, "", std::string("not YAML: ") + e.what()});
  }
  return std::nullopt;
}

}  // namespace rondo
