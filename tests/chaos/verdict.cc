#include "tests/chaos/verdict.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "proto/rondo/v1/journal.pb.h"
#include "tests/chaos/journal_file.h"
#include "tests/chaos/samples.h"

namespace rondo::chaos {
namespace {

// A committed round that nothing has undone.
struct Committed {
  v1::CommitRecord commit;
  v1::LedgerState ledger;
  std::vector<v1::OrderRecord> orders;  // Of the round.
};

class Judge {
 public:
  Judge(const Overheard& overheard, uint64_t steps) : overheard_(overheard), steps_(steps) {}

  void Read(const JournalEntry& entry) {
    if (entry.table == "terms") Take(Parse<v1::TermRecord>(entry));
    if (entry.table == "reference") train_ = Parse<v1::ReferenceRecord>(entry).facts();
    if (entry.table == "groups") Take(Parse<v1::GroupRecord>(entry));
    if (entry.table == "orders") Take(Parse<v1::OrderRecord>(entry));
    if (entry.table == "commits") Take(Parse<v1::CommitRecord>(entry));
    if (entry.table == "ledger") Take(Parse<v1::LedgerState>(entry));
    if (entry.table == "voids") orders_.erase(Parse<v1::VoidRecord>(entry).round());
    if (entry.table == "rewinds") Take(Parse<v1::RewindRecord>(entry));
    if (entry.table == "end") end_ = Parse<v1::EndRecord>(entry);
  }

  std::vector<std::string> Decide() {
    Check(end_.state() == v1::END_STATE_DONE, "the job has not ended well: {}", end_.reason());
    const uint64_t step = Step();
    Check(step == steps_, "the last commit is at step {} of {}", step, steps_);
    JudgeWords();
    if (!history_.empty()) JudgeSamples();
    return problems_;
  }

 private:
  template <typename... Args>
  void Check(bool good, fmt::format_string<Args...> text, Args&&... args) {
    if (!good) problems_.push_back(fmt::format(text, std::forward<Args>(args)...));
  }

  template <typename Record>
  Record Parse(const JournalEntry& entry) {
    Record record;
    Check(record.ParseFromString(entry.record), "record {} cannot be read", entry.seq);
    return record;
  }

  uint64_t Step() const {
    if (history_.empty()) return 0;
    const v1::CommitRecord& last = history_.back().commit;
    return last.first_step() + last.length();
  }

  void Take(const v1::TermRecord& record) {
    Check(record.term() > term_, "term {} comes after {}", record.term(), term_);
    term_ = record.term();
  }

  void Take(const v1::GroupRecord& record) {
    Check(record.group() > group_, "group {} comes after {}", record.group(), group_);
    group_ = record.group();
    groups_[group_] = record;
  }

  void Take(const v1::OrderRecord& record) {
    Check(record.round() >= round_, "an order of round {} comes after one of {}", record.round(),
          round_);
    Check(record.first_step() >= Step(), "round {} is to begin at step {}, before {}",
          record.round(), record.first_step(), Step());
    round_ = record.round();
    orders_[round_].push_back(record);
  }

  void Take(const v1::CommitRecord& record) {
    Check(record.first_step() == Step(), "round {} begins at step {}, the one before ends at {}",
          record.round(), record.first_step(), Step());
    Check(record.round() == round_ && orders_.contains(record.round()),
          "round {} is committed, {} is open", record.round(), round_);
    Committed committed{.commit = record, .ledger = {}, .orders = orders_[record.round()]};
    orders_.erase(record.round());
    history_.push_back(std::move(committed));
    hashes_[{record.round(), record.group(), record.attempt()}] = record.state_hash();
  }

  void Take(const v1::LedgerState& record) {
    if (!history_.empty()) history_.back().ledger = record;
  }

  void Take(const v1::RewindRecord& record) {
    while (!history_.empty() && history_.back().commit.round() > record.to_round()) {
      history_.pop_back();
    }
    orders_.clear();
    Check(Step() == record.to_step(), "a rewind to step {} leads to step {}", record.to_step(),
          Step());
  }

  // What was said is what was written.
  void JudgeWords() {
    for (const auto& [key, said] : overheard_.committed()) {
      const auto written = hashes_.find(key);
      Check(written != hashes_.end(), "Commit of round {}, group {} was sent but not journaled",
            key.round, key.group);
      if (written == hashes_.end()) continue;
      Check(said == std::set<uint64_t>{written->second},
            "Commit of round {} named another state than the journal", key.round);
    }
    for (const auto& [key, hash] : hashes_) {
      const auto said = overheard_.reported().find(key);
      Check(said != overheard_.reported().end() && said->second == std::set<uint64_t>{hash},
            "the members' states of round {}, group {} are not all the committed one", key.round,
            key.group);
    }
  }

  // The samples in a commit. In parallel mode a round may have several orders, each from the step
  // where the last one broke off, and all members' steps count; in local mode the contributors'.
  std::vector<Sample> SamplesOf(const Committed& committed) {
    std::vector<Sample> samples;
    const v1::CommitRecord& commit = committed.commit;
    uint64_t until = commit.first_step() + commit.length();
    for (auto order = committed.orders.rbegin(); order != committed.orders.rend(); ++order) {
      const v1::GroupRecord& group = groups_[order->group()];
      for (int rank = 0; rank < order->runs_size(); ++rank) {
        const std::string& name = group.members(rank).name();
        const auto& in = commit.contributors();
        const bool counts =
            commit.mode() == v1::MODE_PARALLEL || std::find(in.begin(), in.end(), name) != in.end();
        const uint64_t steps = until > order->first_step() ? until - order->first_step() : 0;
        if (counts) AddSamples(order->runs(rank).runs(), 0, steps, &samples);
      }
      until = std::min(until, order->first_step());
    }
    return samples;
  }

  void JudgeSamples() {
    std::set<Sample> used;
    for (const Committed& committed : history_) {
      const std::vector<Sample> samples = SamplesOf(committed);
      Check(samples.size() == committed.commit.samples(), "round {} says {} samples, its order {}",
            committed.commit.round(), committed.commit.samples(), samples.size());
      for (const Sample& sample : samples) {
        Check(used.insert(sample).second, "round {} uses position {} of epoch {} again",
              committed.commit.round(), sample.second, sample.first);
      }
    }
    const v1::LedgerState& last = history_.back().ledger;
    Check(last.samples_used() == used.size(), "the ledger says {} samples were used, it were {}",
          last.samples_used(), used.size());
    const uint64_t epochs = last.epoch() + (last.position() > 0 ? 1 : 0);
    const uint64_t all = epochs * train_.train_samples();
    Check(last.samples_used() + last.samples_dropped() + end_.samples_unused() == all,
          "{} used, {} dropped and {} unused samples are not the {} of {} epochs",
          last.samples_used(), last.samples_dropped(), end_.samples_unused(), all, epochs);
  }

  const Overheard& overheard_;
  const uint64_t steps_;
  std::vector<std::string> problems_;
  v1::Prepared train_;
  v1::EndRecord end_;
  uint64_t term_ = 0;
  uint64_t group_ = 0;
  uint64_t round_ = 0;
  std::map<uint64_t, v1::GroupRecord> groups_;
  std::map<uint64_t, std::vector<v1::OrderRecord>> orders_;  // Of rounds that are not committed.
  std::vector<Committed> history_;
  std::map<AttemptKey, uint64_t> hashes_;  // Of every commit, an undone one too.
};

}  // namespace

std::vector<std::string> JudgeJournal(const std::string& path, const Overheard& overheard,
                                      uint64_t steps) {
  std::string problem;
  const std::vector<JournalEntry> entries = ReadJournalFile(path, &problem);
  if (!problem.empty()) return {problem};
  Judge judge(overheard, steps);
  for (const JournalEntry& entry : entries) judge.Read(entry);
  return judge.Decide();
}

}  // namespace rondo::chaos
