// A worker without a model: it answers every message of the coordinator at once, with numbers that
// look right. For tests and for measuring the control path; it speaks the real wire protocol.
#ifndef RONDO_SERVER_EDGE_FAKE_WORKER_H_
#define RONDO_SERVER_EDGE_FAKE_WORKER_H_

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "proto/rondo/v1/training.grpc.pb.h"
#include "proto/rondo/v1/training.pb.h"

namespace rondo::server {

struct FakeWorkerOptions {
  std::string name = "w0";
  uint64_t incarnation = 1;
  uint64_t train_samples = 1500;
  uint64_t test_samples = 297;
  std::string state = "state";  // The content of each file that it hands in.
};

// What a run of one worker came to.
struct FakeWorkerResult {
  v1::Goodbye goodbye;  // Reason UNSPECIFIED: none came.
  v1::Refuse refuse;    // Reason UNSPECIFIED: none came.
  std::vector<v1::Order> orders;
  std::vector<v1::Commit> commits;
  grpc::Status status;
};

// One worker and its stream. Threads: one, but for Cancel.
class FakeWorker {
 public:
  FakeWorker(std::shared_ptr<grpc::Channel> channel, FakeWorkerOptions options);

  // Hello, then an answer to everything until the stream ends. Blocks.
  FakeWorkerResult Run();

  // Single steps, for tests that break the rules.
  void SendHello();
  bool Send(v1::WorkerMessage message);
  bool Receive(v1::CoordinatorMessage* message);
  // Ends this side; waits for the other.
  grpc::Status End();
  void Cancel() { context_.TryCancel(); }

  grpc::Status Put(const v1::StateHeader& header, const std::string& content,
                   v1::PutStateReply* reply);

 private:
  void Answer(const v1::CoordinatorMessage& message, FakeWorkerResult* result);
  void AnswerWelcome();
  void AnswerAssemble(const v1::Assemble& assemble);
  void AnswerOrder(const v1::Order& order);
  void AnswerReduce(const v1::Reduce& reduce);
  void AnswerSave(const v1::SaveNow& save);
  v1::WorkerMessage Draft() const;

  const FakeWorkerOptions options_;
  std::unique_ptr<v1::Training::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1::WorkerMessage, v1::CoordinatorMessage>> stream_;
  std::string job_id_;
  uint64_t term_ = 0;
  v1::Order order_;
};

}  // namespace rondo::server

#endif  // RONDO_SERVER_EDGE_FAKE_WORKER_H_
