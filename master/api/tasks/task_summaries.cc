#include "master/api/tasks/task_summaries.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "master/api/common/convert.h"
#include "master/api/common/convert_resources.h"
#include "master/proxy/services.h"

namespace det::api {
namespace {

std::string GetSchedulerType(const cluster::Cluster& cluster, const std::string& name) {
  for (const cluster::KnownPool& known : cluster.pools()) {
    if (known.pool.name == name) return std::string(model::ToString(known.pool.policy));
  }
  return "";
}

void AddDevices(const cluster::Cluster& cluster, const model::Placement& placement,
                v1::ResourcesSummary* out) {
  auto& devices = (*out->mutable_agent_devices())[placement.agent.value()];
  const auto agent = cluster.agents().find(placement.agent);
  if (agent == cluster.agents().end()) return;
  for (const model::Device& device : agent->second.slots) {
    if (std::count(placement.slots.begin(), placement.slots.end(), device.id) == 0) continue;
    *devices.add_devices() = ToDevice(device);
  }
}

void AddResources(const cluster::Cluster& cluster, const experiment::Allocation& allocation,
                  v1::AllocationSummary& out) {
  const std::string& id = allocation.id.value();
  out.set_allocation_id(id);
  *out.mutable_registered_time() = ToProto(allocation.queued_at);
  out.set_resource_pool(allocation.resource_pool);
  out.set_slots_needed(allocation.slots);
  for (const experiment::LocalTask& local_task : allocation.local_tasks) {
    v1::ResourcesSummary* resources = out.add_resources();
    resources->set_resources_id(local_task.placement.agent.value());
    resources->set_allocation_id(id);
    resources->set_container_id(id);
    resources->set_resources_type("docker-container");
    AddDevices(cluster, local_task.placement, resources);
    if (local_task.started) resources->mutable_started();
    if (local_task.exited) resources->mutable_exited()->set_exit_code(local_task.exit_code);
  }
  out.set_scheduler_type(GetSchedulerType(cluster, allocation.resource_pool));
  for (const proxy::Service& service : proxy::ListServices(cluster, allocation)) {
    v1::ProxyPort* port = out.add_proxy_ports();
    port->set_service_id(service.id);
    port->set_port(service.port.value_or(0));
    port->set_proxy_tcp(service.is_tcp);
    port->set_unauthenticated(service.unauthenticated);
  }
}

void AddTaskSummary(const cluster::Cluster& cluster, const experiment::Allocation& allocation,
                    const auth::Principal& caller, v1::GetTasksResponse* response) {
  const experiment::Task* task = cluster.FindTask(allocation.task);
  if (task == nullptr || !caller.Holds(model::Permission::kViewNsc, task->workspace)) return;
  v1::AllocationSummary& out =
      (*response->mutable_allocation_id_to_summary())[allocation.id.value()];
  out.set_task_id(task->id.value());
  out.set_name(task->definition->description);
  out.set_priority(task->queue.priority);
  AddResources(cluster, allocation, out);
}

void AddSummary(const cluster::Cluster& cluster, const experiment::Allocation& allocation,
                const auth::Principal& caller, v1::GetTasksResponse* response) {
  if (!experiment::IsTrial(allocation)) {
    return AddTaskSummary(cluster, allocation, caller, response);
  }
  const experiment::Trial* trial = cluster.FindTrial(allocation.trial);
  const auto* job = trial == nullptr ? nullptr : cluster.FindExperiment(trial->experiment);
  if (job == nullptr || !caller.Holds(model::Permission::kViewExperimentMetadata, job->workspace))
    return;
  const std::string& id = allocation.id.value();
  v1::AllocationSummary& out = (*response->mutable_allocation_id_to_summary())[id];
  const int task = experiment::GetTaskNumber(*trial, allocation.run_id);
  out.set_task_id(experiment::GetTask(*trial, task).value());
  // Existing scripts wait for this name to come and go.
  out.set_name(absl::StrCat("Trial ", trial->id.value(), " (Experiment ", job->id.value(), ")"));
  out.set_priority(job->queue.priority);
  AddResources(cluster, allocation, out);
}

constexpr int kMaxCheckpoints = 1000;

absl::Status AddCheckpointRemovals(store::Store& store, const auth::Principal& caller,
                                   v1::GetTasksResponse* response) {
  DET_ASSIGN_OR_RETURN(const auto to_delete,
                       store.garbage_collection().ListCheckpointsToDelete({}, kMaxCheckpoints));
  DET_ASSIGN_OR_RETURN(const auto to_trim,
                       store.garbage_collection().ListCheckpointsToTrim({}, kMaxCheckpoints));
  std::set<model::ExperimentId> experiments;
  for (const store::CheckpointToDelete& each : to_delete) experiments.insert(each.experiment);
  for (const store::CheckpointToTrim& each : to_trim) experiments.insert(each.experiment);
  for (const model::ExperimentId& id : experiments) {
    const absl::StatusOr<store::ExperimentRecord> record = store.GetExperiment(id);
    if (absl::IsNotFound(record.status())) continue;
    DET_RETURN_IF_ERROR(record.status());
    const experiment::Experiment& experiment = record->experiment;
    if (!caller.Holds(model::Permission::kViewExperimentMetadata, experiment.workspace)) continue;
    const std::string name = absl::StrCat("gc-", id.value());
    v1::AllocationSummary& out = (*response->mutable_allocation_id_to_summary())[name];
    out.set_task_id(name);
    out.set_allocation_id(name);
    out.set_name(absl::StrCat("Checkpoint GC (Experiment ", id.value(), ")"));
    *out.mutable_registered_time() = ToProto(experiment.ended_at.value_or(experiment.created_at));
  }
  return absl::OkStatus();
}

}  // namespace

void ReadTaskSummaries(engine::Engine& engine, store::Store& store, const auth::Principal& caller,
                       v1::GetTasksResponse* response, Done done) {
  absl::Status added = AddCheckpointRemovals(store, caller, response);
  if (!added.ok()) return done(std::move(added));
  engine.Query(
      [caller, response](const cluster::Cluster& cluster) {
        for (const auto* allocation : cluster.live_allocations()) {
          AddSummary(cluster, *allocation, caller, response);
        }
      },
      std::move(done));
}

}  // namespace det::api
