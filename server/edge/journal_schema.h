// The tables of journal.db, version 2. `seq` numbers the records of all tables in the order of
// decisions; `record` holds the whole record (proto/rondo/v1/journal.proto) with its checksum
// (record_seal); the other columns are for people: `sqlite3 journal.db "select round, length,
// mean_loss from commits"`.
#ifndef RONDO_SERVER_EDGE_JOURNAL_SCHEMA_H_
#define RONDO_SERVER_EDGE_JOURNAL_SCHEMA_H_

#include <cstdint>

namespace rondo::server {

inline constexpr int64_t kJournalVersion = 2;  // PRAGMA user_version.

inline constexpr char kJournalTables[] = R"sql(
CREATE TABLE job (id TEXT PRIMARY KEY, name TEXT NOT NULL, frozen BLOB NOT NULL, at REAL NOT NULL);
CREATE TABLE terms (seq INTEGER PRIMARY KEY, term INTEGER NOT NULL, at REAL NOT NULL,
  record BLOB NOT NULL);
CREATE TABLE "reference" (seq INTEGER PRIMARY KEY, total_steps INTEGER NOT NULL,
  parameters INTEGER NOT NULL, train_samples INTEGER NOT NULL, test_samples INTEGER NOT NULL,
  record BLOB NOT NULL);
CREATE TABLE "groups" (seq INTEGER PRIMARY KEY, group_id INTEGER NOT NULL, members TEXT NOT NULL,
  at REAL NOT NULL, record BLOB NOT NULL);
CREATE TABLE orders (seq INTEGER PRIMARY KEY, round INTEGER NOT NULL, group_id INTEGER NOT NULL,
  mode TEXT NOT NULL, first_step INTEGER NOT NULL, length INTEGER NOT NULL, rate_first REAL,
  at REAL NOT NULL, record BLOB NOT NULL);
CREATE TABLE commits (seq INTEGER PRIMARY KEY, round INTEGER NOT NULL, group_id INTEGER NOT NULL,
  mode TEXT NOT NULL, first_step INTEGER NOT NULL, length INTEGER NOT NULL, rate_first REAL,
  mean_loss REAL, parameter_norm_squared REAL, state_hash TEXT NOT NULL, members TEXT NOT NULL,
  samples INTEGER NOT NULL, bytes_sent INTEGER NOT NULL, step_seconds REAL, reduce_seconds REAL,
  control_seconds REAL, seconds REAL, at REAL NOT NULL, record BLOB NOT NULL);
CREATE INDEX commits_by_round ON commits (round);
CREATE TABLE ledger (seq INTEGER PRIMARY KEY, round INTEGER NOT NULL, epoch INTEGER NOT NULL,
  position INTEGER NOT NULL, samples_used INTEGER NOT NULL, samples_dropped INTEGER NOT NULL,
  record BLOB NOT NULL);
CREATE TABLE voids (seq INTEGER PRIMARY KEY, round INTEGER NOT NULL, reason TEXT NOT NULL,
  record BLOB NOT NULL);
CREATE TABLE evaluations (seq INTEGER PRIMARY KEY, round INTEGER NOT NULL, step INTEGER NOT NULL,
  loss REAL, accuracy REAL, count INTEGER NOT NULL, record BLOB NOT NULL);
CREATE INDEX evaluations_by_round ON evaluations (round);
CREATE TABLE checkpoints (seq INTEGER PRIMARY KEY, round INTEGER NOT NULL, step INTEGER NOT NULL,
  state_hash TEXT NOT NULL, record BLOB NOT NULL);
CREATE TABLE notices (seq INTEGER PRIMARY KEY, number INTEGER NOT NULL, at REAL NOT NULL,
  kind TEXT NOT NULL, text TEXT NOT NULL, record BLOB NOT NULL);
CREATE TABLE "end" (seq INTEGER PRIMARY KEY, state TEXT NOT NULL, reason TEXT NOT NULL,
  step INTEGER NOT NULL, syncs INTEGER NOT NULL, checksum INTEGER NOT NULL, at REAL NOT NULL,
  record BLOB NOT NULL);
CREATE TABLE rewinds (seq INTEGER PRIMARY KEY, to_round INTEGER NOT NULL, to_step INTEGER NOT NULL,
  first_undone INTEGER NOT NULL, reason TEXT NOT NULL, at REAL NOT NULL, record BLOB NOT NULL);
CREATE TABLE requests (seq INTEGER PRIMARY KEY, kind TEXT NOT NULL, worker TEXT NOT NULL,
  reason TEXT NOT NULL, at REAL NOT NULL, record BLOB NOT NULL);
)sql";

// The number of the newest record; 0: none.
inline constexpr char kLastSeq[] = R"sql(
SELECT max(seq) FROM (SELECT 0 AS seq
  UNION ALL SELECT max(seq) FROM terms UNION ALL SELECT max(seq) FROM "reference"
  UNION ALL SELECT max(seq) FROM "groups" UNION ALL SELECT max(seq) FROM orders
  UNION ALL SELECT max(seq) FROM commits UNION ALL SELECT max(seq) FROM voids
  UNION ALL SELECT max(seq) FROM evaluations
  UNION ALL SELECT max(seq) FROM checkpoints UNION ALL SELECT max(seq) FROM notices
  UNION ALL SELECT max(seq) FROM "end" UNION ALL SELECT max(seq) FROM rewinds
  UNION ALL SELECT max(seq) FROM requests)
)sql";

}  // namespace rondo::server

#endif  // RONDO_SERVER_EDGE_JOURNAL_SCHEMA_H_
