// What searcher.source_trial_id and searcher.source_checkpoint_uuid mean, looked up once: when the
// experiment is created. Called by create_experiment.cc on the pool; blocks.
#ifndef MASTER_SERVICE_WARM_START_H_
#define MASTER_SERVICE_WARM_START_H_

#include <optional>

#include "absl/status/statusor.h"
#include "master/model/searcher_config.h"
#include "master/store/store.h"

namespace det::service {

// The checkpoint, or the newest one of the trial; none where the configuration names neither.
// NOT_FOUND, with the field, where there is none.
absl::StatusOr<std::optional<model::CheckpointId>> FindWarmStart(
    store::Store& store, const model::SearcherConfig& config);

}  // namespace det::service

#endif  // MASTER_SERVICE_WARM_START_H_
