// Collectives and what reductions cost, from the core's values to those on the wire and on disk.
#ifndef RONDO_SERVER_EDGE_COMM_CODEC_H_
#define RONDO_SERVER_EDGE_COMM_CODEC_H_

#include <vector>

#include "proto/rondo/v1/job.pb.h"
#include "proto/rondo/v1/jobs.pb.h"
#include "proto/rondo/v1/training.pb.h"
#include "server/core/comm_stats.h"
#include "server/core/messages.h"
#include "server/core/records.h"

namespace rondo::server {

v1::CollectiveKind EncodeCollective(Collective collective);
void EncodeCost(const PhaseCost& cost, v1::PhaseCost* out);
void EncodeSparse(const SparseSummary& summary, v1::SparseRound* out);
// Collective, density, costs and what is sparse of a round.
void EncodeReductions(const CommitRecord& commit, v1::Round* out);
void EncodeTotals(const CommStats& stats, v1::CommStats* out);

}  // namespace rondo::server

#endif  // RONDO_SERVER_EDGE_COMM_CODEC_H_
