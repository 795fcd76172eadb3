#include "common/nearest.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace rondo {

int EditDistance(std::string_view a, std::string_view b) {
  // Rows i - 2, i - 1 and i of the table of distances between prefixes.
  std::vector<int> before(b.size() + 1), last(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<int>(j);
  for (size_t i = 1; i <= a.size(); ++i) {
    std::swap(before, last);
    std::swap(last, row);
    row[0] = static_cast<int>(i);
    for (size_t j = 1; j <= b.size(); ++j) {
      const int replace = last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({replace, last[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
  }
  return row[b.size()];
}

std::string NearestWord(std::string_view word, std::span<const std::string> words) {
  constexpr size_t kLongest = 64;
  if (word.size() > kLongest) return "";
  std::string nearest;
  int fewest = static_cast<int>(kLongest);
  for (const std::string& candidate : words) {
    const int edits = EditDistance(word, candidate);
    const auto longer = static_cast<int>(std::max(word.size(), candidate.size()));
    if (edits < fewest && edits <= std::max(1, longer / 3) && edits < longer) {
      fewest = edits;
      nearest = candidate;
    }
  }
  return nearest;
}

}  // namespace rondo
