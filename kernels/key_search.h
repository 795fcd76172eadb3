// Finds the k-th largest key from histograms, the most significant bits first. Whose keys are
// counted, and how many processes count, is the caller's affair: histograms of parts add up.
#ifndef RONDO_KERNELS_KEY_SEARCH_H_
#define RONDO_KERNELS_KEY_SEARCH_H_

#include <cstdint>
#include <span>

#include "kernels/key_formula.h"

namespace rondo {

// Use: while (!search.done()) { count bins of search.level() and prefix(); search.Narrow(bins); }.
// Pure. Threads: one.
class KeySearch {
 public:
  // Of the `k` >= 1 first in the order "key descending, then index ascending", without zeros.
  explicit KeySearch(int64_t k) : wanted_(k) {}

  bool done() const { return level_ == kKeyLevelCount; }

  // What to count next: keys whose bits above level() are prefix(), by their bin (BinAt).
  KeyLevel level() const { return kKeyLevels[level_]; }
  uint32_t prefix() const { return prefix_; }

  // `bins`: one count for each bin of level(). Keys equal to 0 may be counted or not.
  void Narrow(std::span<const uint64_t> bins);

  // Every key that may be selected is at or above this one. Never 0.
  uint32_t floor() const;
  // Keys at or above floor(), after a Narrow. Exact unless floor() is 1, where it may count zeros.
  uint64_t at_or_above_floor() const { return above_ + in_bin_; }

  // Once done. Fewer than k keys that aren't 0: takes them all.
  KeyCut cut() const;

 private:
  int level_ = 0;
  uint32_t prefix_ = 0;
  int64_t wanted_;       // of the keys under prefix_
  uint64_t above_ = 0;   // keys above all that have prefix_
  uint64_t in_bin_ = 0;  // keys that have prefix_
};

}  // namespace rondo

#endif  // RONDO_KERNELS_KEY_SEARCH_H_
