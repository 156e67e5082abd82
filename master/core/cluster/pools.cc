// Resource pools and quotas that are changed at run time.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "master/core/cluster/handlers.h"
#include "master/core/cluster/scheduler_input.h"

namespace det::cluster {
namespace {

using Scope = model::Quota::Scope;

bool InFile(const Cluster::State& s, const std::string& name) {
  return std::any_of(s.settings.pools.begin(), s.settings.pools.end(),
                     [&](const model::ResourcePool& pool) { return pool.name == name; });
}

const model::Quota* FindInFile(const Cluster::State& s, Scope scope, const std::string& name) {
  for (const model::Quota& quota : s.settings.quotas) {
    if (quota.scope == scope && quota.name == name) return &quota;
  }
  return nullptr;
}

// The same rule as in the configuration file: names appear in rows, paths and lines of text.
absl::Status CheckName(const std::string& what, const std::string& name) {
  const bool plain = std::all_of(name.begin(), name.end(), [](char c) {
    return static_cast<unsigned char>(c) >= 0x20 && c != 0x7f && c != '/';
  });
  if (!name.empty() && name.size() <= 255 && plain) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(what, ": the name must have 1 to 255 bytes and no control characters or \"/\""));
}

absl::Status Check(const model::ResourcePool& pool) {
  const auto bad = [&](const std::string& what) {
    return absl::InvalidArgumentError(absl::StrCat("resource pool \"", pool.name, "\": ", what));
  };
  DET_RETURN_IF_ERROR(CheckName("resource pool", pool.name));
  if (pool.default_priority < 1 || pool.default_priority > 99) {
    return bad(absl::StrCat("default_priority ", pool.default_priority, " must be from 1 to 99"));
  }
  if (pool.max_aux_per_agent < 0) return bad("max_aux_per_agent must not be negative");
  for (const absl::Duration time : {pool.hold_after, pool.maintenance_lead}) {
    if (time >= absl::ZeroDuration() && time <= absl::Hours(24 * 365)) continue;
    return bad("hold_after and maintenance_lead must be from 0 to a year");
  }
  return absl::OkStatus();
}

absl::Status CheckSeen(const Cluster::State& s, const PutResourcePool& event) {
  if (!event.seen) return absl::OkStatus();
  const model::ResourcePool* defined = FindPool(s, event.pool.name);
  const bool same = defined != nullptr
                        ? *defined == *event.seen
                        : *event.seen == model::ResourcePool{.name = event.pool.name};
  if (same) return absl::OkStatus();
  return absl::AbortedError(absl::StrCat("resource pool ", event.pool.name,
                                         " was changed by another user meanwhile; try again"));
}

// Updates the row of a default pool. `make_default`: whether the pool should be the default;
// `file`: the default of the configuration file.
absl::Status SetDefault(std::optional<std::string>& row, const std::string& file,
                        const std::string& name, std::optional<bool> make_default,
                        const char* what) {
  if (!make_default) return absl::OkStatus();
  const bool is_default = row ? *row == name : file == name;
  if (*make_default == is_default) return absl::OkStatus();
  if (*make_default) {
    row = name;
  } else if (file != name) {
    row.reset();
  } else {
    return absl::FailedPreconditionError(
        absl::StrCat("resource pool ", name, " is the default for ", what,
                     " in the configuration file; make another pool the default instead"));
  }
  return absl::OkStatus();
}

// Updates the nodes of the pool in the scheduler.
void TouchPool(Step& step, const std::string& name) {
  for (const auto& [id, agent] : step.s.agents) {
    if (agent.resource_pool == name) step.TouchNode(id);
  }
  step.Replan();
}

absl::Status CheckUnused(const Cluster::State& s, const std::string& name) {
  const auto used = [&](const std::string& by) {
    return absl::FailedPreconditionError(
        absl::StrCat("resource pool ", name, " cannot be deleted: ", by));
  };
  if (DefaultComputePool(s) == name || DefaultAuxPool(s) == name) return used("it is a default");
  for (const auto& [id, agent] : s.agents) {
    if (agent.resource_pool == name) return used(absl::StrCat("agent ", id.value(), " is in it"));
  }
  for (const auto& [id, entry] : s.experiments) {
    if (entry.experiment.queue.resource_pool == name) {
      return used(absl::StrCat("experiment ", id.value(), " is in it"));
    }
  }
  for (const auto& [id, allocation] : s.allocations) {
    if (allocation.resource_pool == name) return used(absl::StrCat(id.value(), " is in it"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Outcome> Apply(Step& step, const PutResourcePool& event) {
  Cluster::State& s = step.s;
  const model::ResourcePool& pool = event.pool;
  DET_RETURN_IF_ERROR(Check(pool));
  DET_RETURN_IF_ERROR(CheckSeen(s, event));
  PutDefaultPools defaults = s.default_pools;
  DET_RETURN_IF_ERROR(SetDefault(defaults.compute, s.settings.default_compute_pool, pool.name,
                                 event.default_compute, "tasks with slots"));
  DET_RETURN_IF_ERROR(SetDefault(defaults.aux, s.settings.default_aux_pool, pool.name,
                                 event.default_aux, "tasks without slots"));
  if (!(defaults == s.default_pools)) {
    s.default_pools = defaults;
    step.Change(defaults);
  }
  const auto present = s.pools.find(pool.name);
  if (present != s.pools.end() && present->second == pool) return step.Finish();
  s.pools.insert_or_assign(pool.name, pool);
  s.scheduler.Put(pool);
  step.Change(PutPool{pool});
  TouchPool(step, pool.name);
  return step.Finish();
}

absl::StatusOr<Outcome> Apply(Step& step, const DeleteResourcePool& event) {
  Cluster::State& s = step.s;
  const bool in_file = InFile(s, event.name);
  if (!s.pools.contains(event.name)) {
    if (in_file) {
      return absl::FailedPreconditionError(absl::StrCat(
          "resource pool ", event.name,
          " is defined in the master's configuration file and was not changed at run time"));
    }
    return absl::NotFoundError(
        absl::StrCat("resource pool \"", event.name, "\" was not defined at run time"));
  }
  if (!in_file) DET_RETURN_IF_ERROR(CheckUnused(s, event.name));
  s.pools.erase(event.name);
  step.Change(DropPool{event.name});
  const model::ResourcePool* before = FindPool(s, event.name);
  if (before != nullptr) {
    s.scheduler.Put(*before);
  } else {
    s.scheduler.RemovePool(event.name);
  }
  TouchPool(step, event.name);
  return step.Finish();
}

absl::StatusOr<Outcome> Apply(Step& step, const PutQuota& event) {
  const model::Quota& quota = event.quota;
  if (quota.name.empty()) {
    return absl::InvalidArgumentError("a quota needs the name of its user or workspace");
  }
  DET_RETURN_IF_ERROR(CheckName("quota", quota.name));
  if (!quota.max_slots && !quota.slot_hours) {
    return absl::InvalidArgumentError(
        absl::StrCat("the quota of ", quota.name, " has no limit: set max_slots or slot_hours"));
  }
  for (const std::optional<double>& limit : {quota.max_slots, quota.slot_hours}) {
    if (limit && !(std::isfinite(*limit) && *limit >= 0)) {
      return absl::InvalidArgumentError(
          absl::StrCat("the quota of ", quota.name, " must not be below 0"));
    }
  }
  const auto key = std::pair(quota.scope, quota.name);
  const auto present = step.s.quotas.find(key);
  if (present != step.s.quotas.end() && present->second == quota) return step.Finish();
  step.s.quotas.insert_or_assign(key, quota);
  step.s.scheduler.Put(MakeLimit(step.s, quota, step.now));
  step.Change(SetQuota{quota});
  step.Replan();
  SetCalendar(step);
  return step.Finish();
}

absl::StatusOr<Outcome> Apply(Step& step, const DeleteQuota& event) {
  if (step.s.quotas.erase({event.scope, event.name}) == 0) {
    const std::string whose =
        absl::StrCat(event.scope == Scope::kUser ? "user" : "workspace", " \"", event.name, "\"");
    if (FindInFile(step.s, event.scope, event.name) == nullptr) {
      return absl::NotFoundError(absl::StrCat(whose, " has no quota"));
    }
    return absl::FailedPreconditionError(absl::StrCat(
        "the quota of ", whose,
        " is defined in the master's configuration file; set another quota to override it"));
  }
  if (const model::Quota* before = FindInFile(step.s, event.scope, event.name)) {
    step.s.scheduler.Put(MakeLimit(step.s, *before, step.now));
  } else {
    step.s.scheduler.RemoveLimit(event.scope, event.name);
  }
  step.Change(DropQuota{event.scope, event.name});
  step.Replan();
  SetCalendar(step);
  return step.Finish();
}

}  // namespace det::cluster
