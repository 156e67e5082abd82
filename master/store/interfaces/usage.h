// Slot usage for reports: who held how many slots for how long. Reached through Store::usage().
// Any thread; blocks. Reads committed rows only.
#ifndef MASTER_STORE_INTERFACES_USAGE_H_
#define MASTER_STORE_INTERFACES_USAGE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "master/core/model/ids.h"
#include "master/core/model/states.h"

namespace det::store {

// One allocation, from the time its slots were assigned.
struct UsageRecord {
  model::TaskKind kind = model::TaskKind::kTrial;
  // 0 unless it is a trial. If it is deleted, the ids of its user and workspace and its labels are
  // unset.
  model::ExperimentId experiment;
  model::UserId user;
  std::string username;
  int32_t workspace_id = 0;  // when the allocation started
  std::string workspace;
  std::vector<std::string> labels;
  std::string resource_pool;
  model::AllocationId allocation;
  double slots = 0;  // may be fractional
  absl::Time started_at;
  std::optional<absl::Time> ended_at;  // unset: still running
  friend bool operator==(const UsageRecord&, const UsageRecord&) = default;
};

// The slots that an agent offered to a pool.
struct CapacityRecord {
  model::AgentId agent;
  std::string resource_pool;
  int32_t slots = 0;
  absl::Time began_at;
  std::optional<absl::Time> ended_at;  // unset: not before the end of the queried time
  friend bool operator==(const CapacityRecord&, const CapacityRecord&) = default;
};

class Usage {
 public:
  virtual ~Usage() = default;

  // Allocations that held slots at any time in [from, until), sorted by their start. For deleted
  // experiments only the last month is known.
  virtual absl::StatusOr<std::vector<UsageRecord>> ListUsage(absl::Time from, absl::Time until) = 0;

  // Capacity that was offered at any time in [from, until), sorted by its start.
  virtual absl::StatusOr<std::vector<CapacityRecord>> ListCapacity(absl::Time from,
                                                                   absl::Time until) = 0;
};

}  // namespace det::store

#endif  // MASTER_STORE_INTERFACES_USAGE_H_
