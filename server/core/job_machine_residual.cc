// Residuals that were not delivered: the events that name them (rule 9).
#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "server/core/job_machine_impl.h"

namespace rondo::server {

void JobMachine::Impl::TellLost(const std::vector<LostResidual>& lost) {
  for (const LostResidual& residual : lost) {
    NoticeRecord notice{.at = now_, .kind = std::string(kResidualZeroed), .text = {}};
    notice.text =
        fmt::format("the residual of {} is zero, its norm was {:.4g} when last reported: {}",
                    residual.worker, std::sqrt(residual.norm_squared), residual.why);
    if (round_) notice.round = round_->id;
    notice.worker = residual.worker;
    notice.residual_norm_squared = residual.norm_squared;
    Journal(std::move(notice));
  }
}

// The group in hand has formed.
void JobMachine::Impl::TellLostInForming() {
  std::vector<LostResidual> lost;
  for (size_t rank = 0; rank < assembly_->group.members.size(); ++rank) {
    auto one = LostInForming(assembly_->group.members[rank], assembly_->residuals[rank],
                             committed_.residuals);
    if (one) lost.push_back(*std::move(one));
  }
  TellLost(lost);
}

}  // namespace rondo::server
