#include "tests/chaos/crew.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <string_view>
#include <utility>

namespace rondo::chaos {
namespace {

constexpr std::string_view kBlobStart = "rondo-tcp/1 127.0.0.1:";

}  // namespace

std::string WorkerName(int index) { return fmt::format("w{}", index); }

Crew::Crew(std::string folder, int workers)
    : folder_(std::move(folder)),
      state_dir_(folder_ + "/state"),
      relay_([this](Passing& passing) { Witness(passing); }) {
  for (int i = 0; i < workers; ++i) {
    workers_.push_back(std::make_unique<Worker>());
    workers_.back()->line.SetTarget(relay_.port());
  }
}

// Other workers are to come through the door: its address replaces the real one.
void Crew::Witness(Passing& passing) {
  overheard_.Add(passing);
  if (passing.from_worker == nullptr || !passing.from_worker->has_endpoint()) return;
  v1::Endpoint* endpoint = passing.from_worker->mutable_endpoint();
  const std::string& blob = endpoint->blob();
  for (int i = 0; i < size(); ++i) {
    if (WorkerName(i) != passing.worker || !blob.starts_with(kBlobStart)) continue;
    const int port = std::atoi(blob.c_str() + kBlobStart.size());
    workers_[i]->door.SetTarget(static_cast<uint16_t>(port));
    endpoint->set_blob(fmt::format("{}{}", kBlobStart, workers_[i]->door.port()));
  }
}

bool Crew::StartCoordinator(const std::string& listen) {
  // The file of a former life would be taken for this one's.
  const std::string address_file = e2e::NewFolder("address") + "/address";
  coordinator_.reset();
  coordinator_.emplace(std::vector<std::string>{
      e2e::Runfile("server/rondo-coordinator"), "--job", folder_ + "/job.yaml", "--state",
      state_dir_, "--listen", listen, "--address-file", address_file});
  logs_.push_back(coordinator_->log_path());
  if (!coordinator_->WaitForFile(address_file, kPatience)) return false;
  coordinator_address_ = e2e::ReadFile(address_file);
  while (coordinator_address_.ends_with('\n')) coordinator_address_.pop_back();
  relay_.SetCoordinator(coordinator_address_);
  return true;
}

void Crew::StartWorker(int worker) {
  std::optional<e2e::Program>& process = workers_[worker]->process;
  process.reset();
  process.emplace(
      std::vector<std::string>{e2e::Runfile("worker/rondo-worker"), "--coordinator",
                               fmt::format("127.0.0.1:{}", workers_[worker]->line.port()), "--name",
                               WorkerName(worker), "--files", folder_});
  logs_.push_back(process->log_path());
}

bool Crew::StartAll() {
  for (int i = 0; i < size(); ++i) StartWorker(i);
  return StartCoordinator();
}

void Crew::KillCoordinator() {
  relay_.SetCoordinator("");
  coordinator_.reset();
}

void Crew::KillWorker(int worker) { workers_[worker]->process.reset(); }

e2e::Ended Crew::WaitForWorker(int worker) { return workers_[worker]->process->Wait(kPatience); }

e2e::Ended Crew::WaitForCoordinator() { return coordinator_->Wait(kPatience); }

bool Crew::CoordinatorLogs(const std::string& text) {
  return !coordinator_->WaitForLogLine(text, kPatience).empty();
}

std::string Crew::Chronicle() const {
  std::vector<std::string> lines;
  for (const std::string& log : logs_) {
    std::istringstream text(e2e::ReadFile(log));
    for (std::string line; std::getline(text, line);) lines.push_back(line);
  }
  std::stable_sort(lines.begin(), lines.end());  // Each begins with its time.
  std::string all;
  for (const std::string& line : lines) all += line + "\n";
  return all;
}

}  // namespace rondo::chaos
