#include "server/edge/journal_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include "common/status_macros.h"
#include "server/edge/journal_schema.h"
#include "server/edge/record_codec.h"
#include "server/edge/record_seal.h"

namespace rondo::server {
namespace {

absl::Status Named(const std::string& path, const absl::Status& status) {
  return absl::Status(status.code(), fmt::format("{}: {}", path, std::string(status.message())));
}

struct Numbered {
  int64_t seq = 0;
  Record record;
};

// Appends the records of one table; the columns of `sql` are seq and record.
template <typename Decode>
absl::Status Collect(SqliteDatabase& db, const std::string& sql, Decode decode,
                     std::vector<Numbered>* out) {
  ASSIGN_OR_RETURN(SqliteStatement statement, db.Prepare(sql.c_str()));
  for (;;) {
    ASSIGN_OR_RETURN(const bool row, statement.Step());
    if (!row) return absl::OkStatus();
    ASSIGN_OR_RETURN(const std::string_view bytes, Unseal(statement.Bytes(1)));
    auto record = decode(bytes);
    if (!record.ok()) return record.status();
    out->push_back({statement.Integer(0), *std::move(record)});
  }
}

// From the columns `first`, the commit, and the next, its ledger.
absl::StatusOr<CommitRecord> UnsealCommit(const SqliteStatement& statement, int first) {
  ASSIGN_OR_RETURN(const std::string_view commit, Unseal(statement.Bytes(first)));
  ASSIGN_OR_RETURN(const std::string_view ledger, Unseal(statement.Bytes(first + 1)));
  return DecodeCommit(commit, ledger);
}

absl::Status CollectCommits(SqliteDatabase& db, const std::string& where,
                            std::vector<Numbered>* out) {
  const std::string sql = fmt::format(
      "SELECT * FROM (SELECT c.seq AS seq, c.record, l.record FROM commits c JOIN ledger l "
      "ON l.seq = c.seq) {}",
      where);
  ASSIGN_OR_RETURN(SqliteStatement statement, db.Prepare(sql.c_str()));
  for (;;) {
    ASSIGN_OR_RETURN(const bool row, statement.Step());
    if (!row) return absl::OkStatus();
    ASSIGN_OR_RETURN(CommitRecord commit, UnsealCommit(statement, 1));
    out->push_back({statement.Integer(0), std::move(commit)});
  }
}

// The records that `where` picks by their `seq`, in the order of decisions.
absl::StatusOr<std::vector<Numbered>> ReadWhere(SqliteDatabase& db, const std::string& where) {
  std::vector<Numbered> all;
  const auto collect = [&]() -> absl::Status {
    const auto from = [&](const char* table, auto decode) {
      return Collect(db, fmt::format("SELECT seq, record FROM \"{}\" {}", table, where), decode,
                     &all);
    };
    RETURN_IF_ERROR(from("terms", DecodeTerm));
    RETURN_IF_ERROR(from("reference", DecodeReference));
    RETURN_IF_ERROR(from("groups", DecodeGroup));
    RETURN_IF_ERROR(from("orders", DecodeOrder));
    RETURN_IF_ERROR(CollectCommits(db, where, &all));
    RETURN_IF_ERROR(from("voids", DecodeVoid));
    RETURN_IF_ERROR(from("evaluations", DecodeEvaluation));
    RETURN_IF_ERROR(from("checkpoints", DecodeCheckpoint));
    RETURN_IF_ERROR(from("notices", DecodeNotice));
    RETURN_IF_ERROR(from("rewinds", DecodeRewind));
    RETURN_IF_ERROR(from("requests", DecodeRequest));
    return from("end", DecodeEnd);
  };
  // One transaction: the tables are read at one moment.
  RETURN_IF_ERROR(db.Run("BEGIN"));
  const absl::Status status = collect();
  RETURN_IF_ERROR(db.Run("COMMIT"));
  RETURN_IF_ERROR(status);
  std::sort(all.begin(), all.end(),
            [](const Numbered& a, const Numbered& b) { return a.seq < b.seq; });
  return all;
}

}  // namespace

absl::StatusOr<std::unique_ptr<JournalReader>> JournalReader::Open(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) {
    return absl::NotFoundError(fmt::format("{} does not exist: no run was started there", path));
  }
  ASSIGN_OR_RETURN(SqliteDatabase db, SqliteDatabase::Open(path, SqliteMode::kReadOnly));
  ASSIGN_OR_RETURN(const int64_t version, db.Integer("PRAGMA user_version"));
  if (version == 0) {
    return absl::DataLossError(fmt::format("{} is no journal, or what is left of one", path));
  }
  if (version != kJournalVersion) {
    return absl::FailedPreconditionError(
        fmt::format("{} is not a journal that this version of rondo can read: its format is {}, "
                    "expected {}",
                    path, version, kJournalVersion));
  }
  return std::unique_ptr<JournalReader>(new JournalReader(path, std::move(db)));
}

template <typename T, typename Decode>
absl::StatusOr<std::vector<T>> JournalReader::All(const char* sql, Decode decode, uint64_t from,
                                                  uint64_t limit) {
  ASSIGN_OR_RETURN(SqliteStatement statement, db_.Prepare(sql));
  if (limit > 0) statement.Bind(from).Bind(limit);
  std::vector<T> all;
  for (;;) {
    ASSIGN_OR_RETURN(const bool row, statement.Step());
    if (!row) return all;
    const absl::StatusOr<std::string_view> bytes = Unseal(statement.Bytes(0));
    if (!bytes.ok()) return Named(path_, bytes.status());
    absl::StatusOr<T> one = decode(*bytes);
    if (!one.ok()) return Named(path_, one.status());
    all.push_back(*std::move(one));
  }
}

absl::Status JournalReader::Check() {
  absl::MutexLock lock(&mutex_);
  ASSIGN_OR_RETURN(const std::string verdict, db_.Text("PRAGMA quick_check(1)"));
  if (verdict == "ok") return absl::OkStatus();
  return absl::DataLossError(fmt::format("{} is damaged: {}", path_, verdict));
}

absl::StatusOr<v1::Job> JournalReader::Job() {
  absl::MutexLock lock(&mutex_);
  ASSIGN_OR_RETURN(const std::string frozen, db_.Text("SELECT frozen FROM job"));
  v1::Job job;
  const absl::StatusOr<std::string_view> bytes = Unseal(frozen);
  if (bytes.ok() && job.ParseFromArray(bytes->data(), static_cast<int>(bytes->size()))) return job;
  return absl::DataLossError(fmt::format("{}: the frozen job in it is damaged", path_));
}

absl::StatusOr<Term> JournalReader::LastTerm() {
  absl::MutexLock lock(&mutex_);
  ASSIGN_OR_RETURN(const int64_t term, db_.Integer("SELECT ifnull(max(term), 0) FROM terms"));
  return Term{static_cast<uint64_t>(term)};
}

absl::StatusOr<std::vector<RoundRow>> JournalReader::Rounds(RoundId from, uint64_t limit) {
  absl::MutexLock lock(&mutex_);
  ASSIGN_OR_RETURN(
      SqliteStatement statement,
      db_.Prepare(
          "SELECT c.record, l.record, (SELECT e.record FROM evaluations e WHERE e.round = "
          "c.round ORDER BY e.seq DESC LIMIT 1), EXISTS (SELECT 1 FROM rewinds r WHERE r.seq > "
          "c.seq AND r.to_round < c.round) FROM commits c JOIN ledger l ON l.seq = c.seq WHERE "
          "c.round >= ? ORDER BY c.round LIMIT ?"));
  statement.Bind(from.value).Bind(limit);
  std::vector<RoundRow> rows;
  for (;;) {
    ASSIGN_OR_RETURN(const bool row, statement.Step());
    if (!row) return rows;
    absl::StatusOr<CommitRecord> commit = UnsealCommit(statement, 0);
    if (!commit.ok()) return Named(path_, commit.status());
    RoundRow& next = rows.emplace_back(RoundRow{*std::move(commit)});
    next.undone = statement.Integer(3) != 0;
    if (statement.IsNull(2)) continue;
    const absl::StatusOr<std::string_view> bytes = Unseal(statement.Bytes(2));
    if (!bytes.ok()) return Named(path_, bytes.status());
    absl::StatusOr<EvaluationRecord> evaluation = DecodeEvaluation(*bytes);
    if (!evaluation.ok()) return Named(path_, evaluation.status());
    next.evaluation = *std::move(evaluation);
  }
}

absl::StatusOr<std::optional<EndRecord>> JournalReader::End() {
  absl::MutexLock lock(&mutex_);
  ASSIGN_OR_RETURN(
      const std::vector<EndRecord> ends,
      All<EndRecord>("SELECT record FROM \"end\" WHERE seq > (SELECT ifnull(max(seq), 0) FROM "
                     "terms) ORDER BY seq DESC LIMIT 1",
                     DecodeEnd));
  if (ends.empty()) return std::nullopt;
  return ends.front();
}

absl::StatusOr<std::optional<ReferenceRecord>> JournalReader::Reference() {
  absl::MutexLock lock(&mutex_);
  ASSIGN_OR_RETURN(const std::vector<ReferenceRecord> references,
                   All<ReferenceRecord>("SELECT record FROM \"reference\" ORDER BY seq LIMIT 1",
                                        DecodeReference));
  if (references.empty()) return std::nullopt;
  return references.front();
}

absl::StatusOr<std::vector<NoticeRecord>> JournalReader::Notices(uint64_t from, uint64_t limit) {
  if (limit == 0) return std::vector<NoticeRecord>();
  absl::MutexLock lock(&mutex_);
  return All<NoticeRecord>("SELECT record FROM notices WHERE number >= ? ORDER BY seq LIMIT ?",
                           DecodeNotice, from, limit);
}

absl::StatusOr<std::vector<EvaluationRecord>> JournalReader::Evaluations() {
  absl::MutexLock lock(&mutex_);
  return All<EvaluationRecord>(
      "SELECT record FROM evaluations t WHERE NOT EXISTS (SELECT 1 FROM rewinds r WHERE "
      "r.seq > t.seq AND r.to_round < t.round) ORDER BY seq",
      DecodeEvaluation);
}

absl::StatusOr<std::vector<CheckpointRecord>> JournalReader::Checkpoints() {
  absl::MutexLock lock(&mutex_);
  return All<CheckpointRecord>(
      "SELECT record FROM checkpoints t WHERE NOT EXISTS (SELECT 1 FROM rewinds r WHERE "
      "r.seq > t.seq AND r.to_round < t.round) ORDER BY seq",
      DecodeCheckpoint);
}

absl::StatusOr<std::vector<Record>> JournalReader::Records() {
  absl::MutexLock lock(&mutex_);
  absl::StatusOr<std::vector<Numbered>> all = ReadWhere(db_, "");
  if (!all.ok()) return Named(path_, all.status());
  std::vector<Record> records;
  records.reserve(all->size());
  for (Numbered& one : *all) {
    records.push_back(std::move(one.record));
    if (one.seq == static_cast<int64_t>(records.size())) continue;
    return absl::DataLossError(fmt::format(
        "{}: the record with number {} is {}", path_, std::min<int64_t>(one.seq, records.size()),
        one.seq > static_cast<int64_t>(records.size()) ? "missing" : "there twice"));
  }
  return records;
}

absl::StatusOr<RoundId> JournalReader::LastOrdered() {
  absl::MutexLock lock(&mutex_);
  ASSIGN_OR_RETURN(const int64_t round, db_.Integer("SELECT coalesce(max(round), 0) FROM orders"));
  return RoundId{static_cast<uint64_t>(round)};
}

absl::StatusOr<std::vector<Record>> JournalReader::RecordsAround(RoundId round) {
  absl::MutexLock lock(&mutex_);
  const auto integer = [this](const std::string& sql)
                           ABSL_NO_THREAD_SAFETY_ANALYSIS { return db_.Integer(sql.c_str()); };
  ASSIGN_OR_RETURN(const int64_t first,
                   integer(fmt::format("SELECT coalesce(min(seq), 0) FROM orders WHERE round = {}",
                                       round.value)));
  if (first == 0) {
    ASSIGN_OR_RETURN(const int64_t last, integer("SELECT coalesce(max(round), 0) FROM orders"));
    return absl::NotFoundError(
        last == 0 ? fmt::format("round {} was never ordered; no round was", round)
                  : fmt::format("round {} was never ordered; the last one is {}", round, last));
  }
  ASSIGN_OR_RETURN(
      const int64_t before,
      integer(fmt::format("SELECT coalesce((SELECT seq FROM commits WHERE seq < {} ORDER BY seq "
                          "DESC LIMIT 1 OFFSET 1), 0)",
                          first)));
  ASSIGN_OR_RETURN(const int64_t next,
                   integer(fmt::format(
                       "SELECT coalesce(min(seq), {}) FROM orders WHERE seq > {} AND round <> {}",
                       std::numeric_limits<int64_t>::max(), first, round.value)));
  const std::string where = fmt::format(
      "WHERE seq BETWEEN {} AND {} OR seq IN (SELECT seq FROM rewinds WHERE seq > {}) OR seq IN "
      "(SELECT g.seq FROM \"groups\" g JOIN orders o ON o.group_id = g.group_id "
      "WHERE o.round = {}) OR seq IN (SELECT seq FROM notices WHERE kind = '{}' AND seq < {})",
      before, next, first, round.value, kCollectiveChosen, first);
  absl::StatusOr<std::vector<Numbered>> all = ReadWhere(db_, where);
  if (!all.ok()) return Named(path_, all.status());
  std::vector<Record> records;
  records.reserve(all->size());
  for (Numbered& one : *all) records.push_back(std::move(one.record));
  return records;
}

}  // namespace rondo::server
