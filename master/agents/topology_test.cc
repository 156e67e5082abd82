#include "master/agents/topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace det::agents {
namespace {

using ::testing::ElementsAre;

model::Agent Machine(const std::string& id) {
  model::Agent agent{.id = model::AgentId(id), .network_switch = "own"};
  for (int slot = 0; slot < 5; ++slot) agent.slots.push_back({.id = slot});
  return agent;
}

std::vector<int> Islands(const model::Agent& agent) {
  std::vector<int> islands;
  for (const model::Device& device : agent.slots) islands.push_back(device.island);
  return islands;
}

TEST(TopologyTest, OverridesReportedTopology) {
  const Topology topology = {{"a", {"leaf-1", {{3, 1}, {0, 99}}}}, {"b", {"leaf-2", {}}}};
  model::Agent a = Machine("a");
  ApplyTopology(topology, a);
  EXPECT_EQ(a.network_switch, "leaf-1");
  EXPECT_THAT(Islands(a), ElementsAre(1, 0, 2, 0, 3)) << "2 and 4 form their own islands";
  model::Agent b = Machine("b");
  ApplyTopology(topology, b);
  EXPECT_EQ(b.network_switch, "leaf-2");
  EXPECT_THAT(Islands(b), ElementsAre(0, 0, 0, 0, 0));
}

TEST(TopologyTest, KeepsReportedTopologyOfUnlistedAgent) {
  model::Agent agent = Machine("c");
  ApplyTopology({{"a", {"leaf-1", {{1}}}}}, agent);
  EXPECT_EQ(agent, Machine("c"));
}

}  // namespace
}  // namespace det::agents
