// Who has to wait before it is let in again: names under which processes keep dying (S18), and
// workers that were told to leave because they kept being not finite (rule 15 of proto/RULES.md).
// Pure bookkeeping by name.
#ifndef RONDO_SERVER_CORE_DISCIPLINE_H_
#define RONDO_SERVER_CORE_DISCIPLINE_H_

#include <cstdint>
#include <map>
#include <string>

#include "absl/time/time.h"

namespace rondo::server {

struct DisciplinePolicy {
  uint64_t losses_free = 2;  // So many losses cost nothing: the next process comes in at once.
  // After the next loss; it doubles with each further one. Zero: nobody ever waits.
  absl::Duration cool_down = absl::Seconds(10);
  absl::Duration cool_down_max = absl::Seconds(300);
  // So long without a loss, one of them is forgotten.
  absl::Duration forgive = absl::Seconds(600);
};

class Discipline {
 public:
  explicit Discipline(const DisciplinePolicy& policy) : policy_(policy) {}

  // The process under this name was lost. Until when no new one comes in; `now` if it may at once.
  absl::Time NoteLoss(const std::string& name, absl::Time now);
  // It was told to leave: no new process under its name for the longest cool-down.
  absl::Time NoteExclusion(const std::string& name, absl::Time now);
  // InfinitePast: a process of that name may come in.
  absl::Time BarredUntil(const std::string& name, absl::Time now) const;
  // Losses that are not forgiven.
  uint64_t Losses(const std::string& name, absl::Time now) const;

 private:
  struct Entry {
    uint64_t losses = 0;
    absl::Time lost_at = absl::InfinitePast();  // The last one.
    absl::Time barred_until = absl::InfinitePast();
  };

  uint64_t Unforgiven(const Entry& entry, absl::Time now) const;
  // Drops the entries that say nothing any more: names come and go (S66).
  void Forget(absl::Time now);

  DisciplinePolicy policy_;
  std::map<std::string, Entry> entries_;
};

}  // namespace rondo::server

#endif  // RONDO_SERVER_CORE_DISCIPLINE_H_
