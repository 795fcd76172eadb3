// Whose residual lives on and whose is lost (rule 9 of proto/RULES.md). A residual is what a worker
// had to give and a sparse reduction did not take. It is kept only by who holds every committed
// result since it joined; what anybody else had is zero from then on, which an event says by name
// with the norm last reported. Pure.
#ifndef RONDO_SERVER_CORE_RESIDUALS_H_
#define RONDO_SERVER_CORE_RESIDUALS_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "server/core/messages.h"
#include "server/core/policy.h"
#include "server/core/records.h"
#include "server/core/round.h"

namespace rondo::server {

// By worker: the squared norm as last reported. Zero ones are not in it.
using Residuals = std::map<std::string, double>;

struct LostResidual {
  std::string worker;
  double norm_squared = 0;
  std::string why;  // In words, to follow "the residual of NAME is zero: ".
};

struct ResidualsAfter {
  std::vector<ResidualNorm> kept;  // By name. Of members without a report as before: they may hold
                                   // the result.
  std::vector<LostResidual> lost;  // By name.
};

// Of the commit of the open attempt's results with `hash`.
ResidualsAfter DecideResiduals(const Round& round, uint64_t hash, const Residuals& before);

// Of a member that has formed its group: what it needed decides whether its residual could stay.
// `reported`: the squared norm of the residual that it goes on with.
std::optional<LostResidual> LostInForming(const Member& member, double reported,
                                          const Residuals& before);

// Of rounds that are of another mode from here on: a residual of gradients is no change of the
// parameters, nor the other way round.
std::vector<LostResidual> LostWithMode(RoundMode before, RoundMode now, const Residuals& residuals);

// Of a job that has gone back to a checkpoint and goes on with `members`: the others' files are out
// of use (rule 21).
std::vector<LostResidual> LostWithFiles(const std::vector<RoundMember>& members,
                                        const Residuals& before);

}  // namespace rondo::server

#endif  // RONDO_SERVER_CORE_RESIDUALS_H_
