// What people ask of the cluster, as values: each is answered with a Status, and refused without
// any change. Part of event.h. PURE.
#ifndef MASTER_CORE_CLUSTER_REQUEST_H_
#define MASTER_CORE_CLUSTER_REQUEST_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "master/core/cluster/disposal.h"
#include "master/core/cluster/image.h"
#include "master/core/cluster/spaces.h"
#include "master/core/model/agent.h"
#include "master/core/model/experiment_config.h"
#include "master/core/model/ids.h"
#include "master/core/model/resource_pool.h"
#include "master/core/searcher/operation.h"

namespace det::cluster {

// ---- experiments ----

struct CreateExperiment {
  std::shared_ptr<const model::ExperimentConfig> config;  // valid
  std::string original_config;
  std::string context_hash;
  model::UserId owner;
  std::string owner_name;
  std::string request_id;
  bool activate = true;
  // From which every trial starts; what searcher.source_* names, looked up.
  std::optional<model::CheckpointId> warm_start = std::nullopt;
  std::optional<model::ExperimentId> warm_start_from = std::nullopt;  // whose that checkpoint is
  std::optional<model::ExperimentId> forked_from = std::nullopt;
  int32_t workspace = 1, project = 1;  // where it goes; by name in `config`
};
struct PauseExperiment {
  model::ExperimentId id;
};
struct ActivateExperiment {
  model::ExperimentId id;
};
struct CancelExperiment {
  model::ExperimentId id;
};
struct KillExperiment {
  model::ExperimentId id;
};
struct KillTrial {
  model::TrialId id;
};
// An experiment that has ended goes on: `single` with its trial, `random` and `grid` with the
// trials that have not completed, each from its newest checkpoint. `rows`: of this experiment
// alone, as the store has them, since the cluster has forgotten it. OK and nothing more where it
// runs already with this configuration; ABORTED when it has gone on and ended again since the rows
// were read.
struct ContinueExperiment {
  Image rows;
  std::shared_ptr<const model::ExperimentConfig> config;  // null: as it was
};
// Hidden from lists, or shown again. FAILED_PRECONDITION while it runs.
struct ArchiveExperiment {
  model::ExperimentId id;
  bool archived = true;
};
// All of it but checkpoints that others hold. FAILED_PRECONDITION while it runs; OK also twice.
struct DeleteExperiment {
  model::ExperimentId id;
};
// Applied now, if it has ended, else at its end.
struct SetRetention {
  model::ExperimentId id;
  experiment::RetentionPolicy policy;
};
// Those that are held stay.
struct DeleteCheckpoints {
  std::vector<model::CheckpointId> ids;    // all of their files
  std::vector<TrimCheckpoint> trims = {};  // some
};
// The user's own program drives the search. FAILED_PRECONDITION unless the experiment's searcher
// takes operations; the same id of `posted` again is OK.
struct PostSearcherOperations {
  model::ExperimentId id;
  searcher::OperationsPosted posted;
};

// ---- the queue, the machines, the pools ----

// All of them or none. NOT_FOUND for a job that is not in the queue.
struct UpdateQueue {
  struct Update {
    model::JobId job;
    std::optional<int> priority = std::nullopt;
    std::optional<double> weight = std::nullopt;
    std::optional<int> max_slots = std::nullopt;  // 0: as many as there are
    // What runs is asked to save and go, and queued again there.
    std::optional<std::string> resource_pool = std::nullopt;
    // Right before, or right behind, a job of the same pool and priority.
    std::optional<model::JobId> ahead_of = std::nullopt;
    std::optional<model::JobId> behind_of = std::nullopt;
  };
  std::vector<Update> updates;
};
struct EnableAgent {
  model::AgentId id;
};
// What runs there may end by itself where `drain`; else it is stopped and queued again, which
// costs it no restart.
struct DisableAgent {
  model::AgentId id;
  bool drain = false;
};
struct EnableSlot {
  model::AgentId agent;
  int slot = 0;
};
struct DisableSlot {
  model::AgentId agent;
  int slot = 0;
  bool drain = false;
};
struct SetMaintenance {
  model::AgentId agent;
  std::vector<model::Maintenance> windows;
};
// At run time: wins over the configuration file. ABORTED where the pool is another than was `seen`
// when this was made of it.
struct PutResourcePool {
  model::ResourcePool pool;
  std::optional<model::ResourcePool> seen = std::nullopt;  // absent: whatever it is
  // Absent: as it is.
  std::optional<bool> default_compute = std::nullopt;
  std::optional<bool> default_aux = std::nullopt;
};
struct DeleteResourcePool {
  std::string name;
};
struct PutQuota {
  model::Quota quota;
};
struct DeleteQuota {
  model::Quota::Scope scope;
  std::string name;
};

}  // namespace det::cluster

#endif  // MASTER_CORE_CLUSTER_REQUEST_H_
