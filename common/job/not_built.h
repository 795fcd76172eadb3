// What the job file knows but this version does not do yet. One row each: built means deleted here.
#ifndef RONDO_COMMON_JOB_NOT_BUILT_H_
#define RONDO_COMMON_JOB_NOT_BUILT_H_

#include <vector>

#include "common/job/diagnostic.h"
#include "proto/rondo/v1/job.pb.h"

namespace rondo {

struct NotBuilt {
  const char* key;
  const char* what;
  const char* instead;
  // True when the job asks for it.
  bool (*wanted)(const v1::Job& job);
};

const std::vector<NotBuilt>& NotBuiltYet();

}  // namespace rondo

#endif  // RONDO_COMMON_JOB_NOT_BUILT_H_
