// Where an experiment may keep its checkpoints: its configuration names a folder of the machines,
// or a bucket, and the master reads there for whoever asks.
//
// Called by create_experiment.cc on the pool. Looks at links on this machine; never changes
// anything.
#ifndef MASTER_CHECKPOINT_STORAGE_CHECKPOINT_PLACE_H_
#define MASTER_CHECKPOINT_STORAGE_CHECKPOINT_PLACE_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "master/checkpoint_storage/checkpoint_bucket.h"
#include "master/core/model/experiment_config.h"

namespace det::checkpoint_storage {

// Absolute paths. Empty ones are left out.
struct CheckpointPlaces {
  std::string own;                    // the cluster's folder: always allowed
  std::string data_dir;               // the master's: nothing else of it is
  std::vector<std::string> roots;     // if there are any, nothing outside of them is
  checkpoint_storage::Rules buckets;  // the same, for buckets
};

// INVALID_ARGUMENT for a path with "..", one outside of `roots` or, without roots, one of the
// operating system's own folders (/, /etc, /usr, ...), also by way of links; for a bucket that is
// not among the roots, if there are any.
absl::Status CheckCheckpointPlace(const CheckpointPlaces& places,
                                  const model::CheckpointStorageConfig& storage);

// Where the files of a checkpoint lie: a path, or "s3://BUCKET/PREFIX/ID".
std::string CheckpointFolder(const model::CheckpointStorageConfig& storage,
                             const model::CheckpointId& id);

}  // namespace det::checkpoint_storage

#endif  // MASTER_CHECKPOINT_STORAGE_CHECKPOINT_PLACE_H_
