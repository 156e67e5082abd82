#include "master/scheduler/fair_share.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "master/scheduler/shape.h"

namespace det::scheduler {
namespace {

struct Claimant {
  double wants = 0;
  double weight = 1;
  double gets = 0;
};

// Progressive filling: those who want least for their weight are satisfied first.
void Divide(double amount, std::vector<Claimant*>& claimants) {
  std::sort(claimants.begin(), claimants.end(), [](const Claimant* a, const Claimant* b) {
    return a->wants * b->weight < b->wants * a->weight;
  });
  double weights = 0;
  for (const Claimant* claimant : claimants) weights += claimant->weight;
  for (Claimant* claimant : claimants) {
    claimant->gets = std::min(claimant->wants, amount * claimant->weight / weights);
    amount -= claimant->gets;
    weights -= claimant->weight;
  }
}

struct UserDemand : Claimant {
  std::map<model::JobId, std::pair<const JobState*, Claimant>> jobs;
};
struct WorkspaceDemand : Claimant {
  std::map<std::string, UserDemand> users;
};
using Demands = std::map<std::string, WorkspaceDemand>;

void Want(Demands& demands, const JobState& job, double slots) {
  auto& [state, claimant] = demands[job.job.workspace].users[job.job.user].jobs[job.job.id];
  state = &job;
  claimant.weight = WeightOf(job);
  claimant.wants += slots;
}

Demands DemandsOf(const PoolState& pool) {
  Demands demands;
  for (const auto& [job, usage] : pool.usage) {
    Want(demands, *job, static_cast<double>(usage.slots) / kWhole);
  }
  for (const auto& [shape, gang_class] : pool.classes) {
    const double each = static_cast<double>(shape.max_slots * shape.fraction) / kWhole;
    for (const JobQueue* queue : gang_class->queues) {
      // One that has started in this pass is among those that run already.
      const auto waiting = std::count_if(queue->gangs.begin(), queue->gangs.end(),
                                         [](const GangState* gang) { return !gang->fresh; });
      Want(demands, *queue->job, each * static_cast<double>(waiting));
    }
  }
  for (auto& [name, workspace] : demands) {
    for (auto& [user_name, user] : workspace.users) {
      for (auto& [id, entry] : user.jobs) {
        const auto& most = entry.first->job.max_slots;
        if (most) entry.second.wants = std::min(entry.second.wants, *most);
        user.wants += entry.second.wants;
      }
      workspace.wants += user.wants;
    }
  }
  return demands;
}

template <class Children>
std::vector<Claimant*> Pointers(Children& children) {
  std::vector<Claimant*> pointers;
  for (auto& [name, child] : children) pointers.push_back(&child);
  return pointers;
}

}  // namespace

double DominantShare(const Usage& usage, const Usage& total) {
  const auto part = [](int64_t used, int64_t all) {
    return all > 0 ? static_cast<double>(used) / static_cast<double>(all) : 0;
  };
  return std::max({part(usage.slots, total.slots), part(usage.cpus, total.cpus),
                   part(usage.memory, total.memory)});
}

double WeightOf(const JobState& job) { return std::max(1e-6, job.job.weight); }

Entitlements EntitlementsOf(const PoolState& pool) {
  Demands demands = DemandsOf(pool);
  Entitlements entitlements;
  auto workspaces = Pointers(demands);
  Divide(static_cast<double>(pool.Total().slots) / kWhole, workspaces);
  for (auto& [name, workspace] : demands) {
    auto users = Pointers(workspace.users);
    Divide(workspace.gets, users);
    for (auto& [user_name, user] : workspace.users) {
      std::vector<Claimant*> jobs;
      for (auto& [id, entry] : user.jobs) jobs.push_back(&entry.second);
      Divide(user.gets, jobs);
      for (auto& [id, entry] : user.jobs) entitlements[entry.first] = entry.second.gets;
    }
  }
  return entitlements;
}

}  // namespace det::scheduler
