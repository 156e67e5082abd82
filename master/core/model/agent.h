// An agent as the cluster sees it: a machine with slots.
//
// PURE.
#ifndef MASTER_CORE_MODEL_AGENT_H_
#define MASTER_CORE_MODEL_AGENT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "master/core/model/ids.h"

namespace det::model {

enum class DeviceType { kCpu, kCuda, kRocm, kTpu };

struct Device {
  int id = 0;  // the slot's number on its agent
  DeviceType type = DeviceType::kCpu;
  std::string brand;  // "NVIDIA H200", "NVIDIA H200 MIG 1g.18gb"
  std::string uuid;
  int island = 0;  // devices of one island reach each other fastest (NVLink)
  friend bool operator==(const Device&, const Device&) = default;
};

struct Agent {
  AgentId id;
  std::string version;
  std::string address;
  std::string resource_pool;
  std::vector<Device> slots;
  std::optional<double> cpus;     // for all tasks together; absent: not limited
  std::optional<int64_t> memory;  // bytes for all tasks together; absent: not limited
  std::string network_switch;     // agents of one switch reach each other fastest; empty: unknown
  std::map<std::string, std::string> labels;
  absl::Time registered_at;
  bool connected = true;  // false: disconnected, and the master's agent timeout has not passed
  friend bool operator==(const Agent&, const Agent&) = default;
};

// A window in which no task may run on the agent.
struct Maintenance {
  absl::Time begin;
  absl::Time end;
  std::string note;
  friend bool operator==(const Maintenance&, const Maintenance&) = default;
};

// The administrative state of an agent, set by users or by the master. Stored by its id, whether
// the agent is connected or not.
struct AgentState {
  // Whether a slot accepts work, and if not, why.
  struct SlotState {
    bool enabled = true;
    bool quarantined = false;  // by the master, after consecutive suspected hardware failures
    std::string reason;        // the last of these failures
    int failures = 0;          // consecutive
    friend bool operator==(const SlotState&, const SlotState&) = default;
  };
  AgentId id;
  bool enabled = true;
  bool draining = false;                 // disabled, but running tasks may finish
  std::map<int, SlotState> slots;        // by Device::id; absent: enabled
  std::vector<Maintenance> maintenance;  // by begin; past ones are dropped
  friend bool operator==(const AgentState&, const AgentState&) = default;
};

// The slots of an allocation on one agent.
struct Placement {
  AgentId agent;
  std::vector<int> slots;  // Device::id
  friend bool operator==(const Placement&, const Placement&) = default;
};

}  // namespace det::model

#endif  // MASTER_CORE_MODEL_AGENT_H_
