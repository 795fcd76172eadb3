#include "server/edge/journal_sqlite.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <limits>
#include <string_view>
#include <system_error>
#include <utility>
#include <variant>

#include "common/status_macros.h"
#include "server/edge/journal_schema.h"
#include "server/edge/record_codec.h"
#include "server/edge/record_seal.h"
#include "server/edge/sqlite.h"

namespace rondo::server {
namespace {

constexpr double kNoAccuracy = std::numeric_limits<double>::quiet_NaN();  // NULL, to SQLite.

// As the record has it: a copy made from the records has the same columns.
double Seconds(absl::Time time) { return static_cast<double>(absl::ToUnixMicros(time)) / 1e6; }

std::string Hex(uint64_t value) { return fmt::format("{:016x}", value); }

std::string_view ModeName(RoundMode mode) {
  switch (mode) {
    case RoundMode::kParallel:
      return "parallel";
    case RoundMode::kLocal:
      return "local";
  }
  return "unknown";
}

std::string_view EndName(EndState state) {
  switch (state) {
    case EndState::kDone:
      return "done";
    case EndState::kStopped:
      return "stopped";
    case EndState::kFailed:
      return "failed";
  }
  return "unknown";
}

std::string_view RequestName(RequestKind kind) {
  switch (kind) {
    case RequestKind::kPause:
      return "pause";
    case RequestKind::kResume:
      return "resume";
    case RequestKind::kDrain:
      return "drain";
    case RequestKind::kCheckpoint:
      return "checkpoint";
  }
  return "unknown";
}

absl::Status CheckVersion(SqliteDatabase& db, const std::string& path) {
  ASSIGN_OR_RETURN(const int64_t version, db.Integer("PRAGMA user_version"));
  if (version == kJournalVersion) return absl::OkStatus();
  return absl::FailedPreconditionError(fmt::format(
      "{} has format {}, this version of rondo writes format {}; use another --state directory",
      path, version, kJournalVersion));
}

// A full disk rolls back by itself or not at all: either way nothing of the batch stays.
absl::Status RollBack(SqliteDatabase& db, absl::Status why) {
  if (db.in_transaction()) db.Run("ROLLBACK").IgnoreError();
  return why;
}

}  // namespace

struct SqliteJournal::Statements {
  explicit Statements(SqliteDatabase database) : db(std::move(database)) {}

  absl::StatusOr<SqliteStatement*> Get(size_t kind, const char* sql) {
    std::unique_ptr<SqliteStatement>& slot = prepared[kind];
    if (slot == nullptr) {
      ASSIGN_OR_RETURN(SqliteStatement statement, db.Prepare(sql));
      slot = std::make_unique<SqliteStatement>(std::move(statement));
    }
    return slot.get();
  }

  // Nobody else has written to the file since, and it is still the one at its path.
  absl::Status CheckOurs();

  static constexpr size_t kLedger = std::variant_size_v<Record>;
  static constexpr size_t kNewest = kLedger + 1;

  absl::Status Put(const TermRecord& record);
  absl::Status Put(const ReferenceRecord& record);
  absl::Status Put(const GroupRecord& record);
  absl::Status Put(const OrderRecord& record);
  absl::Status Put(const CommitRecord& record);
  absl::Status Put(const VoidRecord& record);
  absl::Status Put(const EvaluationRecord& record);
  absl::Status Put(const CheckpointRecord& record);
  absl::Status Put(const NoticeRecord& record);
  absl::Status Put(const EndRecord& record);
  absl::Status Put(const RewindRecord& record);
  absl::Status Put(const RequestRecord& record);

  SqliteDatabase db;
  int64_t seq = 0;      // Of the record being written.
  int64_t notices = 0;  // Written.
  std::string path;
  std::unique_ptr<SqliteStatement> prepared[kNewest + 1];  // By the record's index.
};

absl::Status SqliteJournal::Statements::CheckOurs() {
  if (db.HasMoved()) {
    return absl::AbortedError(
        fmt::format("{} was deleted, moved or replaced while this coordinator ran on it", path));
  }
  ASSIGN_OR_RETURN(SqliteStatement* const newest, Get(kNewest, kLastSeq));
  const absl::StatusOr<bool> row = newest->Step();
  const int64_t found = row.ok() && *row ? newest->Integer(0) : -1;
  newest->Reset();
  RETURN_IF_ERROR(row.status());
  if (found == seq) return absl::OkStatus();
  return absl::AbortedError(
      fmt::format("another coordinator has written to {}: its newest record is number {}, the last "
                  "of this coordinator {}; was the file `lock` beside it deleted?",
                  path, found, seq));
}

absl::Status SqliteJournal::Statements::Put(const TermRecord& record) {
  ASSIGN_OR_RETURN(SqliteStatement* const insert, Get(0, "INSERT INTO terms VALUES (?,?,?,?)"));
  return insert->Bind(seq)
      .Bind(record.term.value)
      .Bind(Seconds(record.at))
      .BindBlob(Seal(EncodeTerm(record)))
      .Run();
}

absl::Status SqliteJournal::Statements::Put(const ReferenceRecord& record) {
  ASSIGN_OR_RETURN(SqliteStatement* const insert,
                   Get(1, "INSERT INTO \"reference\" VALUES (?,?,?,?,?,?)"));
  return insert->Bind(seq)
      .Bind(record.total_steps)
      .Bind(record.facts.parameters)
      .Bind(record.facts.train_samples)
      .Bind(record.facts.test_samples)
      .BindBlob(Seal(EncodeReference(record)))
      .Run();
}

absl::Status SqliteJournal::Statements::Put(const GroupRecord& record) {
  std::vector<std::string> names;
  for (const Member& member : record.members) names.push_back(member.name);
  ASSIGN_OR_RETURN(SqliteStatement* const insert,
                   Get(2, "INSERT INTO \"groups\" VALUES (?,?,?,?,?)"));
  return insert->Bind(seq)
      .Bind(record.group.value)
      .BindText(fmt::format("{}", fmt::join(names, " ")))
      .Bind(Seconds(record.at))
      .BindBlob(Seal(EncodeGroup(record)))
      .Run();
}

absl::Status SqliteJournal::Statements::Put(const OrderRecord& record) {
  ASSIGN_OR_RETURN(SqliteStatement* const insert,
                   Get(3, "INSERT INTO orders VALUES (?,?,?,?,?,?,?,?,?)"));
  return insert->Bind(seq)
      .Bind(record.round.value)
      .Bind(record.group.value)
      .BindText(ModeName(record.mode))
      .Bind(record.first_step)
      .Bind(record.length)
      .Bind(record.rate_first)
      .Bind(Seconds(record.at))
      .BindBlob(Seal(EncodeOrder(record)))
      .Run();
}

absl::Status SqliteJournal::Statements::Put(const CommitRecord& record) {
  ASSIGN_OR_RETURN(SqliteStatement* const ledger,
                   Get(kLedger, "INSERT INTO ledger VALUES (?,?,?,?,?,?,?)"));
  RETURN_IF_ERROR(ledger->Bind(seq)
                      .Bind(record.round.value)
                      .Bind(record.ledger.epoch)
                      .Bind(record.ledger.position)
                      .Bind(record.ledger.samples_used)
                      .Bind(record.ledger.samples_dropped)
                      .BindBlob(Seal(EncodeLedger(record.ledger)))
                      .Run());
  ASSIGN_OR_RETURN(SqliteStatement* const insert,
                   Get(4, "INSERT INTO commits VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"));
  return insert->Bind(seq)
      .Bind(record.round.value)
      .Bind(record.group.value)
      .BindText(ModeName(record.mode))
      .Bind(record.first_step)
      .Bind(record.length)
      .Bind(record.rate_first)
      .Bind(record.mean_loss)
      .Bind(record.parameter_norm_squared)
      .BindText(Hex(record.state_hash))
      .BindText(fmt::format("{}", fmt::join(record.members, " ")))
      .Bind(record.samples)
      .Bind(record.bytes_sent)
      .Bind(record.step_seconds)
      .Bind(record.reduce_seconds)
      .Bind(record.control_seconds)
      .Bind(record.seconds)
      .Bind(Seconds(record.at))
      .BindBlob(Seal(EncodeCommit(record)))
      .Run();
}

absl::Status SqliteJournal::Statements::Put(const VoidRecord& record) {
  ASSIGN_OR_RETURN(SqliteStatement* const insert, Get(5, "INSERT INTO voids VALUES (?,?,?,?)"));
  return insert->Bind(seq)
      .Bind(record.round.value)
      .BindText(record.reason)
      .BindBlob(Seal(EncodeVoid(record)))
      .Run();
}

absl::Status SqliteJournal::Statements::Put(const EvaluationRecord& record) {
  ASSIGN_OR_RETURN(SqliteStatement* const insert,
                   Get(6, "INSERT INTO evaluations VALUES (?,?,?,?,?,?,?)"));
  return insert->Bind(seq)
      .Bind(record.round.value)
      .Bind(record.step)
      .Bind(record.loss)
      .Bind(record.accuracy.value_or(kNoAccuracy))
      .Bind(record.count)
      .BindBlob(Seal(EncodeEvaluation(record)))
      .Run();
}

absl::Status SqliteJournal::Statements::Put(const CheckpointRecord& record) {
  ASSIGN_OR_RETURN(SqliteStatement* const insert,
                   Get(7, "INSERT INTO checkpoints VALUES (?,?,?,?,?)"));
  return insert->Bind(seq)
      .Bind(record.round.value)
      .Bind(record.step)
      .BindText(Hex(record.state_hash))
      .BindBlob(Seal(EncodeCheckpoint(record)))
      .Run();
}

absl::Status SqliteJournal::Statements::Put(const NoticeRecord& record) {
  ASSIGN_OR_RETURN(SqliteStatement* const insert,
                   Get(8, "INSERT INTO notices VALUES (?,?,?,?,?,?)"));
  return insert->Bind(seq)
      .Bind(++notices)
      .Bind(Seconds(record.at))
      .BindText(record.kind)
      .BindText(record.text)
      .BindBlob(Seal(EncodeNotice(record)))
      .Run();
}

absl::Status SqliteJournal::Statements::Put(const EndRecord& record) {
  ASSIGN_OR_RETURN(SqliteStatement* const insert,
                   Get(9, "INSERT INTO \"end\" VALUES (?,?,?,?,?,?,?,?)"));
  return insert->Bind(seq)
      .BindText(EndName(record.state))
      .BindText(record.reason)
      .Bind(record.step)
      .Bind(record.syncs)
      .Bind(int64_t{record.checksum})
      .Bind(Seconds(record.at))
      .BindBlob(Seal(EncodeEnd(record)))
      .Run();
}

absl::Status SqliteJournal::Statements::Put(const RewindRecord& record) {
  ASSIGN_OR_RETURN(SqliteStatement* const insert,
                   Get(10, "INSERT INTO rewinds VALUES (?,?,?,?,?,?,?)"));
  return insert->Bind(seq)
      .Bind(record.to_round.value)
      .Bind(record.to_step)
      .Bind(record.first_undone.value)
      .BindText(record.reason)
      .Bind(Seconds(record.at))
      .BindBlob(Seal(EncodeRewind(record)))
      .Run();
}

absl::Status SqliteJournal::Statements::Put(const RequestRecord& record) {
  ASSIGN_OR_RETURN(SqliteStatement* const insert,
                   Get(11, "INSERT INTO requests VALUES (?,?,?,?,?,?)"));
  return insert->Bind(seq)
      .BindText(RequestName(record.kind))
      .BindText(record.worker)
      .BindText(record.reason)
      .Bind(Seconds(record.at))
      .BindBlob(Seal(EncodeRequest(record)))
      .Run();
}

SqliteJournal::SqliteJournal(std::unique_ptr<Statements> statements)
    : statements_(std::move(statements)) {}

SqliteJournal::~SqliteJournal() = default;

absl::Status SqliteJournal::Create(const std::string& path, const v1::Job& job, absl::Time now) {
  std::error_code error;
  if (std::filesystem::exists(path, error)) {
    return absl::AlreadyExistsError(fmt::format("{} is there already", path));
  }
  // Left by a journal that was deleted; SQLite would read them as parts of the new one.
  for (const char* side : {"-wal", "-shm"}) std::filesystem::remove(path + side, error);
  const std::string unfinished = path + ".new";
  std::filesystem::remove(unfinished, error);
  {
    ASSIGN_OR_RETURN(SqliteDatabase db, SqliteDatabase::Open(unfinished, SqliteMode::kCreate));
    RETURN_IF_ERROR(db.Run("PRAGMA synchronous=FULL; BEGIN"));
    RETURN_IF_ERROR(db.Run(kJournalTables));
    RETURN_IF_ERROR(db.Run(fmt::format("PRAGMA user_version={}", kJournalVersion).c_str()));
    ASSIGN_OR_RETURN(SqliteStatement insert, db.Prepare("INSERT INTO job VALUES (?,?,?,?)"));
    RETURN_IF_ERROR(insert.BindText(job.id())
                        .BindText(job.name())
                        .BindBlob(Seal(job.SerializeAsString()))
                        .Bind(Seconds(now))
                        .Run());
    RETURN_IF_ERROR(db.Run("COMMIT"));
  }
  if (std::rename(unfinished.c_str(), path.c_str()) == 0) return absl::OkStatus();
  return absl::UnavailableError(fmt::format("cannot rename {} to {}", unfinished, path));
}

absl::StatusOr<std::unique_ptr<SqliteJournal>> SqliteJournal::Open(const std::string& path) {
  ASSIGN_OR_RETURN(SqliteDatabase opened, SqliteDatabase::Open(path, SqliteMode::kReadWrite));
  auto statements = std::make_unique<Statements>(std::move(opened));
  statements->path = path;
  SqliteDatabase& db = statements->db;
  RETURN_IF_ERROR(CheckVersion(db, path));
  RETURN_IF_ERROR(db.Run("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL"));
  ASSIGN_OR_RETURN(statements->seq, db.Integer(kLastSeq));
  ASSIGN_OR_RETURN(statements->notices, db.Integer("SELECT count(*) FROM notices"));
  return std::unique_ptr<SqliteJournal>(new SqliteJournal(std::move(statements)));
}

int64_t SqliteJournal::last_record() const { return statements_->seq; }

absl::Status SqliteJournal::WriteOne(const Record& record) {
  ++statements_->seq;
  return std::visit([this](const auto& value) { return statements_->Put(value); }, record);
}

absl::Status SqliteJournal::Write(const std::vector<Record>& records) {
  SqliteDatabase& db = statements_->db;
  const int64_t seq = statements_->seq;
  const int64_t notices = statements_->notices;
  absl::Status status = db.Run("BEGIN IMMEDIATE");
  if (status.ok()) status = statements_->CheckOurs();
  for (const Record& record : records) {
    if (status.ok()) status = WriteOne(record);
  }
  if (status.ok()) status = db.Run("COMMIT");
  if (status.ok()) return status;
  statements_->seq = seq;
  statements_->notices = notices;
  return RollBack(db, std::move(status));
}

absl::Status SqliteJournal::SetPageLimit(int64_t pages) {
  constexpr int64_t kNoLimit = 1073741823;
  return statements_->db.Run(
      fmt::format("PRAGMA max_page_count={}", pages == 0 ? kNoLimit : pages).c_str());
}

}  // namespace rondo::server
