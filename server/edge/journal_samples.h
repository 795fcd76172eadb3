// For tests of the journal: records of every kind, and a journal in a folder of its own.
#ifndef RONDO_SERVER_EDGE_JOURNAL_SAMPLES_H_
#define RONDO_SERVER_EDGE_JOURNAL_SAMPLES_H_

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "common/status_matchers.h"
#include "proto/rondo/v1/job.pb.h"
#include "server/core/records.h"
#include "server/edge/journal_sqlite.h"

namespace rondo::server {

inline constexpr uint64_t kBig = std::numeric_limits<uint64_t>::max() - 1;
inline const absl::Time kNow = absl::FromUnixMicros(1'700'000'000'123'456);

inline SampleRun Run(uint64_t first) {
  return {.epoch = 2,
          .first = first,
          .count = 3,
          .stride = 4,
          .steps = 5,
          .advance = 6,
          .same_steps = true};
}

inline GroupRecord Group() {
  GroupRecord record;
  record.group = {3};
  record.purpose = Purpose::kRepair;
  record.members = {{"w0", {kBig}, StateNeed::kHolds}, {"w1", {7}, StateNeed::kMoments}};
  record.at = kNow;
  return record;
}

inline OrderRecord Order1() {
  OrderRecord record;
  record.round = {1};
  record.group = {3};
  record.mode = RoundMode::kParallel;
  record.collective = Collective::kSparse;
  record.first_step = 10;
  record.length = 20;
  record.rate_first = 0.1;
  record.rates_hash = kBig;
  record.runs = {{Run(0), Run(1)}, {}, {Run(2)}};
  record.density = 0.25;
  record.batches = {2, 0, kBig};
  record.tail_dropped = 5;
  record.after = {2, 3, {Run(4)}, 6, 7};
  record.save_due = true;
  record.base_hash = kBig;
  record.so_far = RoundSoFar{7, {2, 1, {Run(5)}, 8, 9}, kBig, {"a", "b"}, 6, 1.5, 2};
  record.at = kNow;
  return record;
}

inline CommitRecord Commit(uint64_t round) {
  CommitRecord record;
  record.round = {round};
  record.group = {3};
  record.attempt = 2;
  record.attempts = 4;
  record.mode = RoundMode::kLocal;
  record.first_step = 10 * round;
  record.length = 10;
  record.rate_first = 1.0 / 3;
  record.state_hash = kBig;
  record.mean_loss = std::numeric_limits<double>::quiet_NaN();
  record.parameter_norm_squared = std::numeric_limits<double>::infinity();
  record.residual_norm_squared = std::numeric_limits<double>::denorm_min();
  record.members = {"w0", "w1"};
  record.contributors = {"w1"};
  record.samples = 640;
  record.bytes_sent = kBig;
  record.step_seconds = 1;
  record.reduce_seconds = 2;
  record.control_seconds = 3;
  record.seconds = 6;
  record.ledger.epoch = 1;
  record.ledger.position = 64;
  record.ledger.returned = {Run(9)};
  record.ledger.samples_used = 12;
  record.ledger.samples_dropped = 13;
  record.at = kNow;
  record.collective = Collective::kTopkGather;
  record.density = 0.125;
  record.costs = {{CostPhase::kSelect, 0, 0, 0, 0.5, 3}, {CostPhase::kGather, kBig, 2, 3, 0.25, 4}};
  record.sparse = SparseStats{kBig, 2, 3, 4, 5, 6, 7, 8, 9};
  record.largest_region = kBig;
  record.residuals = {{"w0", 1.0 / 3}, {"w1", 4}};
  record.reductions = kBig;
  return record;
}

// One of every kind, and some twice.
inline std::vector<Record> AllKinds() {
  ReferenceRecord reference;
  reference.facts = {"layout", "data", 1500, 297, 17226, 5, {{"a/b", 7, "abc"}, {"c", kBig, ""}}};
  reference.total_steps = 460;
  EndRecord end;
  end.state = EndState::kFailed;
  end.reason = "why \xff not";
  end.step = 460;
  end.syncs = 46;
  end.checksum = 0xffffffff;
  end.samples_unused = 8;
  end.residuals_undelivered = 3;
  end.residual_norm_squared = 1.5;
  end.at = kNow;
  return {TermRecord{{1}, kNow, kBig},
          NoticeRecord{kNow, "started", std::string("not \xc3\x28 UTF-8")},
          reference,
          Group(),
          Order1(),
          Commit(1),
          Commit(2),
          VoidRecord{{3}, "nobody has it"},
          EvaluationRecord{{2}, 30, 0.5, 0.75, 297, 0.25},
          CheckpointRecord{{2}, 30, kBig},
          NoticeRecord{kNow, "ended", "", {7}, "worker-1", 0.5, 2.25},
          end,
          RewindRecord{{2}, 30, {4}, "nobody \xff holds it", kNow},
          RequestRecord{RequestKind::kPause, "lunch \xff", "", {}, kNow},
          RequestRecord{RequestKind::kDrain, "", "worker-1", {kBig}, kNow}};
}

class JournalTest : public testing::Test {
 protected:
  JournalTest() {
    dir_ = testing::TempDir() + "/" + testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(dir_);
    std::filesystem::create_directories(dir_);
    path_ = dir_ + "/journal.db";
    job_.set_name("digits");
    job_.set_id("digits-0123456789abcdef");
  }

  std::unique_ptr<SqliteJournal> Make() {
    EXPECT_OK(SqliteJournal::Create(path_, job_, kNow));
    auto journal = SqliteJournal::Open(path_);
    EXPECT_OK(journal);
    return *std::move(journal);
  }

  std::string dir_;
  std::string path_;
  v1::Job job_;
};

}  // namespace rondo::server

#endif  // RONDO_SERVER_EDGE_JOURNAL_SAMPLES_H_
