// A job as text again: to compare two jobs key by key, and to show one with its defaults.
#ifndef RONDO_COMMON_JOB_JOB_TEXT_H_
#define RONDO_COMMON_JOB_JOB_TEXT_H_

#include <string>
#include <utility>
#include <vector>

#include "proto/rondo/v1/job.pb.h"

namespace rondo {

// Key paths and values of the job file, defaults included, keys that its kinds do not use left out,
// in the order of the documentation. Without `id` and `resolved`.
std::vector<std::pair<std::string, std::string>> JobKeys(const v1::Job& job);

// The canonical text: a job file that parses to the same job, one line a section. Equal jobs have
// equal texts.
std::string FormatJob(const v1::Job& job);

// The keys whose values differ, or that only one of the jobs has.
std::vector<std::string> DifferingKeys(const v1::Job& a, const v1::Job& b);

}  // namespace rondo

#endif  // RONDO_COMMON_JOB_JOB_TEXT_H_
