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
  std::optional<double> cpus;     // that tasks may use together; absent: not counted
  std::optional<int64_t> memory;  // bytes; likewise
  std::string network_switch;     // agents of one switch reach each other fastest; empty: unknown
  std::map<std::string, std::string> labels;
  absl::Time registered_at;
  bool connected = true;  // false: lost, and still within the master's patience
  friend bool operator==(const Agent&, const Agent&) = default;
};

// From begin to end no task may run on the agent.
struct Maintenance {
  absl::Time begin;
  absl::Time end;
  std::string note;
  friend bool operator==(const Maintenance&, const Maintenance&) = default;
};

// What people, or the master by itself, have decided about an agent. Kept by its id, whether it is
// connected or not.
struct AgentState {
  // Why a slot takes no work.
  struct SlotState {
    bool enabled = true;
    bool quarantined = false;  // by the master: its tasks failed in a row as on broken hardware
    std::string reason;        // the last of these failures
    int failures = 0;          // in a row
    friend bool operator==(const SlotState&, const SlotState&) = default;
  };
  AgentId id;
  bool enabled = true;
  bool draining = false;                 // disabled, and what runs may end by itself
  std::map<int, SlotState> slots;        // by Device::id; absent: enabled
  std::vector<Maintenance> maintenance;  // by begin; past ones are dropped
  friend bool operator==(const AgentState&, const AgentState&) = default;
};

// A share of an allocation on one agent.
struct Placement {
  AgentId agent;
  std::vector<int> slots;  // Device::id
  friend bool operator==(const Placement&, const Placement&) = default;
};

}  // namespace det::model

#endif  // MASTER_CORE_MODEL_AGENT_H_
