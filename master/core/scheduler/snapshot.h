// Everything the scheduler may look at, as plain values: pools, nodes with their slots, jobs,
// limits, and the gangs that run and those that wait. Made by cluster/scheduling.cc, or read from a
// file (snapshot_json.h, whose format docs/scheduling.md describes).
//
// PURE.
#ifndef MASTER_CORE_SCHEDULER_SNAPSHOT_H_
#define MASTER_CORE_SCHEDULER_SNAPSHOT_H_

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "master/core/model/agent.h"
#include "master/core/model/ids.h"
#include "master/core/model/resource_pool.h"

namespace det::scheduler {

struct Slot {
  int id = 0;  // model::Device::id
  model::DeviceType type = model::DeviceType::kCpu;
  std::string model;  // "NVIDIA H200"
  int island = 0;     // slots of one island reach each other fastest (NVLink)
  bool enabled = true;
  friend bool operator==(const Slot&, const Slot&) = default;
};

using model::Maintenance;

struct Node {
  model::AgentId id;
  std::string resource_pool;
  std::vector<Slot> slots;
  int aux = 100;                  // gangs without slots that it takes
  std::optional<double> cpus;     // absent: not counted
  std::optional<int64_t> memory;  // bytes; absent: not counted
  std::string network_switch;     // nodes of one switch reach each other fastest; empty: unknown
  std::map<std::string, std::string> labels;
  std::vector<Maintenance> maintenance;
  bool accepts_work = true;  // connected, enabled, not draining
  friend bool operator==(const Node&, const Node&) = default;
};

// The unit of fairness and of order: one experiment.
struct Job {
  model::JobId id;
  int priority = 42;          // 1..99, smaller first
  double weight = 1;          // under fair share
  double position = 0;        // in the queue, inside a priority
  bool position_set = false;  // by hand: only then does it ask others of its priority away
  std::optional<double> max_slots;
  std::optional<int64_t> max_gangs;  // that hold slots at once
  std::string workspace;
  std::string user;
  friend bool operator==(const Job&, const Job&) = default;
};

// What one allocation asks for: all of it at once, or nothing.
struct Gang {
  model::AllocationId id;
  model::JobId job;
  std::string resource_pool;
  int slots = 1;
  int max_slots = 0;    // elastic: from slots to this many; 0: exactly `slots`
  double fraction = 1;  // of each slot; below 1 only with slots == 1, in a pool of shared devices
  double cpus = 0;      // for each slot, or for the gang where it has none
  int64_t memory = 0;   // bytes; likewise
  std::optional<model::DeviceType> slot_type;
  std::string device;  // part of Slot::model, whatever its case; empty: any
  bool single_node = false;
  bool preemptible = true;
  std::vector<model::AgentId> blocked;  // where it must not run
  int64_t submitted = 0;                // order inside a job: a counter, not a time
  absl::Time queued_at;                 // since when it waits
  // It ends after this long at the latest, counted from its start.
  absl::Duration max_run_time = absl::InfiniteDuration();

  // Where it runs; empty: it waits.
  std::vector<model::Placement> running_on;
  absl::Time started_at;
  absl::Time saved_at;   // of its newest checkpoint in this run, or its start
  bool leaving = false;  // told to go, or being stopped: its slots will be free soon
  friend bool operator==(const Gang&, const Gang&) = default;
};

// A quota with what was used of it.
struct Limit {
  model::Quota quota;
  double slot_hours_used = 0;  // in the present month, running gangs included
  friend bool operator==(const Limit&, const Limit&) = default;
};

struct Snapshot {
  absl::Time now;
  std::vector<model::ResourcePool> pools;  // a pool that only nodes name has the defaults
  std::vector<Node> nodes;
  std::vector<Job> jobs;  // a job that only gangs name has the defaults
  std::vector<Gang> gangs;
  std::vector<Limit> limits;
  friend bool operator==(const Snapshot&, const Snapshot&) = default;
};

}  // namespace det::scheduler

#endif  // MASTER_CORE_SCHEDULER_SNAPSHOT_H_
