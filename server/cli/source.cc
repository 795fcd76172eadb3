#include "server/cli/source.h"

#include <fmt/format.h>

#include <fstream>

#include "absl/status/status.h"
#include "common/status_macros.h"
#include "server/cli/jobs_client.h"

namespace rondo::cli {
namespace {

absl::StatusOr<std::string> NeedLiveAddress(const Source& source) {
  std::string address = LiveAddress(source);
  if (!address.empty()) return address;
  return absl::UnavailableError(fmt::format("no coordinator has run in {}", source.state_dir));
}

}  // namespace

void AddSourceFlags(CLI::App& verb, Source& source) {
  CLI::Option_group* group = verb.add_option_group("run", "Which run (one of the two)");
  group->add_option("--coordinator", source.coordinator, "HOST:PORT of a live coordinator");
  group->add_option("--state", source.state_dir, "State directory of a run, live or ended");
  group->require_option(1);
}

std::string LiveAddress(const Source& source) {
  if (!source.coordinator.empty()) return source.coordinator;
  return ReadAddressFile(source.state_dir + "/" + kAddressFile);
}

std::string ReadAddressFile(const std::string& file) {
  std::ifstream stream(file);
  std::string address;
  std::getline(stream, address);
  return address;
}

absl::StatusOr<v1::Status> LoadStatus(const Source& source) {
  ASSIGN_OR_RETURN(const std::string address, NeedLiveAddress(source));
  return JobsClient(address).GetStatus();
}

absl::StatusOr<std::vector<v1::Round>> LoadRounds(const Source& source, uint64_t first_round) {
  ASSIGN_OR_RETURN(const std::string address, NeedLiveAddress(source));
  return JobsClient(address).ListRounds(first_round);
}

}  // namespace rondo::cli
