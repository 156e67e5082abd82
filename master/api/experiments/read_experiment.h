// Reads experiments and trials as the API returns them: their rows and their live state.
//
// Called by services on the pool; blocks.
#ifndef MASTER_API_EXPERIMENTS_READ_EXPERIMENT_H_
#define MASTER_API_EXPERIMENTS_READ_EXPERIMENT_H_

#include <memory>

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "base/clock.h"
#include "base/thread_pool.h"
#include "det/api/v1/experiment.pb.h"
#include "det/api/v1/trial.pb.h"
#include "master/engine/engine.h"
#include "master/store/interfaces/records.h"
#include "master/store/interfaces/store.h"

namespace det::proto {
class WrittenParts;
}  // namespace det::proto

namespace det::api {

store::ExperimentQuery ToQuery(const v1::GetExperimentsRequest& request);

// Reads an experiment with its live state and the ids of its trials; `then` runs on the pool. Its
// configuration becomes a part in `written`, unless that is null. `read`, which may be null, is
// called with the cluster on the engine's loop.
void ReadExperiment(engine::Engine& engine, store::Store& store, base::ThreadPool& pool,
                    const base::Clock& clock, model::ExperimentId id,
                    absl::AnyInvocable<void(absl::StatusOr<v1::Experiment>)> then,
                    std::shared_ptr<proto::WrittenParts> written = nullptr,
                    absl::AnyInvocable<void(const cluster::Cluster&)> read = nullptr);

// Reads a trial with its live state and its allocations; `then` runs on the pool.
void ReadTrial(engine::Engine& engine, store::Store& store, base::ThreadPool& pool,
               const base::Clock& clock, model::TrialId id,
               absl::AnyInvocable<void(absl::StatusOr<v1::Trial>)> then);

}  // namespace det::api

#endif  // MASTER_API_EXPERIMENTS_READ_EXPERIMENT_H_
