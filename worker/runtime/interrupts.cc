#include "worker/runtime/interrupts.h"

#include <algorithm>
#include <utility>

namespace rondo::worker {

void Interrupts::AbortLocked() {
  if (flag_) flag_->Set();
  if (communicator_) communicator_->Abort();
}

void Interrupts::LeaveGroup(GroupId group) {
  absl::MutexLock lock(&mutex_);
  left_.store(std::max(left_.load(), group.value));
  if (group_ <= group) AbortLocked();
}

void Interrupts::Stop() {
  absl::MutexLock lock(&mutex_);
  stopped_.store(true);
  AbortLocked();
}

std::shared_ptr<AbortFlag> Interrupts::EnterGroup(GroupId group) {
  absl::MutexLock lock(&mutex_);
  group_ = group;
  communicator_.reset();
  flag_ = std::make_shared<AbortFlag>();
  if (IsLeft(group)) flag_->Set();
  return flag_;
}

void Interrupts::SetCommunicator(std::shared_ptr<Communicator> communicator) {
  absl::MutexLock lock(&mutex_);
  communicator_ = std::move(communicator);
  if (IsLeft(group_)) AbortLocked();
}

}  // namespace rondo::worker
