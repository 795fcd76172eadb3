// What a sparse reduction takes and leaves, as the simulation sees it: each member's work has one
// piece for each element of a small vector. A reduction takes some elements of some members; the
// pieces that it takes are delivered, the others stay in their member's residual. Pieces are told
// apart, so that one that is delivered twice, or is lost, is found.
#ifndef RONDO_TESTS_SIMULATION_PIECES_H_
#define RONDO_TESTS_SIMULATION_PIECES_H_

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "common/mix64.h"

namespace rondo::simulation {

// (work, element)
using Piece = std::pair<uint64_t, uint32_t>;
using Pieces = std::set<Piece>;

inline constexpr uint32_t kElements = 6;

inline Pieces PiecesOf(uint64_t work) {
  Pieces pieces;
  for (uint32_t element = 0; element < kElements; ++element) pieces.insert({work, element});
  return pieces;
}

enum class Taking {
  kAll,   // The ring.
  kOwn,   // What each member selects.
  kBest,  // Of that, what the group selects.
};

// Whether a member's element is taken; `salt` is the same for the whole reduction.
inline bool Takes(Taking taking, uint64_t salt, uint64_t work, uint32_t element) {
  if (taking == Taking::kAll) return true;
  const bool own = Mix64(Mix64(work) + element) % 2 == 0;
  return own && (taking == Taking::kOwn || Mix64(Mix64(salt) + element) % 3 != 0);
}

// What a member that brought `work` and `residual` has delivered.
inline Pieces DeliveredBy(Taking taking, uint64_t salt, uint64_t work, const Pieces& residual) {
  Pieces delivered;
  for (uint32_t element = 0; element < kElements; ++element) {
    if (!Takes(taking, salt, work, element)) continue;
    delivered.insert({work, element});
    for (const Piece& piece : residual) {
      if (piece.second == element) delivered.insert(piece);
    }
  }
  return delivered;
}

// What is left of `residual` and `work` (0: none) after a reduction.
inline Pieces LeftOf(Pieces residual, uint64_t work, const Pieces& delivered) {
  if (work != 0) residual.merge(PiecesOf(work));
  for (const Piece& piece : delivered) residual.erase(piece);
  return residual;
}

}  // namespace rondo::simulation

#endif  // RONDO_TESTS_SIMULATION_PIECES_H_
