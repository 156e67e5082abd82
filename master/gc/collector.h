// Garbage collection (README.md): a pass consists of steps, each of which can be repeated. Called
// by GcThread on its thread; blocks on the database and on storage. It does not decide what to
// remove: the rows say so, or the engine decides.
#ifndef MASTER_GC_COLLECTOR_H_
#define MASTER_GC_COLLECTOR_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "master/core/cluster/event.h"
#include "master/core/model/file_globs.h"
#include "master/core/model/ids.h"
#include "master/store/interfaces/store.h"

namespace det::gc {

// For how many days expiring data is kept; -1: forever.
struct RetentionDays {
  int log_days = -1;  // after the end of a trial, unless set otherwise
  int audit_days = -1;
};

struct CollectorDeps {
  store::Store* store = nullptr;                           // reads, and deletes projects
  store::GarbageCollection* garbage_collection = nullptr;  // part of `store`
  // Submits an event to the engine and waits until it is durable or refused.
  std::function<absl::Status(cluster::Event)> submit;
  // RemoveCheckpointFiles.
  std::function<absl::Status(const model::CheckpointStorageConfig&, const model::CheckpointId&)>
      remove_files;
  // RemoveSomeCheckpointFiles.
  std::function<absl::Status(const model::CheckpointStorageConfig&, const model::CheckpointId&,
                             const model::Resources&)>
      remove_some_files;
  // checkpoint_storage::RemoveExperimentFiles.
  std::function<absl::Status(const model::CheckpointStorageConfig&, model::ExperimentId,
                             const std::vector<model::TrialId>&)>
      remove_experiment_files;
  RetentionDays retention_days;
  // Checked between steps.
  std::function<bool()> stopping;
};

class Collector {
 public:
  explicit Collector(CollectorDeps deps) : deps_(std::move(deps)) {}

  // Runs one pass. OK: everything was removed, or a reason that users can read was recorded.
  // Otherwise the pass was interrupted and must be repeated. CANCELLED: because of `stopping`.
  absl::Status Collect();
  // Removes data that has expired by `now`; returns as Collect.
  absl::Status RemoveExpired(absl::Time now);

 private:
  // Why some files of an experiment could not be removed.
  using Failures = std::map<model::ExperimentId, std::string>;
  // Storages whose servers did not respond in this pass; they are not tried again in it.
  using UnavailableStorages = std::vector<std::pair<model::CheckpointStorageConfig, absl::Status>>;

  absl::Status DeleteReleased();
  // Deletes the experiments of deleted projects and workspaces.
  absl::Status DeleteOfProjects();
  // Deletes projects and workspaces after their experiments.
  absl::Status DeleteProjects(const std::vector<int32_t>& projects,
                              const std::vector<int32_t>& workspaces);
  absl::Status ApplyRetentions();
  absl::Status ApplyRetention(model::ExperimentId id);
  absl::Status RemoveFiles(Failures& failures);
  absl::Status TrimFiles();
  // Calls `remove` unless the storage is unavailable.
  absl::Status Remove(const model::CheckpointStorageConfig& storage,
                      UnavailableStorages& unavailable,
                      const std::function<absl::Status()>& remove) const;
  // Removes what the experiment has stored beside its checkpoints.
  absl::Status RemoveExperimentFiles(model::ExperimentId id);
  absl::Status RemoveExperimentRows(model::ExperimentId id);
  absl::Status CheckStop() const;

  const CollectorDeps deps_;
};

}  // namespace det::gc

#endif  // MASTER_GC_COLLECTOR_H_
