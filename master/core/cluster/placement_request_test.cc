// The scheduler request of the `resources` section, and the rejection of infeasible requests.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "master/core/cluster/cluster.h"
#include "master/core/cluster/testing/fixture.h"
#include "master/parse/parse.h"

namespace det::cluster {
namespace {

using model::AgentId;
using model::DeviceType;
using scheduler::Gang;

class PlacementRequestTest : public Fixture {
 protected:
  static std::shared_ptr<model::ExperimentConfig> Config(const std::string& resources) {
    auto config = model::ParseExperimentConfig(
        absl::StrCat("{entrypoint: 'true', searcher: {name: single, metric: loss}, resources: {",
                     resources, "}}"),
        "", {}, {.checkpoint_host_path = "/checkpoints"});
    EXPECT_TRUE(config.ok()) << resources << ": " << config.status();
    return std::make_shared<model::ExperimentConfig>(*std::move(config));
  }
  void AddMachine(const std::string& id, const std::string& pool, int slots, DeviceType type,
                  const std::string& brand, double cpus, int64_t memory) {
    AgentRegistered event;
    event.agent.id = AgentId(id);
    event.agent.resource_pool = pool;
    event.agent.cpus = cpus;
    event.agent.memory = memory;
    for (int i = 0; i < slots; ++i) {
      event.agent.slots.push_back({.id = i, .type = type, .brand = brand});
    }
    Apply(event);
  }
};

struct RequestCase {
  const char* resources;
  Gang gang;  // without members that do not come from the configuration
};

// Only the members that come from the configuration.
Gang Request(int slots, int max_slots = 0) {
  Gang gang;
  gang.slots = slots;
  gang.max_slots = max_slots;
  return gang;
}

std::vector<RequestCase> AllRequestCases() {
  std::vector<RequestCase> cases = {{"", Request(1)},
                                    {"slots_per_trial: 6", Request(6)},
                                    {"slots_per_trial: 0", Request(0)},
                                    {"slots_per_trial: {min: 2, max: 6}", Request(2, 6)},
                                    {"slots_per_trial: {max: 4}", Request(1, 4)},
                                    {"slots_per_trial: {min: 4, max: 4}", Request(4)}};
  const auto add = [&](const char* resources, Gang gang) {
    cases.push_back({resources, std::move(gang)});
    return &cases.back().gang;
  };
  add("slots_per_trial: 0.5", Request(1))->fraction = 0.5;
  add("slots_per_trial: 2, device: H200", Request(2))->device = "H200";
  add("slot_type: cuda", Request(1))->slot_type = DeviceType::kCuda;
  add("slots_per_trial: 3, slot_type: cpu", Request(3))->slot_type = DeviceType::kCpu;
  add("slots_per_trial: 4, is_single_node: true", Request(4))->single_node = true;
  add("cpus: 2.5", Request(1))->cpus = 2.5;
  add("slots_per_trial: 2, memory: 4g", Request(2))->memory = int64_t{4} << 30;
  add("slots_per_trial: 0, cpus: 3", Request(0))->cpus = 3;
  add("max_run_time: 90m", Request(1))->max_run_time = absl::Minutes(90);
  add("blocked_agents: [a, zz]", Request(1))->blocked = {AgentId("a"), AgentId("zz")};
  Gang* all = add(
      "slots_per_trial: {min: 1, max: 2}, device: h200, slot_type: cuda, cpus: 1, memory: 512m, "
      "is_single_node: true",
      Request(1, 2));
  all->device = "h200";
  all->slot_type = DeviceType::kCuda;
  all->cpus = 1;
  all->memory = int64_t{512} << 20;
  all->single_node = true;
  return cases;
}

TEST_F(PlacementRequestTest, RequestsConfiguredResources) {
  int id = 0;
  for (RequestCase& request_case : AllRequestCases()) {
    SCOPED_TRACE(request_case.resources);
    Create(Config(request_case.resources));
    ++id;
    const std::vector<Gang> gangs = cluster_.scheduler().Dump(now_).gangs;
    ASSERT_EQ(gangs.size(), 1u);
    const Gang& gang = gangs[0];
    request_case.gang.id = model::AllocationId(absl::StrCat(id, ".", id, ".1"));
    request_case.gang.job = model::JobId(absl::StrCat("exp-", id));
    request_case.gang.resource_pool = "default";
    request_case.gang.submitted = gang.submitted;
    request_case.gang.queued_at = gang.queued_at;
    request_case.gang.started_at = gang.started_at;
    request_case.gang.saved_at = gang.saved_at;
    EXPECT_TRUE(gang == request_case.gang);
    Apply(KillExperiment{model::ExperimentId(id)});
  }
}

struct Submitted {
  const char* resources;
  const char* rejection;  // "" if it is accepted
};

class RequestValidationTest : public PlacementRequestTest {
 protected:
  // default: two agents of A100, one of H200; shared: one, whose devices may be shared.
  RequestValidationTest() {
    Apply(PutResourcePool{.pool = {.name = "default"}, .default_compute = true});
    Apply(PutResourcePool{.pool = {.name = "shared", .shared_devices = true}});
    constexpr int64_t kGiB = int64_t{1} << 30;
    AddMachine("a", "default", 4, DeviceType::kCuda, "A100", 16, 64 * kGiB);
    AddMachine("b", "default", 4, DeviceType::kCuda, "A100", 16, 64 * kGiB);
    AddMachine("h", "default", 8, DeviceType::kCuda, "NVIDIA H200", 64, 256 * kGiB);
    AddMachine("s", "shared", 2, DeviceType::kCpu, "", 8, 32 * kGiB);
  }
  void Check(const std::vector<Submitted>& cases) {
    for (const Submitted& each : cases) {
      SCOPED_TRACE(each.resources);
      const CreateExperiment event{.config = Config(each.resources)};
      if (*each.rejection == '\0') {
        Apply(event);
        continue;
      }
      const absl::Status rejected = ExpectRejection(event);
      EXPECT_EQ(rejected.code(), absl::StatusCode::kInvalidArgument);
      EXPECT_EQ(std::string(rejected.message()), each.rejection);
    }
  }
};

TEST_F(RequestValidationTest, RejectsInfeasibleRequestWithLargestFeasible) {
  Check(
      {{"slots_per_trial: 16", ""},
       {"slots_per_trial: 17", "needs 17 slots; pool default has 16 in all, and 8 on one agent"},
       {"slots_per_trial: {min: 17, max: 32}",
        "needs 17 slots; pool default has 16 in all, and 8 on one agent"},
       {"slots_per_trial: {min: 16, max: 32}", ""},
       {"slots_per_trial: 8, is_single_node: true", ""},
       {"slots_per_trial: 9, is_single_node: true",
        "needs 9 slots on one agent; the largest agent of pool default has 8"},
       {"slots_per_trial: 7, is_single_node: true, blocked_agents: [h]",
        "needs 7 slots on one agent; the largest agent of pool default that it may run on has 4"},
       {"slots_per_trial: 9, blocked_agents: [h]",
        "needs 9 slots; pool default without the blocked agents has 8 in all, and 4 on one agent"},
       {"slots_per_trial: 8, blocked_agents: [h]", ""}});
}

TEST_F(RequestValidationTest, ListsAvailableDevices_WhenDeviceIsMissing) {
  Check({{"device: H100",
          "needs 1 slot of device h100; pool default has a100 (cuda), nvidia h200 (cuda); request "
          "those, or use another pool"},
         {"slot_type: rocm",
          "needs 1 slot of type rocm; pool default has a100 (cuda), nvidia h200 (cuda); request "
          "those, or use another pool"},
         {"slot_type: cpu",
          "needs 1 slot of type cpu; pool default has a100 (cuda), nvidia h200 (cuda); request "
          "those, or use another pool"},
         {"slots_per_trial: 8, device: h200", ""},
         {"slots_per_trial: 9, device: h200",
          "needs 9 slots of device h200; pool default has 8 in all, and 8 on one agent"},
         {"slots_per_trial: 8, device: a100, is_single_node: true",
          "needs 8 slots of device a100 on one agent; the largest agent of pool default has 4"},
         {"device: h200, blocked_agents: [h]",
          "needs 1 slot of device h200; pool default without the blocked agents has a100 (cuda); "
          "request those, or use another pool"},
         {"slot_type: cpu, resource_pool: shared", ""}});
}

TEST_F(RequestValidationTest, RejectsFractions_WhenPoolDoesNotShareDevices) {
  Check({{"slots_per_trial: 0.5",
          "needs 0.5 of a slot; pool default does not share devices; request whole slots"},
         {"slots_per_trial: 0.5, resource_pool: shared", ""},
         {"slots_per_trial: 0.5, slot_type: cuda, resource_pool: shared",
          "needs 0.5 of a slot of type cuda; pool shared has cpu; request those, or use another "
          "pool"},
         {"slots_per_trial: 0.5, cpus: 9, resource_pool: shared",
          "needs 0.5 of a slot with 9 cpus; no agent of pool shared has more than 8 cpus"}});
}

TEST_F(RequestValidationTest, CountsCpusAndMemoryPerSlot) {
  Check(
      {{"slots_per_trial: 16, cpus: 4", ""},
       {"slots_per_trial: 16, cpus: 8",
        "needs 16 slots with 8 cpus for each; no agent of pool default has that much for each "
        "slot; the largest request that fits is 12 slots"},
       {"cpus: 65", "needs 1 slot with 65 cpus; no agent of pool default has more than 64 cpus"},
       {"slots_per_trial: 9, memory: 32g", ""},
       {"slots_per_trial: 8, memory: 33g, is_single_node: true",
        "needs 8 slots with 33 GiB of memory for each; no agent of pool default has that much for "
        "each slot; the largest request that fits is 7 slots on one agent"},
       {"slots_per_trial: 0, cpus: 64", ""},
       {"slots_per_trial: 0, cpus: 65",
        "needs an agent with 65 cpus; no agent of pool default has more than 64 cpus"},
       {"slots_per_trial: 0, memory: 1t",
        "needs an agent with 1 TiB of memory; no agent of pool default has more than 256 GiB of "
        "memory"}});
}

TEST_F(RequestValidationTest, AcceptsRequest_WhenPoolHasNoAgents) {
  Check({{"slots_per_trial: 512, device: B300, resource_pool: shared",
          "needs 512 slots of device b300; pool shared has cpu; request those, or use another "
          "pool"}});
  Apply(PutResourcePool{.pool = {.name = "coming"}});
  Check({{"slots_per_trial: 512, device: B300, resource_pool: coming", ""}});
}

}  // namespace
}  // namespace det::cluster
