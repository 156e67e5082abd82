// Network topology of machines and devices from the master's configuration file; it overrides what
// agents report.
//
// Read from the file, and applied by the hub when an agent registers.
#ifndef MASTER_AGENTS_TOPOLOGY_H_
#define MASTER_AGENTS_TOPOLOGY_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "master/core/model/agent.h"

namespace det::agents {

struct NodeTopology {
  std::string network_switch;                 // empty: as the agent reports
  std::vector<std::vector<int64_t>> islands;  // Device::id; empty: as the agent reports
  friend bool operator==(const NodeTopology&, const NodeTopology&) = default;
};

using Topology = std::map<std::string, NodeTopology>;  // by agent id

// Each device that no island contains becomes an island of its own.
void ApplyTopology(const Topology& topology, model::Agent& agent);

}  // namespace det::agents

#endif  // MASTER_AGENTS_TOPOLOGY_H_
