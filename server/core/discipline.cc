#include "server/core/discipline.h"

#include <algorithm>

namespace rondo::server {
namespace {

// Doubled so often, any cool-down has reached its maximum.
constexpr uint64_t kDoublingsMax = 30;

}  // namespace

uint64_t Discipline::Unforgiven(const Entry& entry, absl::Time now) const {
  if (entry.losses == 0 || now <= entry.lost_at) return entry.losses;
  const auto forgiven = static_cast<uint64_t>((now - entry.lost_at) / policy_.forgive);
  return entry.losses - std::min(entry.losses, forgiven);
}

void Discipline::Forget(absl::Time now) {
  for (auto it = entries_.begin(); it != entries_.end();) {
    const Entry& entry = it->second;
    const bool idle = Unforgiven(entry, now) == 0 && entry.barred_until <= now;
    it = idle ? entries_.erase(it) : std::next(it);
  }
}

absl::Time Discipline::NoteLoss(const std::string& name, absl::Time now) {
  Forget(now);
  Entry& entry = entries_[name];
  entry.losses = Unforgiven(entry, now) + 1;
  entry.lost_at = now;
  if (entry.losses <= policy_.losses_free) return now;
  const uint64_t doublings = std::min(entry.losses - policy_.losses_free - 1, kDoublingsMax);
  const absl::Duration wait =
      std::min(policy_.cool_down_max, policy_.cool_down * static_cast<double>(1ULL << doublings));
  entry.barred_until = std::max(entry.barred_until, now + wait);
  return entry.barred_until;
}

absl::Time Discipline::NoteExclusion(const std::string& name, absl::Time now) {
  Forget(now);
  Entry& entry = entries_[name];
  if (policy_.cool_down > absl::ZeroDuration()) {
    entry.barred_until = std::max(entry.barred_until, now + policy_.cool_down_max);
  }
  return std::max(entry.barred_until, now);
}

absl::Time Discipline::BarredUntil(const std::string& name, absl::Time now) const {
  const auto it = entries_.find(name);
  if (it == entries_.end() || it->second.barred_until <= now) return absl::InfinitePast();
  return it->second.barred_until;
}

uint64_t Discipline::Losses(const std::string& name, absl::Time now) const {
  const auto it = entries_.find(name);
  return it == entries_.end() ? 0 : Unforgiven(it->second, now);
}

}  // namespace rondo::server
