// Who held how many slots for how long, for reports. Reached by Store::usage().
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

namespace det::store {

// One allocation, from the day it got its slots.
struct UsageRecord {
  // Of an experiment that was deleted: 0, no number of its user and workspace, no labels, no pool,
  // no id.
  model::ExperimentId experiment;
  model::UserId user;
  std::string username;
  int32_t workspace_id = 0;
  std::string workspace;
  std::vector<std::string> labels;
  std::string resource_pool;
  model::AllocationId allocation;
  double slots = 0;  // fractions as such
  absl::Time started_at;
  std::optional<absl::Time> ended_at;  // without: it holds them still
  friend bool operator==(const UsageRecord&, const UsageRecord&) = default;
};

// What an agent offered to a pool.
struct CapacityRecord {
  model::AgentId agent;
  std::string resource_pool;
  int32_t slots = 0;
  absl::Time began_at;
  std::optional<absl::Time> ended_at;  // without: not before the end of what was asked for
  friend bool operator==(const CapacityRecord&, const CapacityRecord&) = default;
};

class Usage {
 public:
  virtual ~Usage() = default;

  // What was held at any time from `from` until before `until`, by when it began. Of deleted
  // experiments the last month alone is known.
  virtual absl::StatusOr<std::vector<UsageRecord>> ListUsage(absl::Time from, absl::Time until) = 0;

  // What was offered at any time from `from` until before `until`, by when it began.
  virtual absl::StatusOr<std::vector<CapacityRecord>> ListCapacity(absl::Time from,
                                                                   absl::Time until) = 0;
};

}  // namespace det::store

#endif  // MASTER_STORE_INTERFACES_USAGE_H_
