// Reads one map of a job file key by key. Every key that is asked for counts as known; what is left
// over is reported with the nearest known one. All errors are collected, none stops the reading.
#ifndef RONDO_COMMON_JOB_SECTION_H_
#define RONDO_COMMON_JOB_SECTION_H_

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/job/diagnostic.h"
#include "common/job/yaml_tree.h"

namespace rondo {

// What the reading of a whole file has found so far.
struct ReadLog {
  std::vector<Diagnostic> errors;
  std::vector<Diagnostic> warnings;
  // Where each key of the file stands, by its whole path.
  std::map<std::string, Position> positions;
  // Every key that was asked for, in that order.
  std::vector<std::string> known_keys;
};

struct IntRange {
  int64_t min = 0;
  int64_t max = 0;
};

// A set of doubles around 0 that is described by its smallest member.
struct RealRange {
  double min = 0;
  bool above_min = false;  // Greater than min, not equal.
  double max = 1e300;
  bool below_max = false;
};

// Readers give nullopt when the key is absent or null, and also, with an error in the log, when its
// value is not of the type or out of range.
// Ownership: borrows the node and the log, which must outlive it.
class Section {
 public:
  // `node` may be null (the section is absent): then every key is. A node that is no map is an
  // error.
  Section(const YamlNode* node, std::string path, ReadLog* log);
  Section(const Section&) = delete;
  Section& operator=(const Section&) = delete;

  bool Has(std::string_view key) const;

  std::optional<int64_t> Int(std::string_view key, IntRange range);
  std::optional<uint64_t> Unsigned64(std::string_view key);
  std::optional<double> Real(std::string_view key, RealRange range);
  std::optional<bool> Bool(std::string_view key);
  std::optional<std::string> Text(std::string_view key);
  // A file below the folder of --files: relative, without "..".
  std::optional<std::string> Path(std::string_view key);
  std::optional<std::vector<int64_t>> Ints(std::string_view key, IntRange range);
  std::optional<std::vector<double>> Reals(std::string_view key, RealRange range);
  std::optional<std::vector<std::string>> Texts(std::string_view key);
  // A list of pairs [[a, b], ...].
  std::optional<std::vector<std::pair<int64_t, int64_t>>> Pairs(std::string_view key,
                                                                IntRange first, IntRange second);

  // One of the given words.
  template <typename E>
  std::optional<E> Word(std::string_view key,
                        std::initializer_list<std::pair<std::string_view, E>> words) {
    std::vector<std::string> allowed;
    for (const auto& [word, value] : words) allowed.emplace_back(word);
    const std::optional<size_t> chosen = WordIndex(key, allowed);
    if (!chosen) return std::nullopt;
    return (words.begin() + *chosen)->second;
  }

  // The map under `key`; null when absent.
  const YamlNode* Map(std::string_view key);

  // An error when `key` is absent from a section that is there.
  void Require(std::string_view key, std::string_view what_to_write);
  // An error at `key`, or at the section if it is absent.
  void Fail(std::string_view key, std::string message);
  void Warn(std::string_view key, std::string message);

  // Reports every key that nobody asked for. Call last.
  void Finish();

 private:
  const YamlNode* Find(std::string_view key);
  const YamlEntry* Entry(std::string_view key) const;
  std::string PathOf(std::string_view key) const;
  std::optional<size_t> WordIndex(std::string_view key, const std::vector<std::string>& allowed);
  void FailAt(const YamlNode& node, std::string path, std::string message);
  std::optional<int64_t> ReadInt(const YamlNode& node, const std::string& path, IntRange range);
  std::optional<double> ReadReal(const YamlNode& node, const std::string& path, RealRange range);
  std::optional<std::string> ReadText(const YamlNode& node, const std::string& path);
  template <typename T, typename Read>
  std::optional<std::vector<T>> ReadList(std::string_view key, Read read);

  const YamlNode* node_;
  std::string path_;
  ReadLog* log_;
  std::vector<std::string> known_;
};

}  // namespace rondo

#endif  // RONDO_COMMON_JOB_SECTION_H_
