#include "tests/simulation/data_plane.h"

#include <algorithm>
#include <utility>

namespace rondo::simulation {

void DataPlane::FailLater(const std::shared_ptr<Party>& party, const std::string& why) {
  world_->After(world_->Between(absl::Milliseconds(1), absl::Milliseconds(200)), [party, why]() {
    if (std::exchange(party->over, true)) return;
    party->failed(why);
  });
}

void DataPlane::Join(const std::string& key, Offer offer, Done done, Failed failed) {
  // An old copy of the journal gives a group's number again, to others: they do not meet.
  PlacePtr& place = places_[{key, offer.token}];
  if (place == nullptr) place = std::make_shared<Place>();
  auto party =
      std::make_shared<Party>(Party{offer.worker, offer.group, std::move(done), std::move(failed)});
  if (place->broken) return FailLater(party, "a peer has left");
  for (const auto& [rank, other] : place->meeting.offers) {
    if (other.size != offer.size) world_->Violate("members of " + key + " disagree on its size");
  }
  const uint32_t size = offer.size;
  const absl::Duration limit = offer.limit;
  if (place->meeting.offers.contains(offer.rank)) world_->Violate("rank met twice in " + key);
  joined_[offer.worker].push_back(place);
  place->meeting.offers[offer.rank] = std::move(offer);
  place->parties.push_back(party);
  world_->After(limit, [place, party]() {
    if (std::exchange(party->over, true)) return;
    place->broken = true;
    party->failed("time limit");
  });
  if (place->meeting.offers.size() == size) Complete(place);
}

void DataPlane::Complete(const PlacePtr& place) {
  place->complete = true;
  for (const std::shared_ptr<Party>& party : place->parties) {
    if (place->parties.size() > 1 && world_->Strikes(half_done_)) {
      FailLater(party, "the connection broke at the end");
      continue;
    }
    world_->After(world_->Between(absl::Milliseconds(2), absl::Milliseconds(60)), [party, place]() {
      if (party->stuck || std::exchange(party->over, true)) return;
      party->done(place->meeting);
    });
  }
}

void DataPlane::Leave(const std::string& worker, uint64_t group) {
  const auto joined = joined_.find(worker);
  if (joined == joined_.end()) return;
  std::vector<PlacePtr> left;
  for (PlacePtr& place : joined->second) {
    const auto me = std::find_if(place->parties.begin(), place->parties.end(),
                                 [&](const auto& party) { return party->worker == worker; });
    if ((*me)->over) continue;
    if (group != 0 && (*me)->group != group) {
      left.push_back(std::move(place));
      continue;
    }
    place->broken = true;
    for (const std::shared_ptr<Party>& party : place->parties) {
      if (party->over) continue;
      const bool has_it = place->complete && party != *me && !party->stuck && world_->Chance(0.5);
      if (!has_it) FailLater(party, "a peer has left");
    }
  }
  joined->second = std::move(left);
}

void DataPlane::Freeze(const std::string& worker) {
  const auto joined = joined_.find(worker);
  if (joined == joined_.end()) return;
  for (const PlacePtr& place : joined->second) {
    if (!place->complete) continue;
    const auto me = std::find_if(place->parties.begin(), place->parties.end(),
                                 [&](const auto& party) { return party->worker == worker; });
    if ((*me)->over) continue;
    for (const std::shared_ptr<Party>& party : place->parties) {
      if (party->worker != worker && world_->Chance(0.5)) party->stuck = true;
    }
  }
}

}  // namespace rondo::simulation
