#include "master/core/scheduler/json/snapshot_json.h"

#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/file.h"
#include "base/rng.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "master/core/model/value.h"

namespace det::scheduler {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Snapshot Parse(const std::string& json) {
  const auto snapshot = ParseSnapshot(json);
  EXPECT_TRUE(snapshot.ok()) << snapshot.status();
  return snapshot.ok() ? *snapshot : Snapshot();
}

std::string GetRejection(const std::string& json) {
  const auto snapshot = ParseSnapshot(json);
  EXPECT_EQ(snapshot.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(snapshot.status().message());
}

std::string Golden(const std::string& name) {
  const auto text = base::ReadFile("master/core/scheduler/json/testdata/" + name);
  EXPECT_TRUE(text.ok()) << text.status();
  return text.value_or("");
}

model::Placement On(const std::string& agent, std::vector<int> slots) {
  return {model::AgentId(agent), std::move(slots)};
}

TEST(SnapshotJson, UsesDefaultsForAbsentFields) {
  const Snapshot snapshot = Parse(R"({"agents": [{"id": "a", "slots": 2}],
      "jobs": [{"id": "j"}], "gangs": [{"id": "g", "job": "j"}]})");
  Node node{.id = model::AgentId("a"), .resource_pool = "default"};
  node.slots = {{.id = 0}, {.id = 1}};
  EXPECT_THAT(snapshot.nodes, ElementsAre(node));
  EXPECT_THAT(snapshot.jobs, ElementsAre(Job{.id = model::JobId("j")}));
  Gang gang;
  gang.id = model::AllocationId("g");
  gang.job = model::JobId("j");
  gang.resource_pool = "default";
  EXPECT_THAT(snapshot.gangs, ElementsAre(gang));
  EXPECT_TRUE(snapshot.pools.empty()) << "the pool that the agent names has the defaults";
  EXPECT_EQ(Parse("{}"), Snapshot());
}

TEST(SnapshotJson, AppliesOutermostSettingsToUnlistedPools) {
  const Snapshot snapshot = Parse(R"({"policy": "fifo", "preemption": true, "fit": "worst",
      "heterogeneous": false, "pools": [{"name": "b"}],
      "agents": [{"id": "x"}, {"id": "y", "pool": "b"}], "gangs": [{"id": "g", "pool": "c"}]})");
  model::ResourcePool set;
  set.policy = model::SchedulingPolicy::kFifo;
  set.fitting = model::FittingPolicy::kWorst;
  set.preemption = true;
  set.heterogeneous = false;
  model::ResourcePool b, c = set, standard = set;
  b.name = "b";
  c.name = "c";
  standard.name = "default";
  EXPECT_THAT(snapshot.pools, ElementsAre(b, c, standard));
}

TEST(SnapshotJson, AssignsLowestUnnamedSlots_WhenOnlyCounted) {
  const Snapshot snapshot = Parse(R"({"agents": [{"id": "a", "slots": 4}], "gangs": [
      {"id": "counted", "slots": 2, "running": [{"agent": "a", "slots": 2}]},
      {"id": "named", "slots": 1, "running": [{"agent": "a", "slots": [0]}]}]})");
  EXPECT_THAT(snapshot.gangs[0].running_on, ElementsAre(On("a", {1, 2})));
  EXPECT_THAT(snapshot.gangs[1].running_on, ElementsAre(On("a", {0})));
}

TEST(SnapshotJson, PlacesFractionsOnOneSlot) {
  const Snapshot snapshot = Parse(R"({"agents": [{"id": "a", "slots": 2}], "gangs": [
      {"id": "x", "slots": 0.5, "running": [{"agent": "a", "slots": 1}]},
      {"id": "y", "slots": 1, "fraction": 0.5, "running": [{"agent": "a", "slots": 1}]},
      {"id": "z", "slots": 0.25, "running": [{"agent": "a", "slots": 1}]}]})");
  EXPECT_EQ(snapshot.gangs[0].fraction, 0.5);
  EXPECT_EQ(snapshot.gangs[0].slots, 1);
  EXPECT_THAT(snapshot.gangs[1].running_on, ElementsAre(On("a", {0})));
  EXPECT_THAT(snapshot.gangs[2].running_on, ElementsAre(On("a", {1})));
}

TEST(SnapshotJson, CreatesJobForGangWithoutOne) {
  const Snapshot snapshot = Parse(R"({"gangs": [{"id": 1, "priority": 7}, {"id": 2}]})");
  EXPECT_NE(snapshot.gangs[0].job, snapshot.gangs[1].job);
  EXPECT_THAT(snapshot.jobs, ElementsAre(Job{.id = snapshot.gangs[0].job, .priority = 7}));
}

TEST(SnapshotJson, AcceptsSubmissionsAsTimesOrFractions) {
  const Snapshot times = Parse(R"({"gangs": [{"id": 1, "submitted": "2026-11-21T09:00:01Z"},
      {"id": 2, "submitted": "2026-11-21T10:00:00+01:00"}]})");
  EXPECT_EQ(times.gangs[0].submitted - times.gangs[1].submitted, 1'000'000);
  const Snapshot parts =
      Parse(R"({"gangs": [{"id": 1, "submitted": 1.5}, {"id": 2, "submitted": 2}]})");
  EXPECT_EQ(parts.gangs[0].submitted, 1'500'000);
  EXPECT_EQ(parts.gangs[1].submitted, 2'000'000);
}

TEST(SnapshotJson, ReportsAllProblems) {
  EXPECT_EQ(GetRejection(R"({
    "policy": "lottery", "fits": "best",
    "agents": [{"id": "a", "slots": 2}, {"id": "a", "slots": "two"}, {"slots": [1, 1]}, 5],
    "jobs": [{"id": "j", "priority": 100, "weight": 0}],
    "gangs": [
      {"id": "g", "job": "j", "slots": -1, "priority": 3, "prio": 3},
      {"id": "g", "slots": 2, "running": [{"agent": "a", "slots": [1, 9]}]},
      {"id": "h", "running": [{"agent": "b", "slots": 1}, {"agent": "a", "slots": [1]}]},
      {"id": "i", "slots": 2, "running": [{"agent": "a", "slots": 2}], "submitted": "noon"}]})"),
            Golden("problems.txt"));
}

TEST(SnapshotJson, ReportsPositionOfInvalidJson) {
  EXPECT_THAT(GetRejection("{\"agents\": ["), HasSubstr("not valid JSON at byte"));
  EXPECT_THAT(GetRejection("[]"), HasSubstr("expected an object, found a list"));
}

TEST(SnapshotJson, TruncatesLongListOfProblems) {
  std::string text = "{\"gangs\": [";
  for (int i = 0; i < 80; ++i) absl::StrAppend(&text, i > 0 ? "," : "", "{\"slots\": 1}");
  EXPECT_THAT(GetRejection(text + "]}"), HasSubstr("\nand 30 more"));
}

// The stable format: the JSON of a snapshot with every kind of object.
TEST(SnapshotJson, WritesDocumentedFormat) {
  const Snapshot snapshot = Parse(Golden("shared_cluster.json"));
  EXPECT_EQ(ToJson(snapshot), Golden("shared_cluster.written.json"));
  EXPECT_EQ(Parse(ToJson(snapshot)), snapshot);
}

TEST(SnapshotJson, WritesPlan) {
  Scheduled scheduled;
  scheduled.plan.assign.push_back({model::AllocationId("g"), {On("a", {0, 1}), On("b", {5})}});
  scheduled.plan.preempt.push_back(
      {model::AllocationId("v"), model::AllocationId("w"), "its slots are needed by w"});
  scheduled.plan.look_again = absl::FromUnixSeconds(0);
  scheduled.waiting[model::AllocationId("w")] = {WaitReason::Kind::kAwaitingPreemption,
                                                 "waits for v to leave", std::nullopt};
  EXPECT_EQ(ToJson(scheduled, {{model::AllocationId("g"), "on 2 agents"}}), R"({
  "assign": {
    "g": [{"agent":"a","slots":[0,1]},{"agent":"b","slots":[5]}]
  },
  "preempt": [
    "v"
  ],
  "waiting": {
    "w": "AWAITING_PREEMPTION"
  },
  "reasons": {
    "g": "on 2 agents",
    "v": "its slots are needed by w",
    "w": "waits for v to leave"
  },
  "look_again": "1970-01-01T00:00:00+00:00"
}
)");
  EXPECT_EQ(ToJson(Scheduled()),
            "{\n  \"assign\": {},\n  \"preempt\": [],\n  \"waiting\": {},\n  \"reasons\": {}\n}\n");
}

// ---- round trips ----

class Dice {
 public:
  explicit Dice(uint64_t seed) : rng_(seed) {}
  int Int(int lo, int hi) { return static_cast<int>(rng_.UniformInt(lo, hi)); }
  bool Coin() { return Int(0, 1) == 1; }
  absl::Time Time() { return absl::FromUnixMillis(rng_.UniformInt(0, 2'000'000'000'000)); }

 private:
  base::Rng rng_;
};

std::string PoolName(Dice& dice) {
  return dice.Coin() ? "default" : absl::StrCat("pool ", dice.Int(0, 2));
}

model::ResourcePool RandomPool(Dice& dice, const std::string& name) {
  model::ResourcePool pool{.name = name};
  pool.policy = dice.Coin() ? model::SchedulingPolicy::kFairShare : model::SchedulingPolicy::kFifo;
  pool.fitting = dice.Coin() ? model::FittingPolicy::kBest : model::FittingPolicy::kWorst;
  pool.preemption = dice.Coin();
  pool.heterogeneous = dice.Coin();
  pool.backfill = dice.Coin();
  pool.hold_after = absl::Milliseconds(dice.Int(0, 5000));
  pool.max_aux_per_agent = dice.Int(0, 100);
  pool.shared_devices = dice.Coin();
  pool.maintenance_lead = absl::Minutes(dice.Int(0, 90));
  if (dice.Coin()) pool.workspaces = {"w", "\"quoted\" é"};
  return pool;
}

Node RandomNode(Dice& dice, int number) {
  Node node{.id = model::AgentId(absl::StrCat("agent ", number)), .resource_pool = PoolName(dice)};
  const bool plain = dice.Coin();
  for (int i = 0, n = dice.Int(0, 8); i < n; ++i) {
    Slot slot{.id = plain ? i : 3 * i};
    if (!plain && dice.Coin()) slot.type = model::DeviceType::kRocm;
    if (!plain && dice.Coin()) slot.model = "MI300X";
    if (!plain) slot.island = dice.Int(0, 2);
    if (!plain) slot.enabled = dice.Coin();
    node.slots.push_back(slot);
  }
  node.aux = dice.Int(0, 9);
  if (dice.Coin()) node.cpus = dice.Int(1, 999) / 8.0;
  if (dice.Coin()) node.memory = int64_t{dice.Int(0, 1 << 30)} << 20;
  if (dice.Coin()) node.network_switch = "leaf";
  if (dice.Coin()) node.labels = {{"rack", "7"}};
  if (dice.Coin()) node.maintenance = {{dice.Time(), absl::InfiniteFuture(), "disks"}};
  node.accepts_work = dice.Coin();
  return node;
}

Gang RandomGang(Dice& dice, int number, const std::vector<Node>& nodes) {
  Gang gang;
  gang.id = model::AllocationId(absl::StrCat(number, ".1"));
  gang.job = model::JobId(absl::StrCat("j", dice.Int(0, 5)));
  gang.resource_pool = PoolName(dice);
  gang.slots = dice.Int(0, 3);
  if (gang.slots == 1 && dice.Coin()) gang.fraction = 1.0 / dice.Int(2, 7);
  if (dice.Coin()) gang.max_slots = gang.slots + 4;
  if (dice.Coin()) gang.cpus = 0.25;
  if (dice.Coin()) gang.memory = 1 << 20;
  if (dice.Coin()) gang.slot_type = model::DeviceType::kCpu;
  if (dice.Coin()) gang.device = "H200";
  gang.single_node = dice.Coin();
  gang.preemptible = dice.Coin();
  if (dice.Coin()) gang.blocked = {model::AgentId("agent 0")};
  gang.submitted = dice.Int(-5, 1'000'000);
  gang.queued_at = dice.Time();
  if (dice.Coin()) gang.max_run_time = absl::Milliseconds(dice.Int(0, 100'000));
  // On a separate agent, so that no two gangs hold the same slot.
  if (number < static_cast<int>(nodes.size()) && dice.Coin()) {
    const Node& node = nodes[static_cast<size_t>(number)];
    gang.running_on = {On(node.id.value(), {})};
    for (const Slot& slot : node.slots) gang.running_on[0].slots.push_back(slot.id);
    gang.terminating = dice.Coin();
  }
  gang.started_at = dice.Time();
  gang.saved_at = dice.Time();
  return gang;
}

Snapshot RandomSnapshot(uint64_t seed) {
  Dice dice(seed);
  Snapshot snapshot{.now = dice.Time()};
  for (int i = 0; i < 3; ++i) {
    if (dice.Coin()) snapshot.pools.push_back(RandomPool(dice, absl::StrCat("pool ", i)));
  }
  for (int i = 0, n = dice.Int(0, 4); i < n; ++i) snapshot.nodes.push_back(RandomNode(dice, i));
  for (int i = 0; i < 4; ++i) {
    if (!dice.Coin()) continue;
    Job job{.id = model::JobId(absl::StrCat("j", i)), .priority = dice.Int(1, 99)};
    job.weight = dice.Int(1, 9) / 3.0;
    job.position = dice.Int(-1, 1) / 7.0;
    job.position_set = dice.Coin();
    if (dice.Coin()) job.max_slots = 1.5;
    if (dice.Coin()) job.max_gangs = 2;
    job.user = "u";
    snapshot.jobs.push_back(std::move(job));
  }
  for (int i = 0, n = dice.Int(0, 8); i < n; ++i) {
    snapshot.gangs.push_back(RandomGang(dice, i, snapshot.nodes));
  }
  if (dice.Coin()) {
    snapshot.limits.push_back({{model::Quota::Scope::kUser, "u", 4.0, std::nullopt}, 1.25});
  }
  return snapshot;
}

TEST(SnapshotJson, RoundTripsRandomSnapshots) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    const Snapshot snapshot = RandomSnapshot(seed);
    const std::string json = ToJson(snapshot);
    const auto again = ParseSnapshot(json);
    ASSERT_TRUE(again.ok()) << "seed " << seed << ": " << again.status() << "\n" << json;
    ASSERT_TRUE(*again == snapshot) << "seed " << seed << "\n" << json;
  }
}

}  // namespace
}  // namespace det::scheduler
