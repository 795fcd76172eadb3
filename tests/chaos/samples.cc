#include "tests/chaos/samples.h"

#include <algorithm>

namespace rondo::chaos {

void AddSamples(const google::protobuf::RepeatedPtrField<v1::SampleRun>& runs, uint64_t begin,
                uint64_t end, std::vector<Sample>* samples) {
  uint64_t first_step = 0;  // Of the run.
  uint64_t next_step = 0;   // After the last run that was no part of another's steps.
  for (const v1::SampleRun& run : runs) {
    if (!run.same_steps()) first_step = next_step;
    next_step = std::max(next_step, first_step + run.steps());
    for (uint64_t s = 0; s < run.steps(); ++s) {
      if (first_step + s < begin || first_step + s >= end) continue;
      for (uint64_t i = 0; i < run.count(); ++i) {
        samples->emplace_back(run.epoch(), run.first() + s * run.advance() + i * run.stride());
      }
    }
  }
}

}  // namespace rondo::chaos
