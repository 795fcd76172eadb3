// For tests: P trainers in one process, connected over loopback, and the coordinator's part played
// by hand.
#ifndef RONDO_WORKER_RUNTIME_TEST_WORKERS_H_
#define RONDO_WORKER_RUNTIME_TEST_WORKERS_H_

#include <gtest/gtest.h>

#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "common/clock.h"
#include "common/safetensors.h"
#include "worker/collectives/tcp/tcp_listener.h"
#include "worker/collectives/tcp/tcp_mesh.h"
#include "worker/runtime/failing_communicator.h"
#include "worker/runtime/parts.h"
#include "worker/runtime/quadratic_job.h"
#include "worker/runtime/trainer.h"

namespace rondo::worker {

class LoopbackGroups final : public GroupMaker {
 public:
  LoopbackGroups() : listener_(TcpListener::Listen({.bind_address = "127.0.0.1"}).value()) {}
  absl::StatusOr<std::string> Listen() override { return listener_->Endpoint(); }
  absl::StatusOr<std::unique_ptr<Communicator>> Connect(const ConnectSpec& spec,
                                                        absl::Duration limit,
                                                        std::shared_ptr<AbortFlag> abort) override {
    MeshSpec mesh;
    mesh.rank = static_cast<int>(spec.rank);
    mesh.endpoints = spec.blobs;
    mesh.token = spec.token;
    mesh.group = spec.group.value;
    absl::StatusOr<std::unique_ptr<Communicator>> made =
        ConnectMesh(*listener_, mesh, limit, std::move(abort));
    if (!fails_at || !made.ok()) return made;
    return std::make_unique<FailingCommunicator>(*std::move(made), *fails_at, fails_in, fails_here);
  }

  // The step whose all-reduce fails somewhere in the next groups; set while the trainer is settled.
  std::optional<int64_t> fails_at;
  rondo::Phase fails_in = rondo::Phase::kGradients;
  bool fails_here = false;

 private:
  const std::unique_ptr<TcpListener> listener_;
};

// Bytes of checkpoint files, by step and name ("parameters", "buffers", "local-w0").
using KeptFiles = std::map<std::pair<uint64_t, std::string>, std::string>;

// Keeps what one worker hands in, and gives it back.
class MemoryStore final : public StateSink, public StateSource {
 public:
  MemoryStore(std::string worker, std::shared_ptr<KeptFiles> files)
      : worker_(std::move(worker)), files_(std::move(files)) {}
  std::string TemporaryPath(StateFile file) override { return PathOf("put", file); }
  absl::StatusOr<SavedFile> Put(uint64_t step, StateFile file, const std::string& path,
                                const StopCheck& stop) override {
    if (waits) {
      waiting.Notify();
      while (!stop()) std::this_thread::yield();
    }
    if (fails) return absl::UnavailableError("no room");
    std::ifstream in(path, std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(in)), {});
    std::filesystem::remove(path);
    (*files_)[{step, NameOf(file)}] = bytes;
    return SavedFile{file, bytes.size(), "sha"};
  }
  absl::Status PutPartial(const PartialId& id, const std::string& path,
                          const StopCheck& stop) override {
    return Put(id.step, StateFile::kPartial, path, stop).status();
  }
  absl::StatusOr<std::string> Get(uint64_t step, StateFile file, const StopCheck&) override {
    const auto found = files_->find({step, NameOf(file)});
    if (found == files_->end()) return absl::NotFoundError("no " + NameOf(file));
    const std::string path = PathOf("get", file);
    std::ofstream(path, std::ios::binary) << found->second;
    return path;
  }
  bool fails = false;
  bool waits = false;          // Put waits until it is stopped,
  absl::Notification waiting;  // and says that it does.

 private:
  std::string NameOf(StateFile file) const {
    if (file == StateFile::kLocal) return "local-" + worker_;
    if (file == StateFile::kPartial) return "partial-" + worker_;
    return file == StateFile::kParameters ? "parameters" : "buffers";
  }
  std::string PathOf(const std::string& prefix, StateFile file) const {
    return (std::filesystem::path(testing::TempDir()) /
            (prefix + std::to_string(reinterpret_cast<uintptr_t>(this)) + NameOf(file)))
        .string();
  }
  const std::string worker_;
  const std::shared_ptr<KeptFiles> files_;
};

// One trainer and what it has reported.
class TestWorker {
 public:
  TestWorker(const QuadraticOptions& options, std::string name, std::shared_ptr<KeptFiles> files)
      : store_(std::move(name), std::move(files)),
        trainer_({[this, options](const Prepare&) -> std::variant<LoadedJob, PrepareProblem> {
                    LoadedJob job = MakeQuadraticJob(options);
                    engine_ = job.engine.get();
                    optimizer_ = job.optimizer.get();
                    return job;
                  },
                  &groups_, &store_, &clock_, &store_},
                 [this](Event event) {
                   absl::MutexLock lock(&mutex_);
                   events_.push_back(std::move(event));
                 }) {}

  void Do(const Command& command) { trainer_.Do(command); }
  // The next event; it must be a T.
  template <typename T>
  T Await() {
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(
        +[](std::deque<Event>* events) { return !events->empty(); }, &events_));
    Event event = std::move(events_.front());
    events_.pop_front();
    if (T* wanted = std::get_if<T>(&event)) return std::move(*wanted);
    ADD_FAILURE() << "event " << event.index() << " came instead";
    return T{};
  }
  // Waits until the trainer has done all commands before.
  void Settle() {
    Do(Listen{GroupId{1}});
    Await<EndpointReady>();
  }
  // Call only when settled.
  std::vector<float> parameters() {
    const DeviceSpan<float> w = engine_->parameters();
    return {w.data, w.data + w.size};
  }
  std::vector<float> velocity() {
    const DeviceSpan<float> v = optimizer_->moments().at(0);
    return {v.data, v.data + v.size};
  }
  Engine& engine() { return *engine_; }
  rondo::Optimizer& optimizer() { return *optimizer_; }
  MemoryStore& store() { return store_; }
  LoopbackGroups& groups() { return groups_; }

 private:
  RealClock clock_;
  LoopbackGroups groups_;
  MemoryStore store_;
  Engine* engine_ = nullptr;
  rondo::Optimizer* optimizer_ = nullptr;
  absl::Mutex mutex_;
  std::deque<Event> events_ ABSL_GUARDED_BY(mutex_);
  Trainer trainer_;
};

// The whole group.
class TestWorkers {
 public:
  TestWorkers(int count, const QuadraticOptions& options)
      : TestWorkers(std::vector<QuadraticOptions>(static_cast<size_t>(count), options)) {}
  // `files`: the checkpoints of an earlier life of the job.
  explicit TestWorkers(const std::vector<QuadraticOptions>& options,
                       std::shared_ptr<KeptFiles> files = std::make_shared<KeptFiles>())
      : files_(std::move(files)) {
    for (const QuadraticOptions& each : options) {
      const std::string name = "w" + std::to_string(workers_.size());
      workers_.push_back(std::make_unique<TestWorker>(each, name, files_));
      workers_.back()->Do(Prepare{});
      workers_.back()->Await<PrepareDone>();
    }
  }

  // Of the orders to come.
  Collective collective = Collective::kRing;
  double density = 0.3;  // Of 7 elements: 2.

  int size() const { return static_cast<int>(workers_.size()); }
  const std::shared_ptr<KeptFiles>& files() { return files_; }
  TestWorker& operator[](int rank) { return *workers_[rank]; }

  // All members, rank 0 the giver; `needs` one a rank.
  Assemble MakeAssemble(uint64_t group, Purpose purpose, std::vector<StateNeed> needs) const {
    Assemble assemble;
    assemble.purpose = purpose;
    assemble.group = {group};
    assemble.limit_seconds = 60;
    for (int rank = 0; rank < size(); ++rank) {
      assemble.members.push_back({"w" + std::to_string(rank),
                                  {static_cast<uint64_t>(rank) + 1},
                                  needs[static_cast<size_t>(rank)]});
    }
    return assemble;
  }
  std::vector<Formed> Form(const Assemble& assemble) {
    std::vector<int> all;
    for (int rank = 0; rank < size(); ++rank) all.push_back(rank);
    return FormOf(assemble, all);
  }
  // `assemble` names the members whose indices are given, in this order.
  std::vector<Formed> FormOf(const Assemble& assemble, const std::vector<int>& members) {
    std::vector<std::string> blobs;
    for (const int i : members) blobs.push_back(workers_[i]->groups().Listen().value());
    for (uint32_t rank = 0; rank < members.size(); ++rank) {
      workers_[members[rank]]->Do(FormGroup{assemble, rank, blobs, "0123456789abcdef"});
    }
    std::vector<Formed> formed;
    for (const int i : members) formed.push_back(workers_[i]->Await<GroupFormed>().formed);
    return formed;
  }
  // Rank 0 makes the initial state, the others get it.
  std::vector<Formed> Start(uint64_t group = 1) {
    std::vector<StateNeed> needs(workers_.size(), StateNeed::kAll);
    needs[0] = StateNeed::kInitial;
    return Form(MakeAssemble(group, Purpose::kStart, needs));
  }

  // Rank k takes `batch` positions a step, interleaved, as a coordinator deals them.
  Order MakeOrder(uint64_t group, uint64_t round, Mode mode, uint64_t first_step, uint64_t length,
                  int rank, uint64_t batch = 2) const {
    const uint64_t members = workers_.size();
    Order order;
    order.group = {group};
    order.round = {round};
    order.mode = mode;
    order.collective = collective;
    order.density = collective == Collective::kRing ? 0 : density;
    order.first_step = first_step;
    order.length = length;
    order.rates.assign(length, 0.25);
    if (length > 0) {
      order.runs.push_back({0, first_step * batch * members + static_cast<uint64_t>(rank), batch,
                            members, length, batch * members, false});
    }
    order.weight = static_cast<double>(batch);
    order.weight_sum = static_cast<double>(batch * members);
    return order;
  }
  // What a checkpoint's SaveNow asks for.
  void SaveAll(uint64_t group, uint64_t round, uint64_t step) {
    for (int rank = 0; rank < size(); ++rank) {
      std::vector<StateFile> kinds = {StateFile::kLocal};
      if (rank == 0) kinds = {StateFile::kParameters, StateFile::kBuffers, StateFile::kLocal};
      workers_[rank]->Do(Save{SaveNow{{group}, {round}, step, kinds}});
      workers_[rank]->Await<SaveDone>();
    }
  }
  // Of a local file or partial that is kept; empty: it has none.
  std::vector<float> KeptResidual(uint64_t step, const std::string& name) {
    const std::string path = (std::filesystem::path(testing::TempDir()) /
                              ("kept" + std::to_string(reinterpret_cast<uintptr_t>(this)) + name))
                                 .string();
    std::ofstream(path, std::ios::binary) << files_->at({step, name});
    const SafetensorsHeader header = ReadSafetensorsHeader(path).value();
    std::vector<float> residual;
    for (const SafetensorsEntry& entry : header.entries) {
      if (entry.name != "residual") continue;
      residual.resize(static_cast<size_t>(entry.elements));
      EXPECT_TRUE(
          ReadSafetensorsData(path, header, entry, SafetensorsType::kF32, residual.data()).ok());
    }
    return residual;
  }
  // What the member at `rank` has now; it saves its local file as that of `step`.
  std::vector<float> ResidualOf(int rank, uint64_t step = 1'000'000) {
    workers_[rank]->Do(Save{SaveNow{{1}, {1}, step, {StateFile::kLocal}}});
    workers_[rank]->Await<SaveDone>();
    return KeptResidual(step, "local-w" + std::to_string(rank));
  }
  std::vector<Ready> Train(uint64_t group, uint64_t round, Mode mode, uint64_t first_step,
                           uint64_t length) {
    for (int rank = 0; rank < size(); ++rank) {
      workers_[rank]->Do(worker::Train{MakeOrder(group, round, mode, first_step, length, rank)});
    }
    std::vector<Ready> ready;
    for (const auto& worker : workers_) ready.push_back(worker->Await<StepsDone>().ready);
    return ready;
  }
  std::vector<Reduced> ReduceAll(uint64_t group, uint64_t round, std::vector<double> weights,
                                 uint32_t attempt = 1) {
    Reduce reduce{{group}, {round}, attempt, {}};
    for (size_t rank = 0; rank < weights.size(); ++rank) {
      reduce.contributors.push_back({static_cast<uint32_t>(rank), weights[rank]});
    }
    for (const auto& worker : workers_) worker->Do(ReduceState{reduce});
    std::vector<Reduced> reduced;
    for (const auto& worker : workers_) reduced.push_back(worker->Await<ReduceDone>().reduced);
    return reduced;
  }
  void Apply(uint64_t group, uint64_t round, uint32_t attempt) {
    for (const auto& worker : workers_) {
      worker->Do(ApplyStaged{{round}, {group}, attempt});
      worker->Settle();
    }
  }

 private:
  const std::shared_ptr<KeptFiles> files_;
  std::vector<std::unique_ptr<TestWorker>> workers_;
};

}  // namespace rondo::worker

#endif  // RONDO_WORKER_RUNTIME_TEST_WORKERS_H_
