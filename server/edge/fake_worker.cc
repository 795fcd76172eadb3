#include "server/edge/fake_worker.h"

#include <algorithm>
#include <utility>

#include "common/mix64.h"
#include "common/sha256.h"

namespace rondo::server {
namespace {

// Every worker of a group says the same: a function of the round alone.
uint64_t HashOf(uint64_t round) { return Mix64(round + 1); }

}  // namespace

FakeWorker::FakeWorker(std::shared_ptr<grpc::Channel> channel, FakeWorkerOptions options)
    : options_(std::move(options)),
      stub_(v1::Training::NewStub(std::move(channel))),
      stream_(stub_->Attend(&context_)) {}

v1::WorkerMessage FakeWorker::Draft() const {
  v1::WorkerMessage message;
  message.set_job_id(job_id_);
  message.set_term(term_);
  return message;
}

bool FakeWorker::Send(v1::WorkerMessage message) { return stream_->Write(message); }

bool FakeWorker::Receive(v1::CoordinatorMessage* message) { return stream_->Read(message); }

grpc::Status FakeWorker::End() {
  stream_->WritesDone();
  v1::CoordinatorMessage rest;
  while (stream_->Read(&rest)) {
  }
  return stream_->Finish();
}

void FakeWorker::SendHello() {
  v1::WorkerMessage message;
  v1::Hello* hello = message.mutable_hello();
  hello->set_name(options_.name);
  hello->set_incarnation(options_.incarnation);
  hello->set_dial(1);
  hello->set_device(v1::DEVICE_KIND_CPU);
  hello->mutable_versions()->set_protocol(1);
  hello->mutable_versions()->set_rondo("test");
  hello->mutable_versions()->set_torch("none");
  hello->set_host("here");
  hello->set_pid(1);
  Send(std::move(message));
}

FakeWorkerResult FakeWorker::Run() {
  FakeWorkerResult result;
  SendHello();
  v1::CoordinatorMessage message;
  while (Receive(&message)) Answer(message, &result);
  stream_->WritesDone();
  result.status = stream_->Finish();
  return result;
}

void FakeWorker::Answer(const v1::CoordinatorMessage& message, FakeWorkerResult* result) {
  job_id_ = message.job_id();
  term_ = message.term();
  v1::WorkerMessage answer = Draft();
  switch (message.body_case()) {
    case v1::CoordinatorMessage::kWelcome:
      return AnswerWelcome();
    case v1::CoordinatorMessage::kRefuse:
      result->refuse = message.refuse();
      return;
    case v1::CoordinatorMessage::kAssemble:
      return AnswerAssemble(message.assemble());
    case v1::CoordinatorMessage::kMesh:
      answer.mutable_formed()->set_group(message.mesh().group());
      answer.mutable_formed()->set_state_hash(HashOf(0));
      Send(std::move(answer));
      return;
    case v1::CoordinatorMessage::kOrder:
      result->orders.push_back(message.order());
      return AnswerOrder(message.order());
    case v1::CoordinatorMessage::kReduce:
      return AnswerReduce(message.reduce());
    case v1::CoordinatorMessage::kCommit:
      result->commits.push_back(message.commit());
      return;
    case v1::CoordinatorMessage::kEvaluate: {
      v1::Evaluated* evaluated = answer.mutable_evaluated();
      evaluated->set_group(message.evaluate().group());
      evaluated->set_round(message.evaluate().round());
      evaluated->set_loss_sum(0.5);
      evaluated->set_correct(1);
      evaluated->set_count(1);
      Send(std::move(answer));
      return;
    }
    case v1::CoordinatorMessage::kSave:
      return AnswerSave(message.save());
    case v1::CoordinatorMessage::kGoodbye:
      result->goodbye = message.goodbye();
      return;
    default:
      return;
  }
}

void FakeWorker::AnswerWelcome() {
  v1::WorkerMessage answer = Draft();
  v1::Prepared* prepared = answer.mutable_prepared();
  prepared->set_layout_hash(Sha256Hex("layout"));
  prepared->set_data_hash(Sha256Hex("data"));
  prepared->set_train_samples(options_.train_samples);
  prepared->set_test_samples(options_.test_samples);
  prepared->set_parameters(1000);
  Send(std::move(answer));
}

void FakeWorker::AnswerAssemble(const v1::Assemble& assemble) {
  v1::WorkerMessage answer = Draft();
  answer.mutable_endpoint()->set_group(assemble.group());
  answer.mutable_endpoint()->set_blob(options_.name);
  Send(std::move(answer));
}

void FakeWorker::AnswerOrder(const v1::Order& order) {
  order_ = order;
  v1::WorkerMessage answer = Draft();
  v1::Ready* ready = answer.mutable_ready();
  ready->set_group(order.group());
  ready->set_round(order.round());
  ready->set_steps(order.length());
  uint64_t samples = 0;
  for (const v1::SampleRun& run : order.runs()) samples += run.count() * run.steps();
  ready->set_samples(samples);
  ready->set_loss_sum(static_cast<double>(order.length()));
  ready->set_finite(true);
  ready->set_step_seconds(0.001);
  if (order.mode() == v1::MODE_PARALLEL) {
    ready->set_state_hash(HashOf(order.round()));
    ready->set_parameter_norm_squared(1);
  }
  Send(std::move(answer));
}

void FakeWorker::AnswerReduce(const v1::Reduce& reduce) {
  v1::WorkerMessage answer = Draft();
  v1::Reduced* reduced = answer.mutable_reduced();
  reduced->set_group(reduce.group());
  reduced->set_round(reduce.round());
  reduced->set_attempt(reduce.attempt());
  reduced->set_state_hash(HashOf(reduce.round()));
  reduced->set_parameter_norm_squared(1);
  reduced->set_reduce_seconds(0.0001);
  reduced->set_finite(true);
  Send(std::move(answer));
}

grpc::Status FakeWorker::Put(const v1::StateHeader& header, const std::string& content,
                             v1::PutStateReply* reply) {
  constexpr size_t kChunk = 1 << 20;
  grpc::ClientContext context;
  const auto writer = stub_->PutState(&context, reply);
  v1::StateChunk chunk;
  *chunk.mutable_header() = header;
  bool open = writer->Write(chunk);
  for (size_t at = 0; open && at < content.size(); at += kChunk) {
    chunk.set_data(content.substr(at, kChunk));
    open = writer->Write(chunk);
  }
  writer->WritesDone();
  return writer->Finish();
}

void FakeWorker::AnswerSave(const v1::SaveNow& save) {
  v1::WorkerMessage answer = Draft();
  v1::Saved* saved = answer.mutable_saved();
  saved->set_group(save.group());
  saved->set_round(save.round());
  saved->set_step(save.step());
  for (const int file : save.files()) {
    v1::StateHeader header;
    header.set_job_id(job_id_);
    header.set_term(term_);
    header.set_worker(options_.name);
    header.set_incarnation(options_.incarnation);
    header.set_step(save.step());
    header.set_file(static_cast<v1::StateFile>(file));
    header.set_size(options_.state.size());
    header.set_sha256(Sha256Hex(options_.state));
    v1::PutStateReply reply;
    const grpc::Status status = Put(header, options_.state, &reply);
    if (!status.ok()) {
      v1::WorkerMessage failure = Draft();
      failure.mutable_save_failed()->set_group(save.group());
      failure.mutable_save_failed()->set_round(save.round());
      failure.mutable_save_failed()->set_step(save.step());
      failure.mutable_save_failed()->set_text(status.error_message());
      Send(std::move(failure));
      return;
    }
    v1::SavedFile* named = saved->add_files();
    named->set_file(header.file());
    named->set_size(reply.size());
    named->set_sha256(reply.sha256());
  }
  Send(std::move(answer));
}

}  // namespace rondo::server
