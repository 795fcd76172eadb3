#include "server/core/facts.h"

#include <fmt/format.h>

#include <algorithm>

namespace rondo::server {
namespace {

std::optional<FactsProblem> CompareFiles(const Facts& reference, const Facts& facts) {
  for (const FileFact& file : facts.files) {
    const auto other = std::find_if(reference.files.begin(), reference.files.end(),
                                    [&](const FileFact& f) { return f.path == file.path; });
    if (other == reference.files.end()) continue;
    if (other->size == file.size && other->sha256 == file.sha256) continue;
    return FactsProblem{
        RefuseReason::kFiles,
        fmt::format("file {} has {} bytes and SHA-256 {}, the job's first worker has {} bytes and "
                    "{}: give each worker the same files",
                    file.path, file.size, file.sha256, other->size, other->sha256)};
  }
  return std::nullopt;
}

FactsProblem Differs(RefuseReason reason, std::string_view what, const std::string& mine,
                     const std::string& reference) {
  return {reason, fmt::format("{} is {}, the job's first worker has {}", what, mine, reference)};
}

}  // namespace

std::optional<FactsProblem> CompareFacts(const Facts& reference, const Facts& facts) {
  if (auto problem = CompareFiles(reference, facts)) return problem;
  if (facts.parameters != reference.parameters) {
    return Differs(RefuseReason::kModel, "the model's number of parameters",
                   fmt::to_string(facts.parameters), fmt::to_string(reference.parameters));
  }
  if (facts.float_buffers != reference.float_buffers) {
    return Differs(RefuseReason::kModel, "the model's number of float buffer elements",
                   fmt::to_string(facts.float_buffers), fmt::to_string(reference.float_buffers));
  }
  if (facts.layout_hash != reference.layout_hash) {
    return Differs(RefuseReason::kModel,
                   "the hash of the model's parameter list (names, shapes, dtypes)",
                   facts.layout_hash, reference.layout_hash);
  }
  if (facts.train_samples != reference.train_samples) {
    return Differs(RefuseReason::kFiles, "the number of training samples",
                   fmt::to_string(facts.train_samples), fmt::to_string(reference.train_samples));
  }
  if (facts.test_samples != reference.test_samples) {
    return Differs(RefuseReason::kFiles, "the number of test samples",
                   fmt::to_string(facts.test_samples), fmt::to_string(reference.test_samples));
  }
  if (facts.data_hash != reference.data_hash) {
    return Differs(RefuseReason::kFiles, "the hash of the data set", facts.data_hash,
                   reference.data_hash);
  }
  return std::nullopt;
}

}  // namespace rondo::server
