#include "master/api/runtime/allocation_calls.h"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "master/api/common/task_trial.h"
#include "master/api/runtime/allocation_status.h"
#include "master/core/cluster/cluster.h"
#include "master/core/model/id_text.h"

namespace det::api {
namespace {

using Agents = std::map<model::AgentId, model::Agent>;

void AddAccelerators(const experiment::Allocation& allocation, const Agents& agents,
                     v1::GetTaskAcceleratorDataResponse* response) {
  for (const experiment::LocalTask& local_task : allocation.local_tasks) {
    const auto agent = agents.find(local_task.placement.agent);
    if (agent == agents.end() || local_task.placement.slots.empty()) continue;
    v1::AcceleratorData& data = *response->add_accelerator_data();
    data.set_container_id(allocation.id.value());
    data.set_allocation_id(allocation.id.value());
    data.set_node_name(agent->first.value());
    data.set_task_id(allocation.task.value());
    data.set_resource_pool(allocation.resource_pool);
    for (const int slot : local_task.placement.slots) {
      for (const model::Device& device : agent->second.slots) {
        if (device.id != slot) continue;
        data.set_accelerator_type(device.brand);
        data.add_accelerator_uuids(device.uuid);
      }
    }
  }
}

// Returns the id of the task in its allocations.
absl::StatusOr<model::TaskId> FindTask(store::Store& store, const std::string& task) {
  if (const model::TaskId id(task); model::IsOtherTask(id)) {
    DET_RETURN_IF_ERROR(store.tasks().Get(id).status());
    return id;
  }
  DET_ASSIGN_OR_RETURN(const store::TrialRecord record, GetTrialOfTask(store, task));
  return record.trial.task;
}

}  // namespace

absl::Status CheckAllocation(const auth::Principal& principal, const std::string& allocation) {
  if (principal.kind == auth::PrincipalKind::kAllocation) {
    return CheckOwnAllocation(principal, allocation);
  }
  if (absl::StrContains(allocation, ".")) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("allocation_id: \"", allocation,
                                                 "\" has no \".\"; expected <task ID>.<attempt>"));
}

bool RunsOutside(store::Store& store, const std::string& allocation) {
  const auto run = model::ParseAllocationId(model::AllocationId(allocation));
  if (!run) return false;
  const auto record = store.GetExperiment(run->experiment);
  return record.ok() && record->experiment.unmanaged;
}

void WaitFor(base::EventLoop& loop, absl::Duration timeout, Call& call, Done done) {
  struct Waiting {
    std::mutex mutex;
    Done done;
    void Finish(absl::Status status) {
      std::unique_lock lock(mutex);
      Done finish = std::exchange(done, nullptr);
      lock.unlock();
      if (finish) finish(std::move(status));
    }
  };
  const auto waiting = std::make_shared<Waiting>();
  waiting->done = std::move(done);
  call.OnCancel(
      [waiting] { waiting->Finish(absl::CancelledError("the client has disconnected")); });
  if (timeout <= absl::ZeroDuration()) return waiting->Finish(absl::OkStatus());
  loop.PostAfter(timeout, [waiting] { waiting->Finish(absl::OkStatus()); });
}

void CheckLive(engine::Engine& engine, base::ThreadPool& pool, const auth::Principal& principal,
               const std::string& allocation, Done done) {
  const absl::Status valid = CheckAllocation(principal, allocation);
  if (!valid.ok()) return done(valid);
  const bool is_own = principal.kind == auth::PrincipalKind::kAllocation;
  GetAllocationStatus(
      engine, pool, model::AllocationId(allocation),
      [allocation, is_own,
       done = std::move(done)](const absl::StatusOr<AllocationStatus>& status) mutable {
        if (is_own || !absl::IsFailedPrecondition(status.status())) return done(status.status());
        done(absl::NotFoundError(absl::StrCat("allocation '", allocation, "' not found")));
      });
}

void GatherFromPeers(AllGather& all_gather, Call& call, const std::string& allocation,
                     const std::string& request_uuid, int num_peers,
                     const google::protobuf::Struct& data,
                     google::protobuf::RepeatedPtrField<google::protobuf::Struct>* out, Done done) {
  const model::AllocationId id(allocation);
  WaitForPeers(
      all_gather, call, id,
      [&](AllGather::Reply reply) {
        return all_gather.JoinByName(id, request_uuid, num_peers, data.SerializeAsString(),
                                     std::move(reply));
      },
      [out,
       done = std::move(done)](const absl::StatusOr<std::vector<std::string>>& gathered) mutable {
        if (gathered.ok()) {
          for (const std::string& each : *gathered) out->Add()->ParseFromString(each);
        }
        done(gathered.status());
      });
}

void ReadAccelerators(engine::Engine& engine, base::ThreadPool& pool, store::Store& store,
                      const std::string& task, v1::GetTaskAcceleratorDataResponse* response,
                      Done done) {
  const absl::StatusOr<model::TaskId> id = FindTask(store, task);
  if (!id.ok()) return done(id.status());
  auto agents = std::make_shared<Agents>();
  engine.Query([agents](const cluster::Cluster& cluster) { *agents = cluster.agents(); },
               [&pool, &store, task = *id, agents, response,
                done = std::move(done)](absl::Status status) mutable {
                 pool.Post([&store, task, agents, response, status = std::move(status),
                            done = std::move(done)]() mutable {
                   if (!status.ok()) return done(std::move(status));
                   const auto allocations = store.ListAllocations(task);
                   if (!allocations.ok()) return done(allocations.status());
                   for (const experiment::Allocation& allocation : *allocations) {
                     AddAccelerators(allocation, *agents, response);
                   }
                   done(absl::OkStatus());
                 });
               });
}

}  // namespace det::api
