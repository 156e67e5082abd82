// An agent as the cluster sees it: a machine with slots.
//
// PURE.
#ifndef MASTER_MODEL_AGENT_H_
#define MASTER_MODEL_AGENT_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "master/model/ids.h"

namespace det::model {

enum class DeviceType { kCpu, kCuda, kRocm };

struct Device {
  int id = 0;  // the slot's number on its agent
  DeviceType type = DeviceType::kCpu;
  std::string brand;
  std::string uuid;
  friend bool operator==(const Device&, const Device&) = default;
};

struct Agent {
  AgentId id;
  std::string version;
  std::string address;
  std::string resource_pool;
  std::vector<Device> slots;
  absl::Time registered_at;
  bool connected = true;  // false: lost, and still within the master's patience
  friend bool operator==(const Agent&, const Agent&) = default;
};

// A share of an allocation on one agent.
struct Placement {
  AgentId agent;
  std::vector<int> slots;  // Device::id
  friend bool operator==(const Placement&, const Placement&) = default;
};

}  // namespace det::model

#endif  // MASTER_MODEL_AGENT_H_
