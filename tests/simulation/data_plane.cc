#include "tests/simulation/data_plane.h"

#include <utility>

namespace rondo::simulation {

void DataPlane::FailLater(const std::shared_ptr<Party>& party, const std::string& why) {
  world_->After(world_->Between(absl::Milliseconds(1), absl::Milliseconds(200)), [party, why]() {
    if (std::exchange(party->over, true)) return;
    party->failed(why);
  });
}

void DataPlane::Join(const std::string& key, Offer offer, Done done, Failed failed) {
  Place& place = places_[key];
  auto party = std::make_shared<Party>(Party{std::move(done), std::move(failed)});
  if (place.broken) return FailLater(party, "a peer has left");
  for (const auto& [rank, other] : place.meeting.offers) {
    if (other.token != offer.token || other.size != offer.size) {
      world_->Violate("members of " + key + " disagree on token or size");
    }
  }
  const absl::Duration limit = offer.limit;
  const uint32_t rank = offer.rank;
  if (place.meeting.offers.contains(rank)) world_->Violate("rank met twice in " + key);
  place.meeting.offers[rank] = std::move(offer);
  place.parties[rank] = party;
  if (place.meeting.offers.size() < place.meeting.offers[rank].size) {
    world_->After(limit, [this, key, party]() {
      Place& late = places_[key];
      if (party->over || late.complete) return;
      late.broken = true;
      party->over = true;
      party->failed("time limit");
    });
    return;
  }
  place.complete = true;
  const auto meeting = std::make_shared<Meeting>(place.meeting);
  for (auto& [r, each] : place.parties) {
    world_->After(world_->Between(absl::Milliseconds(2), absl::Milliseconds(60)),
                  [each = each, meeting]() {
                    if (std::exchange(each->over, true)) return;
                    each->done(*meeting);
                  });
  }
}

void DataPlane::Leave(const std::string& worker, uint64_t group) {
  for (auto& [key, place] : places_) {
    for (auto& [rank, offer] : place.meeting.offers) {
      if (offer.worker != worker || (group != 0 && offer.group != group)) continue;
      if (place.parties[rank]->over) continue;
      place.broken = true;
      for (auto& [r, party] : place.parties) {
        if (party->over) continue;
        const bool late = place.complete && r != rank && world_->Chance(0.5);
        if (!late) FailLater(party, "a peer has left");
      }
    }
  }
}

}  // namespace rondo::simulation
