#include "master/core/scheduler/testing/oracle.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace det::scheduler {
namespace {

constexpr double kTiny = 1e-6;

bool RightDevice(const Gang& gang, const Slot& slot) {
  return slot.enabled && (!gang.slot_type || *gang.slot_type == slot.type) &&
         absl::StrContains(absl::AsciiStrToLower(slot.model), absl::AsciiStrToLower(gang.device));
}

// The free resources of a node.
struct Left {
  std::map<int, double> slots;  // by id
  double cpus = 1e18;
  double memory = 1e18;
  int places = 0;
};

double Times(const Gang& gang, size_t slots) {
  return gang.slots == 0 ? 1 : static_cast<double>(slots);
}

Left LeftOn(const Snapshot& snapshot, const Node& node,
            const std::function<bool(const Gang&)>& ignored) {
  Left left;
  for (const Slot& slot : node.slots) left.slots[slot.id] = 1;
  if (node.cpus) left.cpus = *node.cpus;
  if (node.memory) left.memory = static_cast<double>(*node.memory);
  left.places = std::min(node.aux, GetPool(snapshot, node.resource_pool).max_aux_per_agent);
  for (const Gang& gang : snapshot.gangs) {
    if (ignored(gang)) continue;
    for (const model::Placement& placement : gang.running_on) {
      if (placement.agent != node.id) continue;
      for (const int slot : placement.slots) {
        if (left.slots.contains(slot)) left.slots[slot] -= gang.fraction;
      }
      left.cpus -= gang.cpus * Times(gang, placement.slots.size());
      left.memory -= static_cast<double>(gang.memory) * Times(gang, placement.slots.size());
      if (gang.slots == 0) --left.places;
    }
  }
  return left;
}

bool InMaintenance(const Snapshot& snapshot, const Node& node) {
  return std::any_of(node.maintenance.begin(), node.maintenance.end(), [&](const Maintenance& w) {
    return w.begin <= snapshot.now && snapshot.now < w.end;
  });
}

bool MaintenanceAllows(const Snapshot& snapshot, const Node& node, const Gang& gang) {
  const absl::Duration lead = GetPool(snapshot, node.resource_pool).maintenance_lead;
  return std::none_of(node.maintenance.begin(), node.maintenance.end(), [&](const Maintenance& w) {
    if (snapshot.now >= w.end) return false;
    if (gang.max_run_time == absl::InfiniteDuration()) return w.begin - snapshot.now <= lead;
    // The scheduler rounds up by at most an eighth.
    return snapshot.now + gang.max_run_time * 9 / 8 + absl::Seconds(1) > w.begin;
  });
}

bool Open(const Snapshot& snapshot, const Node& node, const Gang& gang) {
  return node.resource_pool == gang.resource_pool && node.accepts_work &&
         !InMaintenance(snapshot, node) &&
         std::find(gang.blocked.begin(), gang.blocked.end(), node.id) == gang.blocked.end();
}

// Returns how many slots of the node the gang could use.
int UsableOn(const Node& node, const Gang& gang, const Left& left) {
  int usable = 0;
  for (const Slot& slot : node.slots) {
    const double needed = gang.fraction < 1 ? gang.fraction : 1;
    if (RightDevice(gang, slot) && left.slots.at(slot.id) >= needed - kTiny) ++usable;
  }
  if (gang.cpus > 0)
    usable = std::min<int>(usable, static_cast<int>(left.cpus / gang.cpus + kTiny));
  if (gang.memory > 0) {
    usable =
        std::min<int>(usable, static_cast<int>(left.memory / static_cast<double>(gang.memory)));
  }
  return std::max(0, usable);
}

}  // namespace

const model::ResourcePool& GetPool(const Snapshot& snapshot, const std::string& name) {
  static const model::ResourcePool kDefaults;
  for (const model::ResourcePool& pool : snapshot.pools) {
    if (pool.name == name) return pool;
  }
  return kDefaults;
}

const Job& GetJob(const Snapshot& snapshot, const model::JobId& id) {
  static const Job kDefaults;
  for (const Job& job : snapshot.jobs) {
    if (job.id == id) return job;
  }
  return kDefaults;
}

bool FitsLeftover(const Snapshot& snapshot, const Gang& gang,
                  const std::function<bool(const Gang&)>& ignored) {
  const model::ResourcePool& pool = GetPool(snapshot, gang.resource_pool);
  if (gang.fraction < 1 && !pool.shared_devices) return false;
  int sum = 0;
  std::map<int, int> idle;
  for (const Node& node : snapshot.nodes) {
    if (!Open(snapshot, node, gang) || !MaintenanceAllows(snapshot, node, gang)) continue;
    const Left left = LeftOn(snapshot, node, ignored);
    if (gang.slots == 0) {
      if (left.places > 0 && left.cpus + kTiny >= gang.cpus &&
          left.memory >= static_cast<double>(gang.memory)) {
        return true;
      }
      continue;
    }
    const int usable = UsableOn(node, gang, left);
    if (usable >= gang.slots) return true;
    sum += usable;
    const auto size = std::count_if(node.slots.begin(), node.slots.end(),
                                    [&](const Slot& slot) { return RightDevice(gang, slot); });
    if (usable == size) ++idle[usable];
  }
  if (gang.single_node || gang.slots == 0) return false;
  if (pool.heterogeneous) return sum >= gang.slots;
  return std::any_of(idle.begin(), idle.end(), [&](const auto& entry) {
    return entry.first > 0 && gang.slots % entry.first == 0 &&
           gang.slots / entry.first <= entry.second;
  });
}

bool CouldUse(const Snapshot& snapshot, const Gang& gang, const Node& node, const Slot& slot) {
  return Open(snapshot, node, gang) && RightDevice(gang, slot);
}

Snapshot RemoveHeldResources(Snapshot snapshot, const std::vector<Gang>& waiting) {
  const Snapshot before = snapshot;
  for (const Gang& gang : waiting) {
    for (size_t i = 0; i < snapshot.nodes.size(); ++i) {
      Node& node = snapshot.nodes[i];
      const Node& of = before.nodes[i];
      if (!Open(before, of, gang)) continue;
      for (size_t slot = 0; slot < of.slots.size() && gang.slots > 0; ++slot) {
        if (CouldUse(before, gang, of, of.slots[slot])) node.slots[slot].enabled = false;
      }
      if (gang.cpus > 0) node.cpus = 0;
      if (gang.memory > 0) node.memory = 0;
      if (gang.slots == 0 && (gang.cpus > 0 || gang.memory > 0)) node.aux = 0;
    }
  }
  return snapshot;
}

std::optional<absl::Time> FitsAt(const Snapshot& snapshot, const Gang& gang,
                                 const std::function<bool(const Gang&)>& ignored) {
  std::set<absl::Time> ends = {snapshot.now};
  for (const Gang& other : snapshot.gangs) {
    if (other.running_on.empty() || other.max_run_time == absl::InfiniteDuration()) continue;
    ends.insert(other.started_at + other.max_run_time);
  }
  for (const absl::Time end : ends) {
    const auto has_ended = [&](const Gang& other) {
      return ignored(other) || other.terminating || other.started_at + other.max_run_time <= end;
    };
    if (FitsLeftover(snapshot, gang, has_ended)) return end;
  }
  return std::nullopt;
}

std::string WrongPlacement(const Snapshot& after, const Gang& gang) {
  size_t slots = 0;
  for (const model::Placement& placement : gang.running_on) {
    const auto node = std::find_if(after.nodes.begin(), after.nodes.end(),
                                   [&](const Node& n) { return n.id == placement.agent; });
    if (node == after.nodes.end() || !Open(after, *node, gang)) return "on a node it may not use";
    const Left left = LeftOn(after, *node, [](const Gang&) { return false; });
    for (const int id : placement.slots) {
      const auto slot = std::find_if(node->slots.begin(), node->slots.end(),
                                     [&](const Slot& s) { return s.id == id; });
      if (slot == node->slots.end() || !RightDevice(gang, *slot))
        return "on a slot of another kind";
      if (left.slots.at(id) < -kTiny) return "on a slot that other gangs use";
    }
    if (gang.cpus > 0 && left.cpus < -kTiny) return "more cpus than there are";
    if (gang.memory > 0 && left.memory < 0) return "more memory than there is";
    if (gang.slots == 0 && left.places < 0) return "more gangs without slots than the node takes";
    slots += placement.slots.size();
  }
  const auto most = static_cast<size_t>(std::max(gang.slots, gang.max_slots));
  if (slots < static_cast<size_t>(gang.slots) || slots > most)
    return "with the wrong number of slots";
  if ((gang.single_node || gang.slots == 0) && gang.running_on.size() != 1)
    return "not on one node";
  return "";
}

std::string OverLimit(const Snapshot& after, const Plan& plan) {
  std::map<std::string, double> held;
  std::map<std::string, int64_t> gangs;
  const auto keys = [&](const Gang& gang) {
    const Job& job = GetJob(after, gang.job);
    return std::vector<std::string>{"job " + gang.job.value(), "user " + job.user,
                                    "workspace " + job.workspace};
  };
  std::map<std::string, bool> touched;
  for (const Gang& gang : after.gangs) {
    double slots = 0;
    for (const auto& placement : gang.running_on) {
      slots += gang.fraction * static_cast<double>(placement.slots.size());
    }
    const bool starts = std::any_of(plan.assign.begin(), plan.assign.end(),
                                    [&](const Assignment& a) { return a.gang == gang.id; });
    for (const std::string& key : keys(gang)) {
      held[key] += slots;
      gangs[key] += gang.running_on.empty() ? 0 : 1;
      if (starts && (gang.slots > 0)) touched[key] = true;
      if (starts) touched["any " + key] = true;
    }
  }
  for (const Job& job : after.jobs) {
    const std::string key = "job " + job.id.value();
    if (job.max_slots && touched[key] && held[key] > *job.max_slots + kTiny) return key;
    if (job.max_gangs && touched["any " + key] && gangs[key] > *job.max_gangs) return key;
  }
  for (const Limit& limit : after.limits) {
    const bool user = limit.quota.scope == model::Quota::Scope::kUser;
    const std::string key = absl::StrCat(user ? "user " : "workspace ", limit.quota.name);
    if (!touched[key]) continue;
    if (limit.quota.max_slots && held[key] > *limit.quota.max_slots + kTiny) return key;
    if (limit.quota.slot_hours && limit.slot_hours_used >= *limit.quota.slot_hours) return key;
  }
  return "";
}

}  // namespace det::scheduler
