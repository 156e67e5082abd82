// What searcher.source_trial_id and searcher.source_checkpoint_uuid mean, looked up once: when the
// experiment is created. Called by create_experiment.cc on the pool; blocks.
#ifndef MASTER_API_EXPERIMENTS_WARM_START_H_
#define MASTER_API_EXPERIMENTS_WARM_START_H_

#include <optional>

#include "absl/status/statusor.h"
#include "master/core/model/searcher_config.h"
#include "master/store/interfaces/store.h"

namespace det::api {

struct WarmStart {
  model::CheckpointId checkpoint;
  model::ExperimentId experiment;  // whose it is
};

// The checkpoint, or the newest one of the trial whose files are there; none where the
// configuration names neither. NOT_FOUND, or FAILED_PRECONDITION for one that was deleted or is
// damaged, with the field.
absl::StatusOr<std::optional<WarmStart>> FindWarmStart(store::Store& store,
                                                       const model::SearcherConfig& config);

}  // namespace det::api

#endif  // MASTER_API_EXPERIMENTS_WARM_START_H_
