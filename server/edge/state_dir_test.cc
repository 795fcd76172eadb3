#include "server/edge/state_dir.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "common/status_matchers.h"
#include "proto/rondo/v1/job.pb.h"
#include "server/core/records.h"
#include "server/edge/journal_sqlite.h"

namespace rondo::server {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class StateDirTest : public testing::Test {
 protected:
  StateDirTest() {
    path_ = testing::TempDir() + "/" +
            testing::UnitTest::GetInstance()->current_test_info()->name() + "/deep/state";
    std::filesystem::remove_all(path_);
    job_.set_name("digits");
    job_.set_seed(1);
    job_.mutable_sync()->set_policy(v1::SYNC_POLICY_QSR);
    job_.mutable_sync()->set_alpha(0.02);
    frozen_ = job_;
    frozen_.set_id("digits-0123456789abcdef");
  }

  void WriteRun(const StateDir& dir, const std::vector<Record>& records) {
    ASSERT_OK(SqliteJournal::Create(dir.journal_path(), frozen_, absl::UnixEpoch()));
    ASSERT_OK_AND_ASSIGN(const auto journal, SqliteJournal::Open(dir.journal_path()));
    ASSERT_OK(journal->Write(records));
  }

  std::string path_;
  v1::Job job_;     // As the job file gives it.
  v1::Job frozen_;  // With its id.
};

TEST_F(StateDirTest, ASecondCoordinatorIsTurnedAwayUntilTheFirstIsGone) {
  std::optional<StateDir> first;
  {
    ASSERT_OK_AND_ASSIGN(StateDir dir, StateDir::Lock(path_));
    first = std::move(dir);
  }
  EXPECT_THAT(StateDir::Lock(path_),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("another coordinator"), HasSubstr(path_))));
  first.reset();
  EXPECT_OK(StateDir::Lock(path_));
}

TEST_F(StateDirTest, IsHeldFromTheLockToItsEnd) {
  EXPECT_FALSE(StateDir::IsHeld(path_));
  {
    ASSERT_OK_AND_ASSIGN(const StateDir dir, StateDir::Lock(path_));
    EXPECT_TRUE(StateDir::IsHeld(path_));
  }
  EXPECT_FALSE(StateDir::IsHeld(path_));
}

TEST_F(StateDirTest, NamesAFolderThatCannotBeMade) {
  std::filesystem::create_directories(std::filesystem::path(path_).parent_path());
  std::ofstream(path_) << "a file";
  EXPECT_THAT(StateDir::Lock(path_), StatusIs(absl::StatusCode::kUnavailable, HasSubstr(path_)));
}

TEST_F(StateDirTest, AnEmptyFolderHasNoFormerRun) {
  ASSERT_OK_AND_ASSIGN(const StateDir dir, StateDir::Lock(path_));
  ASSERT_OK_AND_ASSIGN(const FormerRun former, ExamineFormerRun(dir, job_));
  EXPECT_EQ(former.kind, FormerRun::Kind::kNone);
}

TEST_F(StateDirTest, NamesTheKeysOfTheJobFileThatChanged) {
  ASSERT_OK_AND_ASSIGN(const StateDir dir, StateDir::Lock(path_));
  WriteRun(dir, {});
  job_.set_seed(2);
  job_.mutable_sync()->set_alpha(0.03);
  EXPECT_THAT(ExamineFormerRun(dir, job_),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("seed"), HasSubstr("sync.alpha"))));
}

TEST_F(StateDirTest, ARunThatIsDoneHasNothingLeftToDo) {
  ASSERT_OK_AND_ASSIGN(const StateDir dir, StateDir::Lock(path_));
  EndRecord end;
  end.step = 460;
  WriteRun(dir, {TermRecord{{1}, absl::UnixEpoch()}, end});
  ASSERT_OK_AND_ASSIGN(const FormerRun former, ExamineFormerRun(dir, job_));
  EXPECT_EQ(former.kind, FormerRun::Kind::kDone);
  EXPECT_THAT(former.text, AllOf(HasSubstr("has ended (done)"), HasSubstr("460")));
}

TEST_F(StateDirTest, ARunThatWasStoppedOrHasFailedGoesOn) {
  ASSERT_OK_AND_ASSIGN(const StateDir dir, StateDir::Lock(path_));
  EndRecord end;
  end.state = EndState::kStopped;
  end.reason = "a user asked";
  WriteRun(dir, {TermRecord{{1}, absl::UnixEpoch()}, end});
  ASSERT_OK_AND_ASSIGN(const FormerRun former, ExamineFormerRun(dir, job_));
  EXPECT_EQ(former.kind, FormerRun::Kind::kOpen);
  EXPECT_THAT(former.text,
              AllOf(HasSubstr("was stopped (a user asked)"), HasSubstr("goes on at step 0")));
}

TEST_F(StateDirTest, SaysWhereARunThatHasNotEndedGoesOn) {
  ASSERT_OK_AND_ASSIGN(const StateDir dir, StateDir::Lock(path_));
  WriteRun(dir, {TermRecord{{1}, absl::UnixEpoch()}});
  ASSERT_OK_AND_ASSIGN(const FormerRun former, ExamineFormerRun(dir, job_));
  EXPECT_EQ(former.kind, FormerRun::Kind::kOpen);
  EXPECT_EQ(former.recovered.history.term, Term{1});
  EXPECT_EQ(former.recovered.job.id(), frozen_.id());
  EXPECT_THAT(former.text, AllOf(HasSubstr("step 0"), HasSubstr("term 2")));
}

TEST_F(StateDirTest, NamesADamagedJournal) {
  ASSERT_OK_AND_ASSIGN(const StateDir dir, StateDir::Lock(path_));
  std::ofstream(dir.journal_path()) << std::string(10'000, 'x');
  EXPECT_THAT(ExamineFormerRun(dir, job_),
              StatusIs(absl::StatusCode::kDataLoss,
                       AllOf(HasSubstr(dir.journal_path()), HasSubstr("Ways out"))));
}

TEST_F(StateDirTest, ASharedFolderOfCheckpointsIsLinked) {
  ASSERT_OK_AND_ASSIGN(const StateDir dir, StateDir::Lock(path_));
  EXPECT_OK(LinkSharedCheckpoints(dir, frozen_, path_, true));
  EXPECT_FALSE(std::filesystem::exists(dir.checkpoints_path()));
  frozen_.mutable_checkpoint()->set_shared_dir("../shared");
  std::filesystem::create_directories(path_ + "/../shared");
  EXPECT_OK(LinkSharedCheckpoints(dir, frozen_, path_, true));
  EXPECT_OK(LinkSharedCheckpoints(dir, frozen_, path_, false));
  std::ofstream(path_ + "/../shared/digits-0123456789abcdef/file") << "x";
  EXPECT_TRUE(std::filesystem::exists(dir.checkpoints_path() + "/file"));

  std::ofstream(path_ + "/no-folder") << "x";
  frozen_.mutable_checkpoint()->set_shared_dir("no-folder");
  EXPECT_THAT(LinkSharedCheckpoints(dir, frozen_, path_, true),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("no-folder")));
}

TEST_F(StateDirTest, ASharedFolderThatIsNotMountedIsNotMade) {
  namespace fs = std::filesystem;
  ASSERT_OK_AND_ASSIGN(const StateDir dir, StateDir::Lock(path_));
  const std::string shared = path_ + "/mount";
  frozen_.mutable_checkpoint()->set_shared_dir("mount");
  for (const bool begins : {true, false}) {
    EXPECT_THAT(LinkSharedCheckpoints(dir, frozen_, path_, begins),
                StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("mount what belongs")));
    EXPECT_FALSE(fs::exists(shared));
  }
  // The mount point is there, what was in it when the run began is not.
  fs::create_directory(shared);
  EXPECT_THAT(LinkSharedCheckpoints(dir, frozen_, path_, false),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("mounted?")));
  EXPECT_TRUE(fs::is_empty(shared));
}

TEST_F(StateDirTest, AJournalThatIsAFolderIsRefused) {
  ASSERT_OK_AND_ASSIGN(const StateDir dir, StateDir::Lock(path_));
  std::filesystem::create_directory(dir.journal_path());
  EXPECT_THAT(ExamineFormerRun(dir, job_),
              StatusIs(absl::StatusCode::kFailedPrecondition, HasSubstr("is no file")));
}

}  // namespace
}  // namespace rondo::server
