#include "master/core/scheduler/testing/random_snapshot.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "master/core/scheduler/scheduler.h"
#include "master/core/scheduler/testing/make.h"

namespace det::scheduler {
namespace {

int Roll(base::Rng& rng, int low, int high) { return static_cast<int>(rng.UniformInt(low, high)); }
bool OneIn(base::Rng& rng, int times) { return rng.UniformInt(1, times) == 1; }

std::string PoolName(base::Rng& rng) { return OneIn(rng, 4) ? "gpu" : "default"; }

model::ResourcePool RandomPool(base::Rng& rng, const std::string& name) {
  model::ResourcePool pool;
  pool.name = name;
  pool.policy = static_cast<model::SchedulingPolicy>(Roll(rng, 0, 2));
  pool.fitting = OneIn(rng, 3) ? model::FittingPolicy::kWorst : model::FittingPolicy::kBest;
  pool.preemption = OneIn(rng, 2);
  pool.heterogeneous = !OneIn(rng, 5);
  pool.backfill = !OneIn(rng, 5);
  if (OneIn(rng, 4)) pool.hold_after = absl::Minutes(5);
  pool.shared_devices = OneIn(rng, 2);
  pool.max_aux_per_agent = Roll(rng, 1, 3);
  if (OneIn(rng, 8)) pool.workspaces = {"w0", "w1"};
  return pool;
}

// Starts some of the waiting gangs where a scheduler places them, and marks some running ones as
// terminating.
void StartSomeGangs(base::Rng& rng, Snapshot& snapshot) {
  Apply(Schedule(snapshot).plan, snapshot);
  for (Gang& gang : snapshot.gangs) {
    if (gang.running_on.empty()) continue;
    if (OneIn(rng, 3)) {
      gang.running_on.clear();
      gang.terminating = false;
      continue;
    }
    gang.started_at = snapshot.now - absl::Minutes(Roll(rng, 0, 20));
    gang.saved_at = gang.started_at + absl::Minutes(Roll(rng, 0, 5));
    if (OneIn(rng, 6)) gang.terminating = true;
  }
}

// Changes priorities of jobs, and removes slots and agents, also those in use.
void ChangeCluster(base::Rng& rng, Snapshot& snapshot) {
  for (Job& job : snapshot.jobs) {
    if (OneIn(rng, 2)) job.priority = Roll(rng, 1, 4);
    if (OneIn(rng, 6)) job.max_slots = Roll(rng, 1, 6);
  }
  for (Node& node : snapshot.nodes) {
    if (OneIn(rng, 10)) node.accepts_work = false;
    if (OneIn(rng, 12) && !node.slots.empty()) node.slots.pop_back();
  }
}

}  // namespace

Node RandomNode(base::Rng& rng, int number) {
  Node node = MakeNode(absl::StrCat("n", number), Roll(rng, 0, 5), PoolName(rng));
  const bool mixed = OneIn(rng, 4);
  for (Slot& slot : node.slots) {
    if (mixed && OneIn(rng, 2)) slot.type = model::DeviceType::kCuda;
    if (slot.type == model::DeviceType::kCuda) slot.model = OneIn(rng, 2) ? "NVIDIA H200" : "A100";
    slot.island = Roll(rng, 0, 1);
    slot.enabled = !OneIn(rng, 12);
  }
  node.accepts_work = !OneIn(rng, 8);
  node.aux = Roll(rng, 0, 3);
  if (OneIn(rng, 3)) node.cpus = Roll(rng, 1, 8);
  if (OneIn(rng, 3)) node.memory = Roll(rng, 1, 8);
  if (OneIn(rng, 2)) node.network_switch = absl::StrCat("s", Roll(rng, 0, 1));
  if (OneIn(rng, 10)) {
    const absl::Time begin = absl::UnixEpoch() + absl::Minutes(Roll(rng, 0, 200));
    node.maintenance.push_back({begin, begin + absl::Minutes(30)});
  }
  return node;
}

Job RandomJob(base::Rng& rng, int number) {
  Job job;
  job.id = model::JobId(absl::StrCat("j", number));
  job.priority = Roll(rng, 1, 4);
  job.weight = Roll(rng, 1, 3);
  job.position = Roll(rng, 0, 2);
  job.position_set = OneIn(rng, 6);
  if (OneIn(rng, 4)) job.max_slots = Roll(rng, 1, 6);
  if (OneIn(rng, 5)) job.max_gangs = Roll(rng, 1, 2);
  job.workspace = absl::StrCat("w", Roll(rng, 0, 2));
  job.user = absl::StrCat("u", Roll(rng, 0, 2));
  return job;
}

Gang RandomGang(base::Rng& rng, int number) {
  Gang gang;
  gang.id = model::AllocationId(absl::StrCat("g", number));
  gang.job = model::JobId(absl::StrCat("j", Roll(rng, 0, 5)));
  gang.resource_pool = PoolName(rng);
  gang.slots = Roll(rng, 0, 7);
  if (OneIn(rng, 2)) gang.slots = Roll(rng, 0, 2);
  if (OneIn(rng, 6)) gang.max_slots = gang.slots + Roll(rng, 1, 4);
  if (gang.slots == 1 && OneIn(rng, 3)) gang.fraction = OneIn(rng, 2) ? 0.5 : 0.3;
  if (OneIn(rng, 5)) gang.cpus = Roll(rng, 1, 3) * 0.5;
  if (OneIn(rng, 5)) gang.memory = Roll(rng, 1, 3);
  if (OneIn(rng, 8)) gang.slot_type = model::DeviceType::kCuda;
  if (OneIn(rng, 10)) gang.device = "h200";
  gang.single_node = OneIn(rng, 4);
  gang.preemptible = !OneIn(rng, 5);
  if (OneIn(rng, 6)) gang.blocked.push_back(model::AgentId(absl::StrCat("n", Roll(rng, 1, 6))));
  gang.submitted = Roll(rng, 0, 5);
  gang.queued_at = absl::UnixEpoch() + absl::Minutes(Roll(rng, 50, 60));
  if (OneIn(rng, 4)) gang.max_run_time = absl::Minutes(Roll(rng, 1, 60));
  return gang;
}

Limit RandomLimit(base::Rng& rng) {
  Limit limit;
  const bool user = OneIn(rng, 2);
  limit.quota.scope = user ? model::Quota::Scope::kUser : model::Quota::Scope::kWorkspace;
  limit.quota.name = absl::StrCat(user ? "u" : "w", Roll(rng, 0, 2));
  if (OneIn(rng, 2)) limit.quota.max_slots = Roll(rng, 1, 8);
  if (OneIn(rng, 3)) limit.quota.slot_hours = 10;
  limit.slot_hours_used = Roll(rng, 0, 12);
  return limit;
}

Snapshot RandomSnapshot(base::Rng& rng) {
  Snapshot snapshot;
  snapshot.now = absl::UnixEpoch() + absl::Hours(1);
  for (const char* name : {"default", "gpu"}) {
    if (!OneIn(rng, 4)) snapshot.pools.push_back(RandomPool(rng, name));
  }
  for (int i = Roll(rng, 0, 6); i > 0; --i) snapshot.nodes.push_back(RandomNode(rng, i));
  for (int i = 0; i < 5; ++i) snapshot.jobs.push_back(RandomJob(rng, i));
  for (int i = Roll(rng, 0, 12); i > 0; --i) snapshot.gangs.push_back(RandomGang(rng, i));
  if (OneIn(rng, 3)) snapshot.limits.push_back(RandomLimit(rng));
  if (OneIn(rng, 3)) StartSomeGangs(rng, snapshot);
  if (OneIn(rng, 3)) ChangeCluster(rng, snapshot);
  return snapshot;
}

}  // namespace det::scheduler
