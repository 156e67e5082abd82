// What searcher.source_trial_id and searcher.source_checkpoint_uuid mean, looked up once: when the
// experiment is created. Called by create_experiment.cc on the pool; blocks.
#ifndef MASTER_SERVICE_WARM_START_H_
#define MASTER_SERVICE_WARM_START_H_

#include <optional>

#include "absl/status/statusor.h"
#include "master/model/searcher_config.h"
#include "master/store/store.h"

namespace det::service {

struct WarmStart {
  model::CheckpointId checkpoint;
  model::ExperimentId experiment;  // whose it is
};

// The checkpoint, or the newest one of the trial whose files are there; none where the
// configuration names neither. NOT_FOUND, or FAILED_PRECONDITION for one that was deleted or is
// damaged, with the field.
absl::StatusOr<std::optional<WarmStart>> FindWarmStart(store::Store& store,
                                                       const model::SearcherConfig& config);

}  // namespace det::service

#endif  // MASTER_SERVICE_WARM_START_H_
