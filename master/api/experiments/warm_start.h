// Resolves searcher.source_trial_id and searcher.source_checkpoint_uuid when an experiment is
// created.
//
// Called by create_experiment.cc on the pool; blocks.
#ifndef MASTER_API_EXPERIMENTS_WARM_START_H_
#define MASTER_API_EXPERIMENTS_WARM_START_H_

#include <optional>

#include "absl/status/statusor.h"
#include "master/core/model/searcher_config.h"
#include "master/store/interfaces/store.h"

namespace det::api {

struct WarmStart {
  model::CheckpointId checkpoint;
  model::ExperimentId experiment;  // the owner of the checkpoint
};

// Returns the source checkpoint, or the newest COMPLETED checkpoint of the source trial; nullopt if
// neither field is set. Returns NOT_FOUND if there is none, FAILED_PRECONDITION if the checkpoint
// is deleted or damaged; the message begins with the field.
absl::StatusOr<std::optional<WarmStart>> FindWarmStart(store::Store& store,
                                                       const model::SearcherConfig& config);

}  // namespace det::api

#endif  // MASTER_API_EXPERIMENTS_WARM_START_H_
