// "Did you mean ...": the word of a list that is nearest to a mistyped one.
#ifndef RONDO_COMMON_NEAREST_H_
#define RONDO_COMMON_NEAREST_H_

#include <span>
#include <string>
#include <string_view>

namespace rondo {

// The edits (insert, delete, replace, swap of neighbours) that make `a` from `b`: optimal string
// alignment. Cost: |a| |b|.
int EditDistance(std::string_view a, std::string_view b);

// The word with the fewest edits, the first of several. Empty when none is near: more than a third
// of the longer one's characters would change (one edit is always near), or `word` is longer
// than 64.
std::string NearestWord(std::string_view word, std::span<const std::string> words);

}  // namespace rondo

#endif  // RONDO_COMMON_NEAREST_H_
