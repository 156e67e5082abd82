#include "master/scheduler/scheduler.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "master/scheduler/fit.h"
#include "master/scheduler/order.h"

namespace det::scheduler {
namespace {

using Kind = WaitReason::Kind;

std::string Slots(int count) { return absl::StrCat(count, count == 1 ? " slot" : " slots"); }

// What a set of nodes has when nothing runs on it.
struct Size {
  int slots = 0;
  int largest_node = 0;

  void Add(int node) {
    slots += node;
    largest_node = std::max(largest_node, node);
  }
  bool Holds(const Gang& gang) const {
    return gang.slots <= (gang.single_node ? largest_node : slots);
  }
};

// A resource pool in the middle of a pass.
struct Pool {
  std::vector<FreeNode> nodes;
  Size all;                          // of every node
  Size accepting;                    // of the nodes that accept work
  int away = 0;                      // nodes that do not
  const Gang* holds_back = nullptr;  // the first that did not fit

  int free_slots() const {
    int sum = 0;
    for (const FreeNode& node : nodes) sum += static_cast<int>(node.free.size());
    return sum;
  }
};

class Pass {
 public:
  explicit Pass(const Snapshot& snapshot) {
    for (const Job& job : snapshot.jobs) jobs_[job.id] = job;
    for (const Node& node : snapshot.nodes) AddNode(node);
    for (const Gang& gang : snapshot.gangs) {
      if (gang.running_on.empty()) continue;
      AddToJob(gang);
      // Looked up in every pool: a gang keeps its slots even where its agent changed pools.
      for (auto& [name, pool] : pools_) Take(gang.running_on, pool.nodes);
    }
  }

  Scheduled Run(const std::vector<const Gang*>& waiting) {
    Scheduled plan;
    for (const Gang* gang : waiting) {
      if (auto reason = CannotRun(*gang)) {
        plan.waiting.emplace(gang->id, *std::move(reason));
        continue;
      }
      Pool& pool = pools_.at(gang->resource_pool);
      if (auto reason = MustWait(*gang, pool)) {
        plan.waiting.emplace(gang->id, *std::move(reason));
        continue;
      }
      auto placements = Fit(*gang, pool.nodes);
      if (!placements) {
        plan.waiting.emplace(gang->id, NoCapacity(*gang, pool));
        if (gang->slots > 0 && pool.holds_back == nullptr && pool.accepting.Holds(*gang)) {
          pool.holds_back = gang;
        }
        continue;
      }
      Take(*placements, pool.nodes);
      AddToJob(*gang);
      plan.plan.assign.push_back({gang->id, *std::move(placements)});
    }
    return plan;
  }

 private:
  // What a job holds.
  struct Held {
    int slots = 0;
    int64_t gangs = 0;
  };

  void AddToJob(const Gang& gang) {
    Held& held = held_[gang.job];
    held.slots += gang.slots;
    ++held.gangs;
  }

  Held HeldBy(const model::JobId& job) const {
    const auto it = held_.find(job);
    return it == held_.end() ? Held() : it->second;
  }

  void AddNode(const Node& node) {
    Pool& pool = pools_[node.resource_pool];
    const int slots = static_cast<int>(node.slots.size());
    FreeNode free{.id = node.id, .accepts_work = node.accepts_work};
    for (const Slot& slot : node.slots) {
      if (node.accepts_work && slot.enabled) free.free.push_back(slot.id);
    }
    std::sort(free.free.begin(), free.free.end());
    pool.nodes.push_back(std::move(free));
    pool.all.Add(slots);
    if (node.accepts_work) {
      pool.accepting.Add(slots);
    } else {
      ++pool.away;
    }
  }

  // What no amount of waiting for slots changes.
  std::optional<WaitReason> CannotRun(const Gang& gang) const {
    const auto pool = pools_.find(gang.resource_pool);
    if (pool == pools_.end()) {
      const auto name = [](std::string* out, const auto& entry) { out->append(entry.first); };
      return WaitReason{
          Kind::kInfeasible,
          absl::StrCat("no agent is in resource pool \"", gang.resource_pool, "\"; ",
                       pools_.empty() ? "no agent is connected"
                                      : absl::StrCat("pools with agents: ",
                                                     absl::StrJoin(pools_, ", ", name)))};
    }
    const std::string needs = absl::StrCat("needs ", Slots(gang.slots));
    if (gang.single_node && gang.slots > pool->second.all.largest_node) {
      return WaitReason{Kind::kInfeasible,
                        absl::StrCat(needs, " on one agent; the largest agent of pool ",
                                     gang.resource_pool, " has ", pool->second.all.largest_node)};
    }
    if (gang.slots > pool->second.all.slots) {
      return WaitReason{Kind::kInfeasible,
                        absl::StrCat(needs, "; pool ", gang.resource_pool, " has ",
                                     pool->second.all.slots, " in all")};
    }
    if (auto reason = OverMaxSlots(gang)) return reason;
    return OverMaxTrials(gang);
  }

  std::optional<WaitReason> OverMaxSlots(const Gang& gang) const {
    const Job& job = JobOf(gang);
    if (!job.max_slots || gang.slots == 0) return std::nullopt;
    const int limit = static_cast<int>(*job.max_slots);
    if (gang.slots > limit) {
      return WaitReason{Kind::kInfeasible,
                        absl::StrCat("needs ", Slots(gang.slots), "; its max_slots is ", limit)};
    }
    const int held = HeldBy(gang.job).slots;
    if (held + gang.slots <= limit) return std::nullopt;
    return WaitReason{Kind::kOverMaxSlots,
                      absl::StrCat("needs ", Slots(gang.slots), "; its experiment holds ", held,
                                   " of max_slots ", limit)};
  }

  // One that lets go of its slots still counts: its successor waits until it has.
  std::optional<WaitReason> OverMaxTrials(const Gang& gang) const {
    const Job& job = JobOf(gang);
    if (!job.max_gangs || HeldBy(gang.job).gangs < *job.max_gangs) return std::nullopt;
    return WaitReason{Kind::kOverMaxTrials,
                      absl::StrCat("its experiment runs ", HeldBy(gang.job).gangs,
                                   " trials, its max_concurrent_trials")};
  }

  std::optional<WaitReason> MustWait(const Gang& gang, const Pool& pool) const {
    const Gang* ahead = pool.holds_back;
    if (gang.slots == 0 || ahead == nullptr || JobOf(*ahead).priority == JobOf(gang).priority) {
      return std::nullopt;
    }
    return WaitReason{Kind::kBehindOthers,
                      absl::StrCat("waits behind ", ahead->id.value(), " of priority ",
                                   JobOf(*ahead).priority, ", which needs ", Slots(ahead->slots)),
                      ahead->id};
  }

  const Job& JobOf(const Gang& gang) const {
    static const Job kDefault;
    const auto it = jobs_.find(gang.job);
    return it == jobs_.end() ? kDefault : it->second;
  }

  static WaitReason NoCapacity(const Gang& gang, const Pool& pool) {
    const std::string away =
        pool.away == 0
            ? ""
            : absl::StrCat("; ", pool.away, pool.away == 1 ? " agent is" : " agents are", " away");
    if (gang.slots == 0) {
      return {Kind::kNoCapacity, absl::StrCat("needs an agent of pool ", gang.resource_pool, away)};
    }
    if (gang.single_node) {
      size_t most = 0;
      for (const FreeNode& node : pool.nodes) most = std::max(most, node.free.size());
      return {Kind::kNoCapacity,
              absl::StrCat("needs ", Slots(gang.slots), " on one agent; at most ", most,
                           " are free on one of pool ", gang.resource_pool, away)};
    }
    return {Kind::kNoCapacity,
            absl::StrCat("needs ", Slots(gang.slots), "; ", pool.free_slots(), " of ",
                         pool.all.slots, " are free in pool ", gang.resource_pool, away)};
  }

  std::map<std::string, Pool> pools_;
  std::map<model::JobId, Held> held_;
  std::map<model::JobId, Job> jobs_;
};

}  // namespace

Scheduled Schedule(const Snapshot& snapshot) {
  Scheduled result;
  Snapshot now = snapshot;
  // Again until nothing starts: a start may use up its job's max_slots, so that a gang of the same
  // job that was held to wait for capacity no longer holds anybody back.
  while (true) {
    Scheduled pass = Pass(now).Run(WaitingInOrder(now));
    result.waiting = std::move(pass.waiting);
    if (pass.plan.assign.empty()) return result;
    for (const Assignment& assignment : pass.plan.assign) {
      for (Gang& gang : now.gangs) {
        if (gang.id == assignment.gang) gang.running_on = assignment.on;
      }
      result.plan.assign.push_back(assignment);
    }
  }
}

class Scheduler::Impl {
 public:
  std::map<std::string, model::ResourcePool> pools;
  std::map<model::AgentId, Node> nodes;
  std::map<model::JobId, Job> jobs;
  std::map<model::AllocationId, Gang> gangs;
  std::map<std::pair<model::Quota::Scope, std::string>, Limit> limits;
  WaitReasons waiting;
};

Scheduler::Scheduler() : impl_(std::make_unique<Impl>()) {}
Scheduler::Scheduler(Scheduler&&) noexcept = default;
Scheduler& Scheduler::operator=(Scheduler&&) noexcept = default;
Scheduler::~Scheduler() = default;

void Scheduler::Put(model::ResourcePool pool) {
  const std::string name = pool.name;
  impl_->pools.insert_or_assign(name, std::move(pool));
}
void Scheduler::RemovePool(const std::string& name) { impl_->pools.erase(name); }
void Scheduler::Put(Node node) {
  const model::AgentId id = node.id;
  impl_->nodes.insert_or_assign(id, std::move(node));
}
void Scheduler::RemoveNode(const model::AgentId& id) { impl_->nodes.erase(id); }
void Scheduler::Put(Job job) {
  const model::JobId id = job.id;
  impl_->jobs.insert_or_assign(id, std::move(job));
}
void Scheduler::RemoveJob(const model::JobId& id) { impl_->jobs.erase(id); }
void Scheduler::Put(Gang gang) {
  const model::AllocationId id = gang.id;
  impl_->gangs.insert_or_assign(id, std::move(gang));
}
void Scheduler::RemoveGang(const model::AllocationId& id) { impl_->gangs.erase(id); }
void Scheduler::Put(Limit limit) {
  const std::pair key(limit.quota.scope, limit.quota.name);
  impl_->limits.insert_or_assign(key, std::move(limit));
}
void Scheduler::RemoveLimit(model::Quota::Scope scope, const std::string& name) {
  impl_->limits.erase({scope, name});
}

Plan Scheduler::Pass(absl::Time now) {
  Scheduled scheduled = Schedule(Dump(now));
  impl_->waiting = std::move(scheduled.waiting);
  return std::move(scheduled.plan);
}

std::optional<WaitReason> Scheduler::ReasonOf(const model::AllocationId& gang) const {
  const auto it = impl_->waiting.find(gang);
  if (it == impl_->waiting.end()) return std::nullopt;
  return it->second;
}

std::vector<model::AllocationId> Scheduler::Queue(const std::string& resource_pool) const {
  std::vector<model::AllocationId> queue;
  const Snapshot snapshot = Dump(absl::InfinitePast());
  for (const Gang* gang : WaitingInOrder(snapshot)) {
    if (gang->resource_pool == resource_pool) queue.push_back(gang->id);
  }
  return queue;
}

absl::Status Scheduler::CanEverRun(const Gang&) const { return absl::OkStatus(); }

Snapshot Scheduler::Dump(absl::Time now) const {
  Snapshot snapshot{.now = now};
  for (const auto& [name, pool] : impl_->pools) snapshot.pools.push_back(pool);
  for (const auto& [id, node] : impl_->nodes) snapshot.nodes.push_back(node);
  for (const auto& [id, job] : impl_->jobs) snapshot.jobs.push_back(job);
  for (const auto& [id, gang] : impl_->gangs) snapshot.gangs.push_back(gang);
  for (const auto& [key, limit] : impl_->limits) snapshot.limits.push_back(limit);
  return snapshot;
}

}  // namespace det::scheduler
