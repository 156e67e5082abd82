// One pass over all that is to be removed (README.md), step by step, each of which can be repeated.
// Called by Sweep on its thread; waits for the database and for disks. Never decides by itself what
// goes: that is in the rows, or is asked of the engine.
#ifndef MASTER_GC_COLLECTOR_H_
#define MASTER_GC_COLLECTOR_H_

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "master/core/cluster/event.h"
#include "master/core/model/file_globs.h"
#include "master/core/model/ids.h"
#include "master/store/interfaces/store.h"

namespace det::gc {

// For how many days what grows old is kept; -1: for ever.
struct Ages {
  int log_days = -1;  // of a trial that has ended, where nobody says otherwise
  int audit_days = -1;
};

struct SweeperDeps {
  store::Store* store = nullptr;        // reads
  store::Disposal* disposal = nullptr;  // the store's
  // Gives an event to the engine and waits until it is durable, or refused.
  std::function<absl::Status(cluster::Event)> submit;
  // RemoveCheckpointFiles.
  std::function<absl::Status(const model::CheckpointStorageConfig&, const model::CheckpointId&)>
      remove_files;
  // RemoveFilesOfCheckpoint: these alone.
  std::function<absl::Status(const model::CheckpointStorageConfig&, const model::CheckpointId&,
                             const model::Resources&)>
      remove_some_files;
  Ages ages;
  // Looked at between steps.
  std::function<bool()> stopping;
};

class Sweeper {
 public:
  explicit Sweeper(SweeperDeps deps) : deps_(std::move(deps)) {}

  // OK: all is done, or stays as it is with a reason that people can read. Anything else: the pass
  // broke off and is to be made again. CANCELLED: because of `stopping`.
  absl::Status Pass();
  // What is too old by then; as Pass.
  absl::Status RemoveOld(absl::Time now);

 private:
  // Why some of the files of an experiment are still there.
  using Failures = std::map<model::ExperimentId, std::string>;
  // Storages whose servers did not answer in this pass: the next checkpoint need not ask.
  using Away = std::vector<std::pair<model::CheckpointStorageConfig, absl::Status>>;

  absl::Status DeleteReleases();
  absl::Status ApplyRetentions();
  absl::Status ApplyRetention(model::ExperimentId id);
  absl::Status RemoveFiles(Failures& failures);
  absl::Status TrimFiles();
  // `remove`, unless its storage is away.
  absl::Status Remove(const model::CheckpointStorageConfig& storage, Away& away,
                      const std::function<absl::Status()>& remove) const;
  absl::Status RemoveRows(model::ExperimentId id);
  absl::Status CheckStop() const;

  const SweeperDeps deps_;
};

}  // namespace det::gc

#endif  // MASTER_GC_COLLECTOR_H_
