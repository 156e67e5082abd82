// Everything the scheduler may look at, as plain values: the agents with their slots, the gangs
// that run and those that wait. Made by cluster/scheduling.cc.
//
// PURE.
#ifndef MASTER_SCHEDULER_SNAPSHOT_H_
#define MASTER_SCHEDULER_SNAPSHOT_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "master/model/agent.h"
#include "master/model/ids.h"

namespace det::scheduler {

// What one allocation asks for: all of its slots at once, or nothing.
struct Gang {
  model::AllocationId id;
  model::JobId job;
  std::string resource_pool;
  int slots = 1;
  bool single_node = false;
  bool preemptible = true;
  int priority = 42;      // smaller first
  int64_t submitted = 0;  // order inside a priority: a counter, not a time
  std::optional<int> job_max_slots;
  std::optional<int64_t> job_max_gangs;      // that hold slots at once
  std::vector<model::Placement> running_on;  // empty: it waits
  friend bool operator==(const Gang&, const Gang&) = default;
};

struct Node {
  model::AgentId id;
  std::string resource_pool;
  std::vector<int> slots;
  bool accepts_work = true;  // connected, enabled, not draining
  friend bool operator==(const Node&, const Node&) = default;
};

struct Snapshot {
  std::vector<Node> nodes;
  std::vector<Gang> gangs;
  friend bool operator==(const Snapshot&, const Snapshot&) = default;
};

}  // namespace det::scheduler

#endif  // MASTER_SCHEDULER_SNAPSHOT_H_
