// Requests of users, as values. Each returns a Status; a rejected request changes nothing. Part of
// event.h. PURE.
#ifndef MASTER_CORE_CLUSTER_REQUEST_H_
#define MASTER_CORE_CLUSTER_REQUEST_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "master/core/cluster/deletion_changes.h"
#include "master/core/cluster/experiment_details.h"
#include "master/core/cluster/image.h"
#include "master/core/experiment/task.h"
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
  // The checkpoint from which every trial starts: the one that searcher.source_* names.
  std::optional<model::CheckpointId> warm_start = std::nullopt;
  std::optional<model::ExperimentId> warm_start_from = std::nullopt;  // owner of the checkpoint
  std::optional<model::ExperimentId> forked_from = std::nullopt;
  int32_t workspace = 1;  // ids; `config` has the names
  int32_t project = 1;
};
// Reserves the next ID for an experiment or a trial that the cluster does not keep: an unmanaged
// one, whose rows store::Detached writes. The ID is used at once or never: after a restart, an ID
// without a row may be reserved again.
struct ReserveId {
  enum class Kind { kExperiment, kTrial };
  Kind kind = Kind::kExperiment;
};
struct PauseExperiment {
  model::ExperimentId id;
};
struct ActivateExperiment {
  model::ExperimentId id;
};
// `by`: the name of the user who ends it, which the reason gives; "": unknown.
struct CancelExperiment {
  model::ExperimentId id;
  std::string by = {};
};
struct KillExperiment {
  model::ExperimentId id;
  std::string by = {};
};
struct KillTrial {
  model::TrialId id;
  std::string by = {};
};
// Continues an ended experiment: `single` with its trial, `random` and `grid` with the trials that
// have not completed, each from its newest checkpoint. `rows` are the stored rows of this one
// experiment, because the cluster keeps no ended experiments. OK without a change if it already
// runs with this configuration; ABORTED if it was continued and ended again since the rows were
// read.
struct ContinueExperiment {
  Image rows;
  std::shared_ptr<const model::ExperimentConfig> config;  // null: unchanged
};
// Hidden from lists, or shown again. FAILED_PRECONDITION while it runs.
struct ArchiveExperiment {
  model::ExperimentId id;
  bool archived = true;
};
// Deletes an experiment, except checkpoints that are held. FAILED_PRECONDITION while it runs;
// idempotent.
struct DeleteExperiment {
  model::ExperimentId id;
};
// Sets the retention policy: applied now if the experiment has ended, otherwise when it ends.
struct SetRetention {
  model::ExperimentId id;
  experiment::RetentionPolicy policy;
};
// Deletes checkpoints or some of their files; held checkpoints are kept.
struct DeleteCheckpoints {
  std::vector<model::CheckpointId> ids;    // all of their files
  std::vector<TrimCheckpoint> trims = {};  // some
};
// Operations of a user's program that drives the search. FAILED_PRECONDITION unless the searcher is
// `custom`; idempotent by the id of `posted`.
struct PostSearcherOperations {
  model::ExperimentId id;
  searcher::OperationsPosted posted;
};

// ---- tasks that are not trials ----

// Creates and queues a task. `task` has its id (a UUID of the caller), its kind, owner, workspace,
// project, parent and definition; the cluster sets the rest. Repeating the event is safe while the
// task lives: OK without a change. INVALID_ARGUMENT if its workspace may not use the pool or, unless
// such tasks wait (Settings), if it exceeds the capacity of the pool.
struct CreateTask {
  experiment::Task task;
};
// Each applies to all tasks that live, in order; ids of ended ones are skipped, so that repeating
// the event is safe.
struct KillTasks {
  std::vector<model::TaskId> ids;
  std::string reason;  // "killed by alice", "idle for 5m"
};
// FAILED_PRECONDITION if one of them cannot be paused.
struct PauseTasks {
  std::vector<model::TaskId> ids;
};
struct ActivateTasks {
  std::vector<model::TaskId> ids;
};

// ---- the queue, the machines, the pools ----

// Applies all updates or none. NOT_FOUND for a job that is not in the queue.
struct UpdateQueue {
  struct Update {
    model::JobId job;
    std::optional<int> priority = std::nullopt;
    std::optional<double> weight = std::nullopt;
    std::optional<int> max_slots = std::nullopt;  // 0: no limit
    // Running allocations are preempted and queued in the new pool.
    std::optional<std::string> resource_pool = std::nullopt;
    // Directly ahead of, or behind, a job of the same pool and priority.
    std::optional<model::JobId> ahead_of = std::nullopt;
    std::optional<model::JobId> behind_of = std::nullopt;
  };
  std::vector<Update> updates;
};
struct EnableAgent {
  model::AgentId id;
};
// With `drain`, running tasks finish; otherwise they are stopped and queued again, which does not
// count as a restart.
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
// Defines a pool at run time; overrides the configuration file. ABORTED if the pool has changed
// since the caller read it as `seen`.
struct PutResourcePool {
  model::ResourcePool pool;
  std::optional<model::ResourcePool> seen = std::nullopt;  // absent: not checked
  // Absent: unchanged.
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
