#include "master/api/tasks/task_summaries.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "master/api/common/convert.h"

namespace det::api {
namespace {

void AddSummary(const cluster::Cluster& cluster, const experiment::Allocation& allocation,
                const auth::Principal& caller, v1::GetTasksResponse* response) {
  const experiment::Trial* trial = cluster.FindTrial(allocation.trial);
  const auto* job = trial == nullptr ? nullptr : cluster.FindExperiment(trial->experiment);
  if (job == nullptr || !caller.Holds(model::Permission::kViewExperimentMetadata, job->workspace)) return;
  const std::string& id = allocation.id.value();
  v1::AllocationSummary& out = (*response->mutable_allocation_id_to_summary())[id];
  out.set_task_id(allocation.task.value());
  out.set_allocation_id(id);
  out.set_name(absl::StrCat("trial ", trial->id.value(), " of experiment ", job->id.value(), " (",
                            job->config->name, ")"));
  *out.mutable_registered_time() = ToProto(allocation.queued_at);
  out.set_resource_pool(allocation.resource_pool);
  out.set_slots_needed(allocation.slots);
  out.set_priority(job->queue.priority);
  for (const experiment::LocalTask& local_task : allocation.local_tasks) {
    v1::ResourcesSummary* resources = out.add_resources();
    resources->set_resources_id(local_task.placement.agent.value());
    resources->set_allocation_id(id);
    resources->set_container_id(id);
  }
}

}  // namespace

void ReadTaskSummaries(engine::Engine& engine, const auth::Principal& caller,
                       v1::GetTasksResponse* response, Done done) {
  engine.Query(
      [caller, response](const cluster::Cluster& cluster) {
        for (const auto* allocation : cluster.live_allocations()) {
          AddSummary(cluster, *allocation, caller, response);
        }
      },
      std::move(done));
}

}  // namespace det::api
