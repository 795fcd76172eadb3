// A YAML document as a tree with positions. The plain part of YAML only: one document, maps with
// scalar keys, lists, scalars; no anchors, aliases or tags, so that a small file stays small.
#ifndef RONDO_COMMON_JOB_YAML_TREE_H_
#define RONDO_COMMON_JOB_YAML_TREE_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/job/diagnostic.h"

namespace rondo {

struct YamlEntry;

struct YamlNode {
  enum class Kind { kNull, kScalar, kList, kMap };

  Kind kind = Kind::kNull;
  Position position;
  std::string text;                // kScalar.
  bool quoted = false;             // kScalar.
  std::vector<YamlNode> items;     // kList.
  std::vector<YamlEntry> entries;  // kMap, in the order of the file; keys are unique.
};

struct YamlEntry {
  std::string key;
  Position position;  // Of the key.
  YamlNode value;
};

inline constexpr size_t kYamlBytesMax = size_t{1} << 20;
inline constexpr int kYamlDepthMax = 16;
inline constexpr size_t kYamlEntriesMax = 1000;

// nullopt, and at least one diagnostic, when the text is too long, not UTF-8, not YAML, nested too
// deeply or too wide. What is refused inside a readable document (anchors, aliases, tags, duplicate
// keys) is reported and left out. Never throws.
std::optional<YamlNode> ReadYaml(std::string_view text, std::vector<Diagnostic>* errors);

}  // namespace rondo

#endif  // RONDO_COMMON_JOB_YAML_TREE_H_
