// Whether the checkpoint that the job is to go back to can be used. One that is damaged gives way
// to an older one; while its folder is away (not mounted, say) nothing is known, nothing is undone,
// and the job waits, at most for limits.save.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "server/core/job_machine_impl.h"

namespace rondo::server {
namespace {

constexpr absl::Duration kLookAgain = absl::Seconds(5);

}  // namespace

std::optional<CheckpointCondition> JobMachine::Impl::Inspect(const CommittedState& target,
                                                             bool whole) {
  Inspection& inspection = inspections_[target.step];
  const bool damaged = inspection.condition == CheckpointCondition::kDamaged;
  if (whole && !inspection.whole && !damaged) inspection = Inspection{.whole = true};
  const bool good = inspection.condition == CheckpointCondition::kGood;
  if (damaged || (good && (inspection.whole || now_ < inspection.again))) {
    return inspection.condition;
  }
  if (!inspection.asked && inspection.again <= now_) {
    inspection.asked = true;
    out_.effects.emplace_back(
        LookForCheckpoint{target.step, target.round, target.state_hash, inspection.whole});
  }
  if (!inspection.asked) WakeAt(inspection.again);
  if (!no_checkpoint_since_) no_checkpoint_since_ = now_;
  const bool away = inspection.condition == CheckpointCondition::kAway;
  if (away && stop_reason_) {
    End(EndState::kStopped, *stop_reason_);
  } else {
    WaitForCheckpoint(target, away            ? inspection.text
                              : unread_since_ ? UnreadInWords()
                                              : "it is being looked for");
  }
  return std::nullopt;
}

// Not for ever. True: the job has ended, with nothing undone.
bool JobMachine::Impl::WaitForCheckpoint(const CommittedState& target, const std::string& what) {
  const absl::Time since =
      std::min(no_checkpoint_since_.value_or(now_), unread_since_.value_or(now_));
  const absl::Time until = since + config_.limits.save;
  if (now_ >= until) {
    return Fail(
        fmt::format("the checkpoint of step {} could not be reached for {} "
                    "(limits.save_seconds): {}; nothing was undone: bring it back and "
                    "start again with the same state directory",
                    target.step, absl::FormatDuration(config_.limits.save), what));
  }
  WakeAt(until);
  waits_for_ = fmt::format(
      "waits for the checkpoint of step {}: {}; else the job stops at {} "
      "(limits.save_seconds), with nothing undone",
      target.step, what, absl::FormatTime(until));
  return false;
}

void JobMachine::Impl::On(const CheckpointFound& event) {
  const auto it = inspections_.find(event.step);
  if (it == inspections_.end() || !it->second.asked) return;
  Inspection& inspection = it->second;
  const bool was_away = inspection.condition == CheckpointCondition::kAway;
  inspection.asked = false;
  inspection.condition = event.condition;
  inspection.text = event.text;
  switch (event.condition) {
    case CheckpointCondition::kAway:
      inspection.again = now_ + kLookAgain;
      if (was_away) return;
      return Note("checkpoint_away", fmt::format("step {}: {}", event.step, event.text));
    case CheckpointCondition::kDamaged:
      Note("checkpoint_damaged", fmt::format("step {}: {}", event.step, event.text));
      break;
    case CheckpointCondition::kGood:
      inspection.again = now_ + kLookAgain;  // Only what was just looked at counts.
      break;
  }
  no_checkpoint_since_.reset();
  if (!was_away) return;
  Note("checkpoint_back",
       fmt::format("the checkpoint of step {} can be reached again", event.step));
  partials_.reset();  // They were away, too.
}

// All of it is sound here, and those who are to read it cannot.
bool JobMachine::Impl::ReadAgainLater(const CommittedState& target) {
  if (stop_reason_) return End(EndState::kStopped, *stop_reason_);
  if (!unread_since_) unread_since_ = now_;
  if (read_again_at_ == absl::InfiniteFuture()) read_again_at_ = now_ + kLookAgain;
  if (now_ >= read_again_at_) {
    read_again_at_ = absl::InfiniteFuture();
    unreadable_for_.clear();
    inspections_.erase(target.step);
    return true;
  }
  WakeAt(read_again_at_);
  return WaitForCheckpoint(target, UnreadInWords());
}

std::string JobMachine::Impl::UnreadInWords() const {
  return fmt::format("its files are whole here, but no worker can read them; the last one: {}",
                     unreadable_text_);
}

}  // namespace rondo::server
