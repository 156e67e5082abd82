// Agent states, pools, quotas and their usage: a part of the contract suite in store_contract.h.
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "master/store/testing/make_rows.h"
#include "master/store/testing/store_contract.h"
#include <gmock/gmock.h>

namespace det::store {
namespace {

using Scope = model::Quota::Scope;
using ::testing::DoubleNear;
using ::testing::ElementsAre;
using ::testing::Pair;

model::AgentState MakeAgentState(const std::string& id) {
  model::AgentState agent{.id = model::AgentId(id), .slots = {}, .maintenance = {}};
  agent.enabled = false;
  agent.draining = true;
  agent.slots[3] = {.enabled = false, .quarantined = true, .reason = "Xid \"79\"", .failures = 2};
  agent.slots[10] = {};
  agent.maintenance = {{TimeAt(1), TimeAt(2.000001), "new fans"}, {TimeAt(5), TimeAt(9), ""}};
  return agent;
}

model::ResourcePool MakePool(const std::string& name) {
  model::ResourcePool pool;
  pool.name = name;
  pool.description = "it's for \"those\"";
  pool.policy = model::SchedulingPolicy::kFairShare;
  pool.fitting = model::FittingPolicy::kWorst;
  pool.preemption = true;
  pool.heterogeneous = false;
  pool.backfill = false;
  pool.hold_after = absl::Microseconds(1'500'001);
  pool.default_priority = 7;
  pool.max_aux_per_agent = 3;
  pool.shared_devices = true;
  pool.maintenance_lead = absl::Minutes(7);
  pool.workspaces = {"vision", "sp\"eech"};
  return pool;
}

TEST_P(StoreContractTest, KeepsAgentsUntilDropped) {
  cluster::Image image = Reload();
  model::Agent plain;
  plain.id = model::AgentId("a");
  plain.resource_pool = "default";
  plain.registered_at = TimeAt(3.000001);
  plain.connected = false;
  model::Agent full = plain;
  full.id = model::AgentId("b");
  full.version = "1.2";
  full.address = "10.0.0.1";
  full.slots = {{.id = 0, .type = model::DeviceType::kCuda, .brand = "H\"200", .uuid = "GPU-1"},
                {.id = 7, .type = model::DeviceType::kRocm, .uuid = "GPU-2", .island = 3}};
  full.cpus = 7.5;
  full.memory = int64_t{1} << 40;
  full.network_switch = "s1";
  full.labels = {{"rack", "7"}, {"row", "it's"}};
  image.known_agents = {plain, full};
  Commit({cluster::PutAgent{full}, cluster::PutAgent{plain}});
  EXPECT_EQ(Reload(), image);
  full.slots.pop_back();
  full.cpus.reset();
  Commit({cluster::DropAgent{plain.id}, cluster::PutAgent{plain}, cluster::DropAgent{plain.id},
          cluster::PutAgent{full}});
  image.known_agents = {full};
  EXPECT_EQ(Reload(), image);
}

TEST_P(StoreContractTest, RestoresAgentsPoolsAndQuotas) {
  cluster::Image image = Reload();
  image.agents = {MakeAgentState("agent-0"), MakeAgentState("agent-1")};
  image.pools = {MakePool("a"), MakePool("b")};
  image.default_pools = {"a", std::nullopt};
  image.quotas = {
      {.scope = Scope::kUser, .name = "ann", .max_slots = 0.5, .slot_hours = std::nullopt},
      {.scope = Scope::kUser, .name = "bob", .max_slots = std::nullopt, .slot_hours = 1e6},
      {.scope = Scope::kWorkspace, .name = "ann", .max_slots = 8, .slot_hours = 0.25}};
  std::vector<cluster::Change> changes;
  for (const auto& agent : image.agents) changes.emplace_back(cluster::PutAgentState{agent});
  for (const auto& pool : image.pools) changes.emplace_back(cluster::PutPool{pool});
  changes.emplace_back(image.default_pools);
  for (const auto& quota : image.quotas) changes.emplace_back(cluster::SetQuota{quota});
  Commit(changes);
  EXPECT_EQ(Reload(), image);

  image.agents[0] = {.id = model::AgentId("agent-0"), .slots = {}, .maintenance = {}};
  image.pools.erase(image.pools.begin());
  image.pools[0].policy = model::SchedulingPolicy::kFifo;
  image.default_pools = {std::nullopt, "b"};
  image.quotas.erase(image.quotas.begin() + 1);
  image.quotas[0].max_slots = 2;
  changes.clear();
  changes.emplace_back(cluster::PutAgentState{image.agents[0]});
  changes.emplace_back(cluster::DropPool{"a"});
  changes.emplace_back(cluster::PutPool{image.pools[0]});
  changes.emplace_back(image.default_pools);
  changes.emplace_back(cluster::DropQuota{Scope::kUser, "bob"});
  changes.emplace_back(cluster::SetQuota{image.quotas[0]});
  Commit(changes);
  EXPECT_EQ(Reload(), image);
}

TEST_P(StoreContractTest, AddsDropsAndAddsInOneBatch) {
  std::vector<cluster::Change> changes;
  changes.emplace_back(cluster::PutPool{MakePool("a")});
  changes.emplace_back(cluster::DropPool{"a"});
  changes.emplace_back(cluster::PutPool{MakePool("a")});
  changes.emplace_back(cluster::PutPool{MakePool("b")});
  changes.emplace_back(cluster::DropPool{"b"});
  Commit(changes);
  EXPECT_THAT(Reload().pools, ElementsAre(MakePool("a")));
}

TEST_P(StoreContractTest, ComputesMeanRunTimes) {
  std::vector<cluster::Change> changes;
  const auto add = [&](int id, int e, model::TrialState state, std::vector<int> seconds) {
    experiment::Trial trial = MakeTrial(id, e);
    trial.state = state;
    trial.ended_at = TimeAt(1000 + id);
    changes.emplace_back(cluster::PutTrial{trial});
    for (size_t run = 0; run < seconds.size(); ++run) {
      experiment::Allocation a = MakeAllocation(trial, static_cast<int>(run));
      a.state = model::AllocationState::kTerminated;
      a.ended_at = TimeAt(100 + seconds[run]);
      if (seconds[run] > 0) a.started_at = TimeAt(100);
      changes.emplace_back(cluster::PutAllocation{a});
    }
  };
  for (const int e : {1, 2, 3}) changes.emplace_back(cluster::PutExperiment{MakeExperiment(e)});
  add(1, 1, model::TrialState::kCompleted, {1000});  // not among the newest two
  add(2, 1, model::TrialState::kCompleted, {10, 20});
  add(3, 1, model::TrialState::kCompleted, {50, 0});
  add(4, 1, model::TrialState::kError, {9000});
  add(5, 2, model::TrialState::kCompleted, {7});
  add(6, 3, model::TrialState::kCanceled, {7});
  Commit(changes);
  using Ids = std::vector<model::ExperimentId>;
  const Ids all = {model::ExperimentId(1), model::ExperimentId(2), model::ExperimentId(3),
                   model::ExperimentId(1), model::ExperimentId(9)};
  EXPECT_THAT(*store_->GetMeanRunTimes(all, 2),
              ElementsAre(Pair(model::ExperimentId(1), absl::Seconds(40)),
                          Pair(model::ExperimentId(2), absl::Seconds(7))));
  EXPECT_TRUE(store_->GetMeanRunTimes({}, 2)->empty());
}

// TimeAt is in November 2023, which began at this time.
const absl::Time kMonth = absl::FromCivil(absl::CivilSecond(2023, 11, 1), absl::UTCTimeZone());

TEST_P(StoreContractTest, SumsUsageOfEndedAllocations) {
  EXPECT_EQ(Reload().usage, cluster::Usage());
  std::map<std::string, ProjectRecord> projects;
  for (const std::string name : {"vision", "speech"}) {
    const auto workspace = store_->workspaces().AddWorkspace({.name = name});
    ASSERT_TRUE(workspace.ok()) << workspace.status();
    ProjectRecord requested;
    requested.workspace = workspace->id;
    requested.name = "p";
    const auto project = store_->projects().AddProject(requested);
    ASSERT_TRUE(project.ok()) << project.status();
    projects[name] = *project;
  }
  std::vector<cluster::Change> changes;
  const auto add = [&](int id, const std::string& owner, absl::Time start, absl::Time end,
                       int granted, double fraction) {
    experiment::Experiment e = MakeExperiment(id);
    e.owner_name = owner;
    const ProjectRecord& in = projects[id < 3 ? "vision" : "speech"];
    cluster::Put(cluster::ProjectRef{in.workspace, in.id, in.workspace_name, in.name}, e);
    const experiment::Trial trial = MakeTrial(id, id);
    experiment::Allocation a = MakeAllocation(trial, 0);
    a.state = model::AllocationState::kTerminated;
    a.started_at = start;
    a.ended_at = end;
    a.granted = granted;
    a.fraction = fraction;
    changes.emplace_back(cluster::PutExperiment{e});
    changes.emplace_back(cluster::PutTrial{trial});
    changes.emplace_back(cluster::PutAllocation{a});
  };
  add(1, "ann", TimeAt(0), TimeAt(10), 2, 1);
  add(2, "ann", TimeAt(0), TimeAt(1), 1, 0.5);
  add(3, "bob", kMonth - absl::Hours(1), kMonth + absl::Seconds(100), 3, 1);
  add(4, "", TimeAt(0), TimeAt(2), 4, 1);
  add(5, "eve", kMonth - absl::Hours(2), kMonth - absl::Hours(1), 4, 1);  // before
  Commit(changes);
  const cluster::Usage usage = Reload().usage;
  EXPECT_EQ(usage.month, kMonth);
  EXPECT_THAT(usage.users,
              ElementsAre(Pair("1", DoubleNear(8, 1e-6)), Pair("ann", DoubleNear(20.5, 1e-6)),
                          Pair("bob", DoubleNear(300, 1e-6))));
  EXPECT_THAT(usage.workspaces, ElementsAre(Pair("speech", DoubleNear(308, 1e-6)),
                                            Pair("vision", DoubleNear(20.5, 1e-6))));
}

}  // namespace
}  // namespace det::store
