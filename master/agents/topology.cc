#include "master/agents/topology.h"

#include <algorithm>

namespace det::agents {

void ApplyTopology(const Topology& topology, model::Agent& agent) {
  const auto found = topology.find(agent.id.value());
  if (found == topology.end()) return;
  const NodeTopology& node = found->second;
  if (!node.network_switch.empty()) agent.network_switch = node.network_switch;
  if (node.islands.empty()) return;
  int alone = static_cast<int>(node.islands.size());
  for (model::Device& device : agent.slots) {
    const auto island = std::find_if(
        node.islands.begin(), node.islands.end(), [&device](const std::vector<int64_t>& ids) {
          return std::find(ids.begin(), ids.end(), device.id) != ids.end();
        });
    device.island =
        island == node.islands.end() ? alone++ : static_cast<int>(island - node.islands.begin());
  }
}

}  // namespace det::agents
