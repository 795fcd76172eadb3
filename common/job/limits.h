// The largest numbers a job may have.
#ifndef RONDO_COMMON_JOB_LIMITS_H_
#define RONDO_COMMON_JOB_LIMITS_H_

#include <cstdint>

namespace rondo {

inline constexpr int64_t kJobStepsMax = 1'000'000'000;
inline constexpr int64_t kJobWorkersMax = 1024;
inline constexpr int64_t kJobSamplesMax = int64_t{1} << 40;

}  // namespace rondo

#endif  // RONDO_COMMON_JOB_LIMITS_H_
