#include "server/edge/recovery.h"

#include <fmt/format.h>

#include <memory>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "common/status_macros.h"
#include "server/core/records.h"
#include "server/edge/journal_reader.h"

namespace rondo::server {
namespace {

absl::StatusOr<Recovered> ReadAll(const std::string& path) {
  ASSIGN_OR_RETURN(const std::unique_ptr<JournalReader> reader, JournalReader::Open(path));
  RETURN_IF_ERROR(reader->Check());
  Recovered recovered;
  ASSIGN_OR_RETURN(recovered.job, reader->Job());
  ASSIGN_OR_RETURN(const std::vector<Record> records, reader->Records());
  recovered.records = static_cast<int64_t>(records.size());
  uint64_t notices = 0;
  for (size_t i = 0; i < records.size(); ++i) {
    if (const absl::Status fits = CheckNext(records[i], recovered.history); !fits.ok()) {
      return absl::DataLossError(
          fmt::format("{}: record {} cannot be: {}", path, i + 1, std::string(fits.message())));
    }
    Apply(records[i], &recovered.history);
    const auto* notice = std::get_if<NoticeRecord>(&records[i]);
    if (notice == nullptr) continue;
    recovered.notices.push_back({++notices, *notice});
    if (recovered.notices.size() > kNoticesKept) {
      recovered.notices.erase(recovered.notices.begin());
    }
  }
  return recovered;
}

}  // namespace

absl::StatusOr<Recovered> RecoverJournal(const std::string& state_dir) {
  absl::StatusOr<Recovered> recovered = ReadAll(state_dir + "/journal.db");
  // SQLite calls a damaged schema an error in what was asked.
  const bool damaged = absl::IsDataLoss(recovered.status()) || absl::IsInternal(recovered.status());
  if (!damaged) return recovered;
  return absl::DataLossError(fmt::format(
      "{}; this run cannot go on from a damaged journal. Ways out: put back a copy of {} that was "
      "made while no coordinator ran on it; or save the model with `rondo export --state {} --out "
      "model.safetensors`, name that file as the job's `init`, and start anew with another --state "
      "directory",
      std::string(recovered.status().message()), state_dir, state_dir));
}

}  // namespace rondo::server
