#include "master/api/common/convert.h"

#include <algorithm>
#include <memory>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "master/api/common/shown_configs.h"
#include "proto/json_writer.h"

namespace det::api {
namespace {

using model::AllocationState;
using model::ExperimentState;
using model::TrialState;

// The most advanced state among the live trials of an active experiment.
v1::Experiment::State GetActiveState(model::ExperimentId id, const LiveTrials& live) {
  v1::Experiment::State state = v1::Experiment::STATE_ACTIVE;
  for (const auto& [unused, trial] : live) {
    if (trial.experiment != id) continue;
    if (trial.state == AllocationState::kRunning || trial.state == AllocationState::kPreempting) {
      return v1::Experiment::STATE_RUNNING;
    }
    if (trial.state == AllocationState::kAssigned) {
      state = v1::Experiment::STATE_STARTING;
    } else if (trial.state == AllocationState::kQueued && state == v1::Experiment::STATE_ACTIVE) {
      state = v1::Experiment::STATE_QUEUED;
    }
  }
  return state;
}

v1::Experiment::State ToApiState(const experiment::Experiment& experiment, const LiveTrials& live) {
  switch (experiment.state) {
    case ExperimentState::kActive:
      if (experiment.unmanaged) return v1::Experiment::STATE_RUNNING;
      return GetActiveState(experiment.id, live);
    case ExperimentState::kPaused:
      return v1::Experiment::STATE_PAUSED;
    case ExperimentState::kStoppingCompleted:
      return v1::Experiment::STATE_STOPPING_COMPLETED;
    case ExperimentState::kStoppingCanceled:
      return v1::Experiment::STATE_STOPPING_CANCELED;
    case ExperimentState::kStoppingError:
      return v1::Experiment::STATE_STOPPING_ERROR;
    case ExperimentState::kCompleted:
      return v1::Experiment::STATE_COMPLETED;
    case ExperimentState::kCanceled:
      return v1::Experiment::STATE_CANCELED;
    case ExperimentState::kError:
      return v1::Experiment::STATE_ERROR;
    case ExperimentState::kDeleting:
      return v1::Experiment::STATE_DELETING;
    case ExperimentState::kDeleteFailed:
      return v1::Experiment::STATE_DELETE_FAILED;
    case ExperimentState::kDeleted:
      return v1::Experiment::STATE_DELETED;
  }
  return v1::Experiment::STATE_UNSPECIFIED;
}

// If all trials of the experiment wait, the wait reason of the first one.
std::string GetStateReason(const experiment::Experiment& experiment, const LiveTrials& live,
                           v1::Experiment::State state) {
  if (state != v1::Experiment::STATE_QUEUED) return experiment.reason;
  for (const auto& [unused, trial] : live) {
    if (trial.experiment == experiment.id && !trial.wait_reason.empty()) return trial.wait_reason;
  }
  return experiment.reason;
}

v1::Trial::State GetStoppingState(std::optional<TrialState> end_as) {
  switch (end_as.value_or(TrialState::kCanceled)) {
    case TrialState::kCompleted:
      return v1::Trial::STATE_STOPPING_COMPLETED;
    case TrialState::kError:
      return v1::Trial::STATE_STOPPING_ERROR;
    case TrialState::kPaused:
    case TrialState::kQueued:
      return v1::Trial::STATE_PAUSED;
    default:
      return v1::Trial::STATE_STOPPING_CANCELED;
  }
}

v1::Trial::State ToApiState(const experiment::Trial& trial, const LiveTrials& live) {
  switch (trial.state) {
    case TrialState::kQueued:
      return v1::Trial::STATE_QUEUED;
    case TrialState::kRunning: {
      const auto it = live.find(trial.id);
      const bool starting = it != live.end() && it->second.state == AllocationState::kAssigned;
      return starting ? v1::Trial::STATE_STARTING : v1::Trial::STATE_RUNNING;
    }
    case TrialState::kPaused:
      return v1::Trial::STATE_PAUSED;
    case TrialState::kStopping:
      return GetStoppingState(trial.end_as);
    case TrialState::kCompleted:
      return v1::Trial::STATE_COMPLETED;
    case TrialState::kCanceled:
      return v1::Trial::STATE_CANCELED;
    case TrialState::kError:
      return v1::Trial::STATE_ERROR;
  }
  return v1::Trial::STATE_UNSPECIFIED;
}

v1::Checkpoint::State ToApiState(model::CheckpointState state) {
  switch (state) {
    case model::CheckpointState::kCompleted:
      return v1::Checkpoint::STATE_COMPLETED;
    case model::CheckpointState::kError:
      return v1::Checkpoint::STATE_ERROR;
    case model::CheckpointState::kPartiallyDeleted:
      return v1::Checkpoint::STATE_PARTIALLY_DELETED;
    case model::CheckpointState::kDeleting:
    case model::CheckpointState::kDeleted:
      return v1::Checkpoint::STATE_DELETED;
  }
  return v1::Checkpoint::STATE_UNSPECIFIED;
}

v1::TrialRun ToRun(const experiment::Allocation& allocation) {
  v1::TrialRun out;
  out.set_run_id(allocation.run_id);
  out.set_allocation_id(allocation.id.value());
  if (allocation.started_at) *out.mutable_start_time() = ToProto(*allocation.started_at);
  if (allocation.ended_at) {
    *out.mutable_end_time() = ToProto(*allocation.ended_at);
    out.set_exit_reason(allocation.exit_message.empty()
                            ? std::string(model::ToString(allocation.exit_reason))
                            : allocation.exit_message);
  }
  if (allocation.exit_code) out.set_exit_code(*allocation.exit_code);
  for (const experiment::LocalTask& local_task : allocation.local_tasks) {
    out.add_agent_ids(local_task.placement.agent.value());
  }
  out.set_slots(allocation.slots);
  return out;
}

// Existing clients know these members: of one experiment the original configuration, in lists the
// hyperparameters.
void SetConfig(const store::ExperimentRecord& record, bool detail, v1::Experiment* out,
               proto::WrittenParts* written) {
  if (written != nullptr) {
    const std::shared_ptr<const ShownConfig> shown = WriteShownConfig(record);
    written->Set(*out->mutable_config(), shown->config);
    if (detail) {
      out->set_original_config(shown->original);
    } else {
      written->Set(*out->mutable_hyperparameters(), shown->hyperparameters);
    }
    return;
  }
  const model::Value config = ToShownConfig(record);
  *out->mutable_config() = ToStruct(config);
  if (detail) {
    out->set_original_config(GetShownOriginal(record.experiment, config));
  } else if (const model::Value* hparams = config.Find("hyperparameters")) {
    *out->mutable_hyperparameters() = ToStruct(*hparams);
  }
}

}  // namespace

model::Value ToShownConfig(const store::ExperimentRecord& record) {
  const experiment::Experiment& experiment = record.experiment;
  model::Value config = model::ToShownValue(*experiment.config);
  model::Value::Object& settings = *config.MutableObject();
  // Unmanaged experiments need no entrypoint.
  model::Value& entrypoint = settings["entrypoint"];
  if (entrypoint == model::Value("")) entrypoint = model::Value();
  model::Value& resources = settings["resources"];
  const experiment::QueuePlace& place = experiment.queue;
  if (model::Value::Object* members = resources.MutableObject()) {
    (*members)["priority"] = place.priority;
    (*members)["weight"] = place.weight;
    (*members)["resource_pool"] = place.resource_pool;
    (*members)["max_slots"] = place.max_slots ? model::Value(*place.max_slots) : model::Value();
  }
  if (model::Value::Object* policy = settings["retention_policy"].MutableObject();
      policy != nullptr && record.log_days) {
    (*policy)["log_retention_days"] = *record.log_days;
  }
  return config;
}

v1::Experiment ToProto(const store::ExperimentRecord& record, const LiveTrials& live,
                       absl::Time now, bool detail, proto::WrittenParts* written) {
  const experiment::Experiment& experiment = record.experiment;
  const model::ExperimentConfig& config = *experiment.config;
  v1::Experiment out;
  out.set_id(experiment.id.value());
  out.set_name(config.name);
  out.set_description(config.description);
  for (const std::string& label : config.labels) out.add_labels(label);
  out.set_state(ToApiState(experiment, live));
  out.set_state_reason(GetStateReason(experiment, live, out.state()));
  *out.mutable_start_time() = ToProto(experiment.created_at);
  if (experiment.ended_at) *out.mutable_end_time() = ToProto(*experiment.ended_at);
  out.set_archived(record.archived);
  out.set_parent_archived(record.parent_archived);
  out.set_num_trials(record.num_trials);
  out.set_username(record.username);
  out.set_user_id(experiment.owner.value());
  out.set_display_name(record.username);
  out.set_searcher_type(config.searcher.name);
  out.set_searcher_metric(config.searcher.metric);
  out.mutable_progress()->set_value(experiment.progress);
  if (experiment.forked_from) out.mutable_forked_from()->set_value(experiment.forked_from->value());
  out.set_job_id(experiment.job.value());
  out.set_resource_pool(experiment.queue.resource_pool);
  out.set_project_id(experiment.project);
  out.set_project_owner_id(record.project_owner.value());
  out.set_project_name(config.project);
  out.set_workspace_id(experiment.workspace);
  out.set_workspace_name(config.workspace);
  out.set_notes(record.notes);
  if (experiment.best_trial) out.set_best_trial_id(experiment.best_trial->value());
  if (experiment.best_metric) out.set_best_trial_searcher_metric(*experiment.best_metric);
  out.set_checkpoint_count(record.checkpoint_count);
  out.set_checkpoint_size(record.checkpoint_size);
  out.set_duration(static_cast<int32_t>(
      absl::ToInt64Seconds(experiment.ended_at.value_or(now) - experiment.created_at)));
  out.set_unmanaged(experiment.unmanaged);
  if (experiment.external_id) out.set_external_experiment_id(*experiment.external_id);
  out.set_model_definition_size(static_cast<int32_t>(record.context_size));
  SetConfig(record, detail, &out, written);
  return out;
}

v1::Trial ToProto(const store::TrialRecord& record, const LiveTrials& live,
                  const std::vector<experiment::Allocation>& runs, absl::Time now) {
  const experiment::Trial& trial = record.trial;
  v1::Trial out;
  out.set_id(trial.id.value());
  out.set_experiment_id(trial.experiment.value());
  *out.mutable_start_time() = ToProto(trial.created_at);
  if (trial.ended_at) *out.mutable_end_time() = ToProto(*trial.ended_at);
  out.set_state(ToApiState(trial, live));
  const auto it = live.find(trial.id);
  const bool waits = trial.state == TrialState::kQueued && it != live.end();
  out.set_state_reason(waits && !it->second.wait_reason.empty() ? it->second.wait_reason
                                                                : trial.reason);
  out.set_restarts(trial.restarts);
  *out.mutable_hparams() = ToStruct(trial.hparams);
  // Scripts may report without saving checkpoints.
  out.set_total_batches_processed(
      static_cast<int32_t>(std::max(trial.steps_completed, record.reported_steps)));
  if (record.best_validation) *out.mutable_best_validation() = ToWorkload(*record.best_validation);
  if (record.latest_validation) {
    *out.mutable_latest_validation() = ToWorkload(*record.latest_validation);
  }
  if (record.best_checkpoint) {
    *out.mutable_best_checkpoint() = ToWorkload(*record.best_checkpoint);
    out.mutable_best_checkpoint()->clear_metadata();
  }
  out.set_runner_state(trial.runner_state);
  out.set_wall_clock_time(absl::ToDoubleSeconds(trial.ended_at.value_or(now) - trial.created_at));
  if (trial.warm_start) out.set_warm_start_checkpoint_uuid(trial.warm_start->value());
  out.set_task_id(trial.task.value());
  const int num_tasks = static_cast<int>(trial.continued_runs.size()) + 1;
  for (int i = 0; i < num_tasks; ++i) out.add_task_ids(experiment::GetTask(trial, i).value());
  out.set_checkpoint_count(record.checkpoint_count);
  out.set_total_checkpoint_size(record.checkpoint_size);
  if (trial.best_metric) out.set_searcher_metric_value(*trial.best_metric);
  *out.mutable_summary_metrics() = ToProto(record.metrics);
  if (!record.metadata.is_null()) *out.mutable_metadata() = ToStruct(record.metadata);
  if (record.log_days) out.set_log_retention_days(*record.log_days);
  if (!trial.log_policy.empty()) out.set_log_policy_matched(trial.log_policy);
  out.set_progress(static_cast<float>(trial.progress));
  for (const experiment::Allocation& run : runs) *out.add_runs() = ToRun(run);
  if (trial.latest_checkpoint) out.set_latest_checkpoint_uuid(trial.latest_checkpoint->value());
  return out;
}

v1::Allocation ToProto(const experiment::Allocation& allocation, const std::string& wait_reason) {
  static constexpr v1::Allocation::State kStates[] = {
      v1::Allocation::STATE_QUEUED,      v1::Allocation::STATE_STARTING,
      v1::Allocation::STATE_RUNNING,     v1::Allocation::STATE_TERMINATING,
      v1::Allocation::STATE_TERMINATING, v1::Allocation::STATE_TERMINATED};
  v1::Allocation out;
  out.set_allocation_id(allocation.id.value());
  out.set_task_id(allocation.task.value());
  out.set_state(kStates[static_cast<int>(allocation.state)]);
  out.set_is_ready(allocation.state == AllocationState::kRunning);
  if (allocation.started_at) *out.mutable_start_time() = ToProto(*allocation.started_at);
  if (allocation.ended_at) {
    *out.mutable_end_time() = ToProto(*allocation.ended_at);
    out.set_exit_reason(allocation.exit_message.empty()
                            ? std::string(model::ToString(allocation.exit_reason))
                            : allocation.exit_message);
  }
  out.set_slots(allocation.slots);
  if (allocation.exit_code) out.set_status_code(*allocation.exit_code);
  out.set_wait_reason(wait_reason);
  return out;
}

model::CheckpointId ReadCheckpointId(const std::string& uuid) {
  return model::CheckpointId(absl::AsciiStrToLower(uuid));
}

v1::Checkpoint ToProto(const store::CheckpointEntry& entry, const std::string& storage_path,
                       const google::protobuf::Struct& config) {
  const model::CheckpointRecord& checkpoint = entry.checkpoint;
  v1::Checkpoint out;
  out.set_uuid(checkpoint.id.value());
  out.set_task_id(entry.task.value());
  // Unmanaged trials have no allocations.
  if (!checkpoint.allocation.value().empty()) out.set_allocation_id(checkpoint.allocation.value());
  if (checkpoint.storage) out.set_storage_id(*checkpoint.storage);
  *out.mutable_report_time() = ToProto(checkpoint.time);
  out.set_state(ToApiState(checkpoint.state));
  out.mutable_resources()->insert(checkpoint.resources.begin(), checkpoint.resources.end());
  *out.mutable_metadata() = ToStruct(checkpoint.metadata);
  (*out.mutable_metadata()->mutable_fields())["steps_completed"].set_number_value(
      static_cast<double>(checkpoint.steps_completed));
  v1::CheckpointTrainingMetadata* training = out.mutable_training();
  training->set_trial_id(checkpoint.trial.value());
  training->set_experiment_id(entry.experiment.value());
  *training->mutable_experiment_config() = config;
  *training->mutable_hparams() = ToStruct(entry.hparams);
  *training->mutable_training_metrics() = ToMetrics(entry.training_metrics, entry.training_batches);
  *training->mutable_validation_metrics() = ToMetrics(entry.validation_metrics, {});
  if (entry.searcher_metric) training->set_searcher_metric(*entry.searcher_metric);
  out.set_storage_path(storage_path);
  // The files of a deleted checkpoint stay listed.
  int64_t size = 0;
  if (checkpoint.state != model::CheckpointState::kDeleted) {
    for (const auto& [unused, bytes] : checkpoint.resources) size += bytes;
  }
  out.set_size(size);
  return out;
}

v1::CheckpointWorkload ToWorkload(const model::CheckpointRecord& checkpoint) {
  v1::CheckpointWorkload out;
  out.set_uuid(checkpoint.id.value());
  *out.mutable_end_time() = ToProto(checkpoint.time);
  out.set_state(ToApiState(checkpoint.state));
  out.mutable_resources()->insert(checkpoint.resources.begin(), checkpoint.resources.end());
  out.set_total_batches(static_cast<int32_t>(checkpoint.steps_completed));
  *out.mutable_metadata() = ToStruct(checkpoint.metadata);
  return out;
}

v1::HeldCheckpoint ToProto(const store::HeldCheckpoint& held) {
  v1::HeldCheckpoint out;
  out.set_uuid(held.id.value());
  out.set_holder(held.holder);
  return out;
}

}  // namespace det::api
