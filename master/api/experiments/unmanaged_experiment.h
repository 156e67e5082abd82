// Stores unmanaged experiments, which run outside of the cluster (docs/detached-mode.md).
//
// Called by services on the pool; blocks.
#ifndef MASTER_API_EXPERIMENTS_UNMANAGED_EXPERIMENT_H_
#define MASTER_API_EXPERIMENTS_UNMANAGED_EXPERIMENT_H_

#include <optional>
#include <string>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/thread_pool.h"
#include "master/api/experiments/create_experiment.h"
#include "master/core/cluster/request.h"
#include "master/core/model/ids.h"
#include "master/engine/engine.h"
#include "master/store/interfaces/store.h"

namespace det::api {

// INVALID_ARGUMENT if an external ID, which is the value of `field`, is too long for an index.
absl::Status CheckExternalId(const char* field, const std::string& id);

// Reserves an ID of the cluster and calls `then` with it, on the pool.
void ReserveId(engine::Engine& engine, base::ThreadPool& pool, cluster::ReserveId::Kind kind,
               absl::AnyInvocable<void(absl::StatusOr<int32_t>)> then);

// Stores the experiment under a new ID, which `then` gets, on the pool. ABORTED if its external ID
// was taken meanwhile.
void AddUnmanaged(engine::Engine& engine, store::Store& store, base::ThreadPool& pool,
                  Submission submission, std::optional<std::string> external_id, absl::Time now,
                  absl::AnyInvocable<void(absl::StatusOr<model::ExperimentId>)> then);

// Replaces the configuration of an existing experiment.
absl::Status ReplaceUnmanaged(store::Store& store, model::ExperimentId id,
                              const Submission& submission);

}  // namespace det::api

#endif  // MASTER_API_EXPERIMENTS_UNMANAGED_EXPERIMENT_H_
