// What workers must agree on. Pure.
#ifndef RONDO_SERVER_CORE_FACTS_H_
#define RONDO_SERVER_CORE_FACTS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "server/core/messages.h"

namespace rondo::server {

struct FactsProblem {
  RefuseReason reason = RefuseReason::kModel;  // kModel or kFiles.
  std::string text;
};

// The first thing in which `facts` differs from the reference, in words that name it.
std::optional<FactsProblem> CompareFacts(const Facts& reference, const Facts& facts);

}  // namespace rondo::server

#endif  // RONDO_SERVER_CORE_FACTS_H_
