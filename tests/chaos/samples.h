// Which samples a round's orders handed out, one by one: slow and plain, for a verdict.
#ifndef RONDO_TESTS_CHAOS_SAMPLES_H_
#define RONDO_TESTS_CHAOS_SAMPLES_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "google/protobuf/repeated_field.h"
#include "proto/rondo/v1/training.pb.h"

namespace rondo::chaos {

// Epoch and position in the epoch's order.
using Sample = std::pair<uint64_t, uint64_t>;

// The samples of the steps from `begin` up to but without `end`, counted from the first of `runs`.
void AddSamples(const google::protobuf::RepeatedPtrField<v1::SampleRun>& runs, uint64_t begin,
                uint64_t end, std::vector<Sample>* samples);

}  // namespace rondo::chaos

#endif  // RONDO_TESTS_CHAOS_SAMPLES_H_
