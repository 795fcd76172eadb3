// For tests: model, data and end of the golden cases, all of which train on the digits.
#ifndef RONDO_TESTS_GOLDEN_GOLDEN_DIGITS_H_
#define RONDO_TESTS_GOLDEN_GOLDEN_DIGITS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/golden/golden_case.h"
#include "worker/core/sampler.h"
#include "worker/data/dataset.h"
#include "worker/engine/create_engine.h"
#include "worker/engine/engine.h"

namespace rondo {

// `split` is "train" or "test"; pixels are divided by `divisor`.
std::unique_ptr<Dataset> OpenDigits(const std::string& split, double divisor);

// Initial values from the case's seed.
EngineOptions OptionsOf(const GoldenCase& golden);

// The samples of one rank in all of the case's steps, of a data set of `samples`.
std::vector<SampleRun> RunsOf(const GoldenCase& golden, int64_t rank, int64_t samples);

// On the whole test split.
Evaluation EvaluateOnTest(const GoldenCase& golden, Engine* engine);

// After the last step: parameters, test loss and accuracy are the case's, within its tolerances.
void ExpectGoldenEnd(const GoldenCase& golden, Engine* engine);

}  // namespace rondo

#endif  // RONDO_TESTS_GOLDEN_GOLDEN_DIGITS_H_
