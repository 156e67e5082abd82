// Finds the storages of checkpoints. A checkpoint is in the storage that its program registered
// (docs/detached-mode.md), else in that of its experiment.
//
// Created for one request; called by services on the pool; blocks.
#ifndef MASTER_API_COMMON_CHECKPOINT_STORAGES_H_
#define MASTER_API_COMMON_CHECKPOINT_STORAGES_H_

#include <cstdint>
#include <map>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "master/core/experiment/experiment.h"
#include "master/core/model/reports.h"
#include "master/core/model/storage_config.h"
#include "master/store/interfaces/store.h"

namespace det::api {

class CheckpointStorages {
 public:
  explicit CheckpointStorages(store::Store& store) : store_(store) {}

  // Reads each registered storage once.
  absl::StatusOr<model::CheckpointStorageConfig> Find(
      const model::CheckpointRecord& checkpoint,
      const model::CheckpointStorageConfig& of_experiment);

 private:
  store::Store& store_;
  std::map<int32_t, model::CheckpointStorageConfig> registered_;
};

// Returns FAILED_PRECONDITION if the files are in a folder of the machine where the program of an
// unmanaged experiment ran.
absl::Status CheckReachable(const experiment::Experiment& experiment,
                            const model::CheckpointStorageConfig& storage);

}  // namespace det::api

#endif  // MASTER_API_COMMON_CHECKPOINT_STORAGES_H_
