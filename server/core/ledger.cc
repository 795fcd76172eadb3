#include "server/core/ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include "absl/status/status.h"

namespace rondo::server {
namespace {

// A regular piece of one step's batch.
struct Segment {
  uint64_t epoch = 0;
  uint64_t first = 0;
  uint64_t count = 0;
  uint64_t stride = 1;
};

// What `rank` takes of a segment that begins at index `offset` of the batch.
SampleRun PartOf(const Segment& segment, uint64_t offset, uint64_t rank, uint64_t members) {
  const uint64_t skip = (rank + members - offset % members) % members;
  SampleRun run{.epoch = segment.epoch, .stride = segment.stride * members, .steps = 1};
  if (skip >= segment.count) return run;
  run.first = segment.first + skip * segment.stride;
  run.count = (segment.count - skip + members - 1) / members;
  return run;
}

// One step's runs of one member: those that have samples, or an empty one if none has.
std::vector<SampleRun> StepOf(std::span<const Segment> batch, uint64_t rank, uint64_t members) {
  std::vector<SampleRun> step;
  uint64_t offset = 0;
  for (const Segment& segment : batch) {
    SampleRun run = PartOf(segment, offset, rank, members);
    offset += segment.count;
    if (run.count == 0) continue;
    run.same_steps = !step.empty();
    step.push_back(run);
  }
  if (step.empty()) step.push_back({.epoch = batch.front().epoch, .steps = 1});
  return step;
}

// A member's runs, one block (a run and those with same_steps) after the other.
class RunList {
 public:
  // Adds a step, as part of the last block if it goes on with it.
  void Add(const std::vector<SampleRun>& step) {
    if (Continues(step)) {
      for (size_t i = 0; i < step.size(); ++i) {
        SampleRun& run = runs_[block_ + i];
        if (run.steps == 1) run.advance = step[i].first - run.first;
        ++run.steps;
      }
      return;
    }
    block_ = runs_.size();
    runs_.insert(runs_.end(), step.begin(), step.end());
  }
  // Adds `more` steps that go on from the step just added, which had one run.
  void Repeat(uint64_t more, uint64_t advance) {
    if (more == 0) return;
    SampleRun& run = runs_[block_];
    if (run.steps == 1) run.advance = advance;
    if (run.advance == advance) {
      run.steps += more;
      return;
    }
    SampleRun next = run;
    next.first += (run.steps - 1) * run.advance + advance;
    next.steps = more;
    next.advance = advance;
    block_ = runs_.size();
    runs_.push_back(next);
  }
  std::vector<SampleRun> Take() { return std::move(runs_); }

 private:
  bool Continues(const std::vector<SampleRun>& step) const {
    if (runs_.empty() || runs_.size() - block_ != step.size()) return false;
    for (size_t i = 0; i < step.size(); ++i) {
      const SampleRun& run = runs_[block_ + i];
      if (run.epoch != step[i].epoch || run.count != step[i].count ||
          run.stride != step[i].stride || step[i].first < run.first) {
        return false;
      }
      if (run.steps > 1 && step[i].first != run.first + run.steps * run.advance) return false;
    }
    return true;
  }

  std::vector<SampleRun> runs_;
  size_t block_ = 0;  // Index of the last block's first run.
};

// Takes samples from the returned runs, then from the cursor.
class Dealer {
 public:
  Dealer(const LedgerState& ledger, const ShareRequest& request)
      : request_(request),
        after_(ledger),
        returned_(ledger.returned.begin(), ledger.returned.end()) {}

  // Steps up to the end of the epoch that follow on from `batch` with the cursor's samples alone.
  uint64_t StepsLike(std::span<const Segment> batch) const {
    const Segment& segment = batch.front();
    const bool plain = batch.size() == 1 && segment.stride == 1 && segment.epoch == after_.epoch &&
                       segment.first + segment.count == after_.position;
    if (!plain || !returned_.empty()) return 0;
    return (request_.train_samples - after_.position) / request_.global_batch;
  }

  std::vector<Segment> NextBatch() {
    std::vector<Segment> batch;
    uint64_t need = request_.global_batch;
    while (need > 0 && !returned_.empty()) {
      batch.push_back(TakeReturned(need));
      need -= batch.back().count;
    }
    if (need > 0) batch.push_back(TakeFresh(need));
    return batch;
  }

  void SkipPlain(uint64_t steps) { after_.position += steps * request_.global_batch; }

  uint64_t tail_dropped() const { return tail_dropped_; }
  LedgerState After() {
    after_.returned.assign(returned_.begin(), returned_.end());
    after_.samples_used += request_.steps * request_.global_batch;
    after_.samples_dropped += tail_dropped_;
    return after_;
  }

 private:
  Segment TakeReturned(uint64_t need) {
    SampleRun step = returned_.front();
    if (step.steps == 1) {
      returned_.pop_front();
    } else {
      returned_.front().first += step.advance;
      --returned_.front().steps;
    }
    const Segment segment{step.epoch, step.first, std::min(need, step.count), step.stride};
    if (step.count > segment.count) {
      step.first += segment.count * step.stride;
      step.count -= segment.count;
      step.steps = 1;
      returned_.push_front(step);
    }
    return segment;
  }

  Segment TakeFresh(uint64_t need) {
    const uint64_t left = request_.train_samples - after_.position;
    if (left < need) {
      tail_dropped_ += left;
      ++after_.epoch;
      after_.position = 0;
    }
    const Segment segment{after_.epoch, after_.position, need, 1};
    after_.position += need;
    return segment;
  }

  const ShareRequest request_;
  LedgerState after_;
  std::deque<SampleRun> returned_;
  uint64_t tail_dropped_ = 0;
};

}  // namespace

absl::StatusOr<Share> DecideShare(const LedgerState& ledger, const ShareRequest& request) {
  if (request.global_batch == 0 || request.global_batch > request.train_samples) {
    return absl::FailedPreconditionError(fmt::format(
        "a step takes {} samples over {} members, the training set has {}: batch must be between 1 "
        "and the size of the training set",
        request.global_batch, request.members, request.train_samples));
  }
  Dealer dealer(ledger, request);
  std::vector<RunList> lists(request.members);
  for (uint64_t step = 0; step < request.steps;) {
    const std::vector<Segment> batch = dealer.NextBatch();
    ++step;
    const uint64_t alike = std::min(dealer.StepsLike(batch), request.steps - step);
    for (uint64_t rank = 0; rank < request.members; ++rank) {
      lists[rank].Add(StepOf(batch, rank, request.members));
      lists[rank].Repeat(alike, request.global_batch);
    }
    dealer.SkipPlain(alike);
    step += alike;
  }
  Share share;
  share.tail_dropped = dealer.tail_dropped();
  share.after = dealer.After();
  for (uint64_t rank = 0; rank < request.members; ++rank) {
    share.runs.push_back(lists[rank].Take());
    share.batch.push_back((request.global_batch + request.members - 1 - rank) / request.members);
  }
  return share;
}

uint64_t CountSamples(std::span<const SampleRun> runs) {
  uint64_t samples = 0;
  for (const SampleRun& run : runs) samples += run.count * run.steps;
  return samples;
}

void ReturnSamples(std::span<const SampleRun> runs, LedgerState& ledger) {
  ledger.samples_used -= CountSamples(runs);
  for (SampleRun run : runs) {
    if (run.count == 0 || run.steps == 0) continue;
    run.same_steps = false;
    ledger.returned.push_back(run);
  }
}

void DropSamples(std::span<const SampleRun> runs, LedgerState& ledger) {
  const uint64_t samples = CountSamples(runs);
  ledger.samples_used -= samples;
  ledger.samples_dropped += samples;
}

uint64_t EpochsDone(const LedgerState& ledger, uint64_t train_samples, uint64_t global_batch) {
  const bool over = train_samples - ledger.position < global_batch;
  return ledger.epoch + (over ? 1 : 0);
}

uint64_t UnusedSamples(const LedgerState& ledger, uint64_t train_samples) {
  const uint64_t begun = ledger.position == 0 ? 0 : train_samples - ledger.position;
  return begun + CountSamples(ledger.returned);
}

}  // namespace rondo::server
