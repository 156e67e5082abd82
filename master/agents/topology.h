// What the master's configuration file says about the wires between machines and devices; it wins
// over what agents report.
//
// Made by the reader of the file, applied by the hub where an agent registers.
#ifndef MASTER_AGENTS_TOPOLOGY_H_
#define MASTER_AGENTS_TOPOLOGY_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "master/core/model/agent.h"

namespace det::agents {

struct NodeTopology {
  std::string network_switch;                 // empty: as the agent says
  std::vector<std::vector<int64_t>> islands;  // Device::id; empty: as the agent says
  friend bool operator==(const NodeTopology&, const NodeTopology&) = default;
};

using Topology = std::map<std::string, NodeTopology>;  // by the agent's id

// Devices that no island names are an island each of their own.
void ApplyTopology(const Topology& topology, model::Agent& agent);

}  // namespace det::agents

#endif  // MASTER_AGENTS_TOPOLOGY_H_
