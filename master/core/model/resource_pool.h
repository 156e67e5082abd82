// Resource pools, which group agents with a scheduling policy, and quotas. Defined in the master's
// configuration file and changed at run time by ResourcePoolService.
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

// The order of the queue; docs/scheduling.md.
enum class SchedulingPolicy { kPriority, kFairShare, kFifo };
// The node of a gang that fits on several: the fullest (best) or the emptiest (worst).
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
  // Whether a gang may run on nodes of different sizes and beside other gangs. If false, as in
  // Determined: on one node, or on idle nodes of one size.
  bool heterogeneous = true;
  // Whether a gang may start ahead of a higher-ranked one that does not fit, if this cannot delay
  // that one.
  bool backfill = true;
  // Gangs of equal rank may overtake one that does not fit for this long; then it claims free
  // slots.
  absl::Duration hold_after = absl::Seconds(3);
  int default_priority = 42;    // 1..99, smaller first
  int max_aux_per_agent = 100;  // tasks without slots on one agent
  bool shared_devices = false;  // whether slots may be fractions of a device
  // A gang without max_run_time does not start on a node whose maintenance begins within this time.
  absl::Duration maintenance_lead = absl::Hours(1);
  std::vector<std::string> workspaces;  // bound workspaces; empty: all may use the pool
  friend bool operator==(const ResourcePool&, const ResourcePool&) = default;
};

// A limit on the slots that a user, or all users of a workspace, hold at once and use in a month.
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
