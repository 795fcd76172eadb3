// What is left of a checkpoint that a job may go back to. Tells a checkpoint that is incomplete or
// damaged from one whose folder is away: only the former may be passed over.
#ifndef RONDO_SERVER_EDGE_CHECKPOINT_INSPECTION_H_
#define RONDO_SERVER_EDGE_CHECKPOINT_INSPECTION_H_

#include <string>

#include "absl/status/statusor.h"
#include "server/core/job_machine.h"

namespace rondo::server {

// `root` holds the checkpoints (checkpoint_store.h) of this job. A root that is not there, cannot
// be read, or holds no checkpoint at all (a mount point without its file system) is away; so is
// what an error other than "no such file" hides. Cost: a few calls a file; with `request.whole`
// each is read and hashed. Threads: any; blocks on the disk.
CheckpointFound InspectCheckpoint(const std::string& root, const std::string& job_id,
                                  const LookForCheckpoint& request);

// A small file's bytes. Errors: NotFound: there is none; Unavailable: it cannot be read just now.
absl::StatusOr<std::string> ReadManifestFile(const std::string& path);

// Errors: Unavailable says why the folder `root` of checkpoints cannot be read.
absl::Status CheckReachable(const std::string& root);

}  // namespace rondo::server

#endif  // RONDO_SERVER_EDGE_CHECKPOINT_INSPECTION_H_
