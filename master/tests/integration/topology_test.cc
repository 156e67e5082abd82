// Placement by the topology of switches and devices that agents report or the master's
// configuration file sets.
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "det/api/v1/agent.grpc.pb.h"
#include "det/api/v1/experiment.grpc.pb.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "master/app/config_file.h"
#include "master/tests/testing/fake_agent.h"
#include "master/tests/testing/test_master.h"

namespace det::tests {

using app::Config;
using app::ReadConfigText;

namespace {

namespace api = det::api::v1;
using ::testing::ElementsAre;

class TopologyTest : public testing::Test {
 protected:
  // `file`: content of the master's configuration file.
  void Begin(const std::string& file = "") {
    Config config;
    const absl::Status read = ReadConfigText(file, "master.yaml", &config);
    ASSERT_TRUE(read.ok()) << read;
    master_ =
        std::make_unique<TestMaster>(store::MakeFakeDatabase(), absl::Hours(1), config.topology);
    agents_ = api::AgentService::NewStub(master_->channel());
  }
  void Connect(const wire::Register& registration) {
    played_.push_back(std::make_unique<FakeAgent>(*master_, registration));
    ASSERT_TRUE(played_.back()->Next().has_registered());
  }
  // Starts a gang with this many slots and returns the used slots: "a:0", "a:1", "b:0".
  std::vector<std::string> Start(int slots) {
    CallContext context("user");
    api::CreateExperimentRequest request;
    request.set_config(absl::StrCat("{entrypoint: 'true', searcher: {name: single, metric: loss}, ",
                                    "resources: {slots_per_trial: ", slots, "}}"));
    request.set_activate(true);
    api::CreateExperimentResponse response;
    const grpc::Status status = api::ExperimentService::NewStub(master_->channel())
                                    ->CreateExperiment(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    std::vector<std::string> used;
    while (status.ok() && used.empty()) used = Used();
    return used;
  }

 private:
  std::vector<std::string> Used() {
    CallContext context("user");
    api::GetAgentsResponse response;
    const grpc::Status status = agents_->GetAgents(&context, {}, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    std::vector<std::string> used;
    for (const api::Agent& agent : response.agents()) {
      for (int slot = 0; slot < agent.slots_size(); ++slot) {
        const std::string id = std::to_string(slot);
        if (agent.slots().at(id).has_container()) used.push_back(agent.id() + ":" + id);
      }
    }
    return used;
  }

  std::unique_ptr<TestMaster> master_;
  std::unique_ptr<api::AgentService::Stub> agents_;
  std::vector<std::unique_ptr<FakeAgent>> played_;
};

wire::Register Machine(const std::string& id, int slots, const std::string& network_switch = "") {
  wire::Register registration = FakeAgent::Registration(id, slots);
  registration.set_network_switch(network_switch);
  return registration;
}

TEST_F(TopologyTest, PlacesAGangOnOneReportedIsland) {
  Begin();
  wire::Register machine = Machine("a", 8);
  for (wire::Device& device : *machine.mutable_slots()) device.set_island(device.id() % 2);
  Connect(machine);
  EXPECT_THAT(Start(3), ElementsAre("a:0", "a:2", "a:4"));
}

TEST_F(TopologyTest, PlacesAGangBelowOneReportedSwitch) {
  Begin();
  Connect(Machine("a", 2, "leaf-1"));
  Connect(Machine("b", 2, "leaf-2"));
  Connect(Machine("c", 2, "leaf-2"));
  EXPECT_THAT(Start(4), ElementsAre("b:0", "b:1", "c:0", "c:1"));
}

TEST_F(TopologyTest, ConfigFileOverridesReportedTopology) {
  Begin(R"(
topology:
- {switch: leaf-1, agents: [a, c]}
)");
  Connect(Machine("a", 2, "leaf-9"));
  Connect(Machine("b", 2, "leaf-9"));
  Connect(Machine("c", 2));
  EXPECT_THAT(Start(4), ElementsAre("a:0", "a:1", "c:0", "c:1"));
}

TEST_F(TopologyTest, ConfigFileSetsIslands) {
  Begin("topology: [{agents: [a], islands: [[0, 3, 4], [1, 2]]}]");
  Connect(Machine("a", 5));
  EXPECT_THAT(Start(2), ElementsAre("a:1", "a:2"));
}

}  // namespace
}  // namespace det::tests
