// Resource pools and quotas: how agents are grouped, who may use which group, in what order, and
// how much. Defined in the master's configuration file and changed at run time by
// ResourcePoolService.
//
// PURE.
#ifndef MASTER_CORE_MODEL_RESOURCE_POOL_H_
#define MASTER_CORE_MODEL_RESOURCE_POOL_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/time/time.h"

namespace det::model {

// Who goes first. docs/scheduling.md.
enum class SchedulingPolicy { kPriority, kFairShare, kFifo };
// Where a gang goes that fits in several places: the fullest node or the emptiest.
enum class FittingPolicy { kBest, kWorst };

std::string_view ToString(SchedulingPolicy policy);  // "priority"
std::string_view ToString(FittingPolicy policy);     // "best"
std::optional<SchedulingPolicy> ParseSchedulingPolicy(std::string_view text);
std::optional<FittingPolicy> ParseFittingPolicy(std::string_view text);

struct ResourcePool {
  std::string name;
  std::string description;
  SchedulingPolicy policy = SchedulingPolicy::kPriority;
  FittingPolicy fitting = FittingPolicy::kBest;
  bool preemption = false;
  // Whether a gang may run on nodes of unequal size and beside others. Without, as the predecessor
  // did it: on one node, or on wholly idle nodes of one size.
  bool heterogeneous = true;
  // Whether a gang may start before a more important one that does not fit, where this cannot delay
  // that one.
  bool backfill = true;
  // A gang that does not fit is passed by its equals for this long; then it holds what it needs.
  absl::Duration hold_after = absl::Seconds(3);
  int default_priority = 42;    // 1..99, smaller first
  int max_aux_per_agent = 100;  // tasks without slots on one agent
  bool shared_devices = false;  // whether slots may be fractions of a device
  // A gang without max_run_time does not start on a node that goes into maintenance within this.
  absl::Duration maintenance_lead = absl::Hours(1);
  std::vector<std::string> workspaces;  // that may use it; empty: all
  friend bool operator==(const ResourcePool&, const ResourcePool&) = default;
};

// A limit on what one user, or all users of one workspace, hold at once and spend in a month.
struct Quota {
  enum class Scope { kUser, kWorkspace };
  Scope scope = Scope::kWorkspace;
  std::string name;                  // of the user or workspace
  std::optional<double> max_slots;   // at once; fractions of devices count as such
  std::optional<double> slot_hours;  // per calendar month (UTC)
  friend bool operator==(const Quota&, const Quota&) = default;
};

}  // namespace det::model

#endif  // MASTER_CORE_MODEL_RESOURCE_POOL_H_
