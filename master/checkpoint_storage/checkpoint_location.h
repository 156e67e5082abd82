// Where an experiment may store its checkpoints. Its configuration names a folder or a bucket,
// which the master reads on behalf of users.
//
// Called by create_experiment.cc on the pool. Resolves symbolic links on this machine; never
// changes anything.
#ifndef MASTER_CHECKPOINT_STORAGE_CHECKPOINT_LOCATION_H_
#define MASTER_CHECKPOINT_STORAGE_CHECKPOINT_LOCATION_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "master/checkpoint_storage/checkpoint_bucket.h"
#include "master/core/model/experiment_config.h"

namespace det::checkpoint_storage {

// Absolute paths. Empty ones are ignored.
struct CheckpointLocations {
  std::string own;                    // the cluster's folder: always allowed
  std::string data_dir;               // the master's data directory: nothing else in it is allowed
  std::vector<std::string> roots;     // if not empty, only these are allowed
  checkpoint_storage::Rules buckets;  // the same, for buckets
};

// INVALID_ARGUMENT for a path with "..", outside of `roots` or, without roots, in a folder of the
// operating system (/, /etc, /usr, ...), also through symbolic links; and for a bucket that is not
// among the roots, if there are any.
absl::Status CheckCheckpointLocation(const CheckpointLocations& locations,
                                     const model::CheckpointStorageConfig& storage);

// The location of a checkpoint's files: a path, or "s3://BUCKET/PREFIX/ID".
std::string GetCheckpointFolder(const model::CheckpointStorageConfig& storage,
                                const model::CheckpointId& id);

}  // namespace det::checkpoint_storage

#endif  // MASTER_CHECKPOINT_STORAGE_CHECKPOINT_LOCATION_H_
