#include "tests/chaos/overheard.h"

namespace rondo::chaos {

void Overheard::Add(const Passing& passing) {
  if (passing.from_worker != nullptr && passing.from_worker->has_reduced()) {
    const v1::Reduced& reduced = passing.from_worker->reduced();
    reported_[{reduced.round(), reduced.group(), reduced.attempt()}].insert(reduced.state_hash());
  }
  if (passing.from_worker != nullptr && passing.from_worker->has_ready() &&
      passing.from_worker->ready().state_hash() != 0) {
    const v1::Ready& ready = passing.from_worker->ready();
    reported_[{ready.round(), ready.group(), 0}].insert(ready.state_hash());
  }
  if (passing.to_worker != nullptr && passing.to_worker->has_commit()) {
    const v1::Commit& commit = passing.to_worker->commit();
    committed_[{commit.round(), commit.group(), commit.attempt()}].insert(commit.state_hash());
  }
}

}  // namespace rondo::chaos
