// Places in the queue, time limits, pools, quotas.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "master/core/cluster/cluster.h"
#include "master/core/cluster/testing/fixture.h"

namespace det::cluster {
namespace {

using model::AgentId;
using model::AllocationId;
using model::ExperimentId;
using model::ExperimentState;
using model::JobId;
using model::TrialState;
using Scope = model::Quota::Scope;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class SchedulingTest : public Fixture {
 protected:
  // Returns the IDs of the experiments in the order of the queue.
  std::vector<int> Order() {
    std::vector<std::pair<double, int>> order;
    for (const auto& [id, e] : rows_.experiments) {
      order.emplace_back(e.queue.position, id.value());
    }
    std::sort(order.begin(), order.end());
    std::vector<int> ids;
    for (const auto& [position, id] : order) ids.push_back(id);
    return ids;
  }
  // The preempted trial saves a checkpoint and exits.
  void Yield(const std::string& id) {
    Apply(PreemptionAcked{AllocationId(id)});
    Exit(id, 0);
  }
};

UpdateQueue Ahead(int job, int of) {
  return {{{.job = JobId("exp-" + std::to_string(job)),
            .ahead_of = JobId("exp-" + std::to_string(of))}}};
}
UpdateQueue Behind(int job, int of) {
  return {{{.job = JobId("exp-" + std::to_string(job)),
            .behind_of = JobId("exp-" + std::to_string(of))}}};
}

// ---- the queue ----

TEST_F(SchedulingTest, UsesPlaceOfConfiguration) {
  model::ResourcePool pool{.name = "gpus", .description = "", .workspaces = {}};
  pool.default_priority = 30;
  Apply(PutResourcePool{.pool = pool, .default_compute = true});
  auto config = MakeConfig();
  config->resources.weight = 2;
  config->resources.max_slots = 8;
  Create(config);
  EXPECT_EQ(experiment(1).queue, (experiment::QueuePlace{"gpus", 30, 2, 1, false, 8}));
  EXPECT_EQ(allocation("1.1.1").resource_pool, "gpus");
  config = MakeConfig();
  config->resources.slots_per_trial = 0;
  config->resources.priority = 3;
  Create(config);
  EXPECT_EQ(experiment(2).queue.resource_pool, "default") << "the pool of tasks without slots";
  EXPECT_EQ(experiment(2).queue.priority, 3);
}

TEST_F(SchedulingTest, MovesJobsWithinPoolAndPriority) {
  for (int i = 0; i < 4; ++i) Create(MakeConfig());
  Apply(Ahead(4, 1));
  EXPECT_THAT(Order(), ElementsAre(4, 1, 2, 3));
  Apply(Behind(4, 2));
  EXPECT_THAT(Order(), ElementsAre(1, 2, 4, 3));
  Apply(Behind(1, 3));
  EXPECT_THAT(Order(), ElementsAre(2, 4, 3, 1));
  Apply(Ahead(1, 3));
  EXPECT_THAT(Order(), ElementsAre(2, 4, 1, 3));
  Apply(Behind(2, 3));
  Create(MakeConfig());
  EXPECT_THAT(Order(), ElementsAre(4, 1, 3, 2, 5)) << "later jobs are behind all";
}

TEST_F(SchedulingTest, RecordsBackfilledAllocations) {
  model::ResourcePool pool{.name = "default", .description = "", .workspaces = {}};
  pool.hold_after = absl::Minutes(1);
  Apply(PutResourcePool{.pool = pool});
  AddAgent("a", 2);
  auto large = MakeConfig();
  large->resources.slots_per_trial = 2;
  Create(MakeConfig());
  Start("1.1.1");
  Create(large);
  Create(MakeConfig());
  Start("3.3.1");
  EXPECT_FALSE(cluster_.IsBackfilled(AllocationId("1.1.1")));
  EXPECT_FALSE(cluster_.IsBackfilled(AllocationId("2.2.1"))) << "it waits";
  EXPECT_TRUE(cluster_.IsBackfilled(AllocationId("3.3.1")));
  Exit("3.3.1", 0);
  EXPECT_FALSE(cluster_.IsBackfilled(AllocationId("3.3.1")));
}

TEST_F(SchedulingTest, RenumbersPositions_WhenExhausted) {
  for (int i = 0; i < 3; ++i) Create(MakeConfig());
  for (int i = 0; i < 100; ++i) {
    Apply(Ahead(1, 3));
    ASSERT_THAT(Order(), ElementsAre(2, 1, 3));
    Apply(Ahead(2, 3));
    ASSERT_THAT(Order(), ElementsAre(1, 2, 3));
  }
  Create(MakeConfig());
  EXPECT_THAT(Order(), ElementsAre(1, 2, 3, 4));
  for (int i = 0; i < 100; ++i) {
    Apply(Behind(3, 4));
    ASSERT_THAT(Order(), ElementsAre(1, 2, 4, 3));
    Apply(Behind(4, 3));
  }
  Create(MakeConfig());
  EXPECT_EQ(Order().back(), 5);
}

TEST_F(SchedulingTest, QueuesExperimentBeyondCapacity_WhenLaunchErrorIsOff) {
  auto config = MakeConfig();
  config->resources.slots_per_trial = 8;
  AddAgent("a", 1);
  EXPECT_TRUE(absl::IsInvalidArgument(ExpectRejection(CreateExperiment{.config = config})));
  cluster_ = Cluster{Settings{.cluster_id = "test", .launch_error = false}};
  AddAgent("a", 1);
  EXPECT_TRUE(Apply(CreateExperiment{.config = config}).exceeds_capacity);
  EXPECT_THAT(GetEffects<StartTask>(Tick()), IsEmpty());
  EXPECT_EQ(trial(1).state, model::TrialState::kQueued);
  Apply(PauseExperiment{model::ExperimentId(1)});
  Apply(ActivateExperiment{model::ExperimentId(1)});
  EXPECT_EQ(experiment(1).state, model::ExperimentState::kActive);
  AddAgent("b", 8);
  EXPECT_THAT(GetEffects<StartTask>(Tick()), SizeIs(1));
}

TEST_F(SchedulingTest, AppliesAllUpdatesOrNone) {
  Create(MakeConfig());
  Create(MakeConfig());
  const UpdateQueue::Update good{.job = JobId("exp-1"), .priority = 10};
  const std::pair<UpdateQueue::Update, absl::StatusCode> rejected[] = {
      {{.job = JobId("exp-9"), .priority = 1}, absl::StatusCode::kNotFound},
      {{.job = JobId("exp-2"), .priority = 100}, absl::StatusCode::kInvalidArgument},
      {{.job = JobId("exp-2"), .priority = 0}, absl::StatusCode::kInvalidArgument},
      {{.job = JobId("exp-2"), .weight = 0}, absl::StatusCode::kInvalidArgument},
      {{.job = JobId("exp-2"), .max_slots = -1}, absl::StatusCode::kInvalidArgument},
      // The first update gave it another priority.
      {{.job = JobId("exp-2"), .ahead_of = JobId("exp-1")}, absl::StatusCode::kInvalidArgument},
      {{.job = JobId("exp-2"), .behind_of = JobId("exp-2")}, absl::StatusCode::kInvalidArgument},
      {{.job = JobId("exp-2"), .ahead_of = JobId("exp-1"), .behind_of = JobId("exp-1")},
       absl::StatusCode::kInvalidArgument}};
  for (const auto& [bad, code] : rejected) {
    EXPECT_EQ(ExpectRejection(UpdateQueue{{good, bad}}).code(), code);
  }
  EXPECT_EQ(ExpectRejection(UpdateQueue{{good, rejected[1].first}}).message(),
            "priority 100 of job exp-2: it must be from 1 to 99");
  Apply(UpdateQueue{{good,
                     {.job = JobId("exp-2"), .priority = 10, .weight = 3, .max_slots = 5},
                     {.job = JobId("exp-2"), .ahead_of = JobId("exp-1")}}});
  EXPECT_EQ(experiment(1).queue.priority, 10);
  EXPECT_EQ(experiment(2).queue.max_slots, 5);
  EXPECT_EQ(experiment(2).queue.weight, 3) << "kept for a pool with fair share";
  EXPECT_THAT(Order(), ElementsAre(2, 1));
  Apply(UpdateQueue{{{.job = JobId("exp-2"), .max_slots = 0}}});
  EXPECT_EQ(experiment(2).queue.max_slots, std::nullopt);
}

TEST_F(SchedulingTest, KeepsOrder_WhenMoveIsRejected) {
  for (int i = 0; i < 3; ++i) Create(MakeConfig());
  const UpdateQueue bad = {{{.job = JobId("exp-3"), .ahead_of = JobId("exp-1")},
                            {.job = JobId("exp-9"), .priority = 1}}};
  EXPECT_TRUE(absl::IsNotFound(ExpectRejection(bad)));
  Apply(Ahead(2, 1));
  EXPECT_EQ(experiment(2).queue.position, 0) << "no job is ahead of 1";
  EXPECT_THAT(Order(), ElementsAre(2, 1, 3));
}

TEST_F(SchedulingTest, MovesRunningTrialsToOtherPool) {
  AddAgent("a", 1);
  Create(MakeConfig());
  Create(MakeConfig());
  Start("1.1.1");
  const auto nowhere =
      cluster_.Apply(UpdateQueue{{{.job = JobId("exp-1"), .resource_pool = "otter"}}}, now_);
  EXPECT_EQ(nowhere.status().code(), absl::StatusCode::kNotFound) << "unknown pool";
  Apply(PutResourcePool{{.name = "other"}});
  const Outcome moved = Apply(UpdateQueue{{{.job = JobId("exp-1"), .resource_pool = "other"},
                                           {.job = JobId("exp-2"), .resource_pool = "other"}}});
  const auto news = GetEffects<AnnouncePreemption>(moved);
  ASSERT_THAT(news, SizeIs(1));
  EXPECT_THAT(news[0].reason, HasSubstr("moved to resource pool other"));
  EXPECT_EQ(allocation("2.2.1").resource_pool, "other");
  Yield("1.1.1");
  EXPECT_EQ(allocation("1.1.2").resource_pool, "other");
  EXPECT_EQ(trial(1).restarts, 0);
  EXPECT_THAT(GetEffects<StartTask>(Tick()), IsEmpty()) << "the pool has no agents";
}

// ---- time ----

TEST_F(SchedulingTest, EndsTrial_WhenMaxRunTimeIsExceeded) {
  AddAgent("a", 1);
  auto config = MakeConfig();
  config->resources.max_run_time = 7200;
  Apply(CreateExperiment{.config = config});
  const auto deadlines = GetEffects<SetDeadline>(Tick());
  ASSERT_THAT(deadlines, SizeIs(1));
  EXPECT_EQ(deadlines[0].at, now_ + absl::Minutes(105))
      << "an eighth is reserved to checkpoint and exit";
  Start("1.1.1");
  EXPECT_THAT(Apply(AllocationDeadline{AllocationId("1.1.1")}).changes, IsEmpty()) << "early";
  now_ = deadlines[0].at;
  const Outcome over = Apply(AllocationDeadline{AllocationId("1.1.1")});
  EXPECT_THAT(GetEffects<AnnouncePreemption>(over), SizeIs(1));
  EXPECT_THAT(GetEffects<SetDeadline>(over), SizeIs(1));
  EXPECT_EQ(trial(1).state, TrialState::kStopping);
  Apply(Checkpoint("1.1.1", 1, "c1", 50));
  Yield("1.1.1");
  EXPECT_EQ(trial(1).state, TrialState::kCanceled);
  EXPECT_EQ(trial(1).reason, "its max_run_time of 2h is over");
  EXPECT_EQ(trial(1).latest_checkpoint, model::CheckpointId("c1"));
  EXPECT_EQ(experiment(1).state, ExperimentState::kCanceled);
  EXPECT_THAT(experiment(1).reason, HasSubstr("max_run_time of 2h is over"));
}

TEST_F(SchedulingTest, CountsRunTimeOverAllRuns) {
  AddAgent("a", 1);
  auto config = MakeConfig();
  config->resources.max_run_time = 100;
  Create(config);
  Start("1.1.1");
  now_ += absl::Seconds(60);
  Exit("1.1.1", 1);
  const auto used = trial(1).run_time;
  EXPECT_GE(used, absl::Seconds(60));
  Restart();
  AddAgent("a", 1);
  const auto deadlines = GetEffects<SetDeadline>(Tick());
  ASSERT_THAT(deadlines, SizeIs(1));
  EXPECT_EQ(deadlines[0].at, now_ + absl::Seconds(87.5) - used);
  // A restarted master enforces the limit too.
  Restart();
  Outcome again;
  again.effects = cluster_.Regenerate();
  EXPECT_EQ(GetEffects<SetDeadline>(again), deadlines);
  AddAgent("a", 1, {"1.1.2"});
  now_ += absl::Hours(1);
  Exit("1.1.2", 1);
  EXPECT_EQ(trial(1).state, TrialState::kCanceled) << "no third run: its max_run_time is exceeded";
  EXPECT_THAT(trial(1).reason, HasSubstr("max_run_time of 1m40s is over"));
}

TEST_F(SchedulingTest, KillsTrial_WhenItIgnoresPreemption) {
  AddAgent("a", 2);
  auto config = MakeConfig();
  config->resources.max_run_time = 800;
  Create(config);
  Start("1.1.1");
  const absl::Time end = *allocation("1.1.1").started_at + absl::Seconds(800);
  now_ = end - absl::Seconds(100);
  const auto preemptions =
      GetEffects<AnnouncePreemption>(Apply(AllocationDeadline{AllocationId("1.1.1")}));
  ASSERT_THAT(preemptions, SizeIs(1));
  EXPECT_EQ(preemptions[0].deadline, end - absl::Seconds(15)) << "a stop takes up to 15 s";
  now_ = preemptions[0].deadline;
  const auto stops = GetEffects<StopTask>(Apply(AllocationDeadline{AllocationId("1.1.1")}));
  ASSERT_THAT(stops, SizeIs(1));
  EXPECT_EQ(now_ + stops[0].grace, end);
}

TEST_F(SchedulingTest, ShortensGracePeriodBeforeEndOfRunTime) {
  AddAgent("a", 1);
  auto config = MakeConfig();
  config->resources.max_run_time = 800;
  Create(config);
  Start("1.1.1");
  const absl::Time end = *allocation("1.1.1").started_at + absl::Seconds(800);
  now_ = end - absl::Seconds(200);
  const auto preemptions = GetEffects<AnnouncePreemption>(Apply(PauseExperiment{ExperimentId(1)}));
  ASSERT_THAT(preemptions, SizeIs(1));
  EXPECT_EQ(preemptions[0].deadline, end - absl::Seconds(15));
}

// The scheduler backfills claimed slots with gangs that end in time.
TEST_F(SchedulingTest, DoesNotDelayOthers_WhenBackfilledGangIgnoresPreemption) {
  AddAgent("a", 2);
  auto longer = MakeConfig();
  longer->resources.max_run_time = 8000;
  Create(longer);
  Start("1.1.1");
  const absl::Time whole_at = *allocation("1.1.1").started_at + absl::Seconds(8000);
  auto both = MakeConfig();
  both->resources.slots_per_trial = 2;
  both->resources.is_single_node = true;
  both->resources.priority = 10;
  Create(both);
  now_ += absl::Seconds(10);
  auto deaf = MakeConfig();
  deaf->resources.max_run_time = 7000;
  Create(deaf);
  Start("3.3.1");
  ASSERT_EQ(allocation("3.3.1").state, model::AllocationState::kRunning);
  EXPECT_TRUE(cluster_.IsBackfilled(AllocationId("3.3.1")));
  absl::Time stopped_at = absl::InfinitePast();
  for (int timers = 0; timers < 3 && stopped_at == absl::InfinitePast(); ++timers) {
    Outcome due;
    due.effects = cluster_.Regenerate();
    for (const SetDeadline& deadline : GetEffects<SetDeadline>(due)) {
      if (deadline.allocation == AllocationId("3.3.1")) now_ = std::max(now_, deadline.at);
    }
    for (const StopTask& stop :
         GetEffects<StopTask>(Apply(AllocationDeadline{AllocationId("3.3.1")}))) {
      stopped_at = now_ + stop.grace;
    }
  }
  EXPECT_GT(stopped_at, absl::InfinitePast()) << "it is stopped";
  EXPECT_LE(stopped_at, whole_at);
}

// ---- plans ----

class LargePlanTest : public SchedulingTest {
 protected:
  // A plan of 44 starts.
  LargePlanTest() {
    AddAgent("a", 22);
    AddAgent("b", 22);
    auto config = MakeConfig();
    config->searcher.name = "random";
    config->searcher.max_trials = 44;
    config->searcher.max_concurrent_trials = 0;
    config->searcher.max_length = model::Length{model::Length::Unit::kBatches, 1};
    config->hyperparameters["x"] = {model::DoubleHparam{0, 1, std::nullopt}};
    Apply(CreateExperiment{.config = config});
  }
};

TEST_F(LargePlanTest, IsAppliedInPartsAndInOrder) {
  std::vector<AllocationId> started;
  const auto tick = [&] {
    const Outcome outcome = Tick();
    const auto starts = GetEffects<StartTask>(outcome);
    for (const StartTask& start : starts) started.push_back(start.spec.allocation);
    return std::pair(starts.size(), GetEffects<ScheduleSoon>(outcome).size());
  };
  EXPECT_EQ(tick(), std::pair(size_t{24}, size_t{1}));
  // Later events are handled after it.
  auto urgent = MakeConfig();
  urgent->resources.priority = 1;
  Apply(CreateExperiment{.config = urgent});
  now_ -= absl::Seconds(2);  // all at the same time
  EXPECT_EQ(tick(), std::pair(size_t{20}, size_t{1}));
  EXPECT_EQ(tick(), std::pair(size_t{0}, size_t{0}));
  std::vector<int64_t> order;
  for (const AllocationId& id : started) order.push_back(allocation(id.value()).submitted);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST_F(LargePlanTest, IsDiscarded_WhenStateChanges) {
  EXPECT_THAT(GetEffects<StartTask>(Tick()), SizeIs(24));
  Apply(DisableAgent{AgentId("b"), true});
  EXPECT_THAT(GetEffects<StartTask>(Tick()), IsEmpty());
  Apply(EnableAgent{AgentId("b")});
  EXPECT_THAT(GetEffects<StartTask>(Tick()), SizeIs(20));
}

TEST_F(LargePlanTest, IsDiscarded_WhenTooOld) {
  EXPECT_THAT(GetEffects<StartTask>(Tick()), SizeIs(24));
  auto urgent = MakeConfig();
  urgent->resources.priority = 1;
  Apply(CreateExperiment{.config = urgent});
  now_ += absl::Seconds(1);
  const auto starts = GetEffects<StartTask>(Tick());
  ASSERT_THAT(starts, SizeIs(20));
  EXPECT_EQ(starts[0].spec.allocation, AllocationId("2.45.1"));
}

TEST_F(LargePlanTest, IsRecomputed_AfterRestart) {
  EXPECT_THAT(GetEffects<StartTask>(Tick()), SizeIs(24));
  Restart();
  std::vector<std::string> on_a;
  std::vector<std::string> on_b;
  for (const auto& [id, a] : rows_.allocations) {
    for (const auto& local_task : a.local_tasks) {
      (local_task.placement.agent == AgentId("a") ? on_a : on_b).push_back(id.value());
    }
  }
  AddAgent("a", 22, on_a);
  AddAgent("b", 22, on_b);
  EXPECT_THAT(GetEffects<StartTask>(Tick()), SizeIs(20));
}

// ---- pools and quotas ----

TEST_F(SchedulingTest, RejectsDeletionOfUsedPool) {
  model::ResourcePool pool{.name = "gpus", .description = "", .workspaces = {"vision"}};
  Apply(PutResourcePool{.pool = pool, .default_compute = true});
  EXPECT_EQ(cluster_.default_compute(), "gpus");
  Restart();
  EXPECT_EQ(cluster_.default_compute(), "gpus");
  EXPECT_THAT(std::string(ExpectRejection(DeleteResourcePool{"gpus"}).message()),
              HasSubstr("a default"));
  Apply(PutResourcePool{.pool = pool, .default_compute = false});
  EXPECT_EQ(cluster_.default_compute(), "default");
  auto config = MakeConfig();
  config->resources.resource_pool = "gpus";
  const absl::Status elsewhere = ExpectRejection(CreateExperiment{.config = config});
  EXPECT_TRUE(absl::IsInvalidArgument(elsewhere));
  EXPECT_THAT(std::string(elsewhere.message()), HasSubstr("which is bound to vision"));
  config->workspace = "vision";
  Create(config);
  EXPECT_THAT(std::string(ExpectRejection(DeleteResourcePool{"gpus"}).message()),
              HasSubstr("experiment 1"));
  Apply(KillExperiment{ExperimentId(1)});
  Apply(DeleteResourcePool{"gpus"});
  EXPECT_TRUE(absl::IsNotFound(ExpectRejection(DeleteResourcePool{"gpus"})));
  pool.default_priority = 100;
  EXPECT_TRUE(absl::IsInvalidArgument(ExpectRejection(PutResourcePool{pool})));
  EXPECT_TRUE(absl::IsFailedPrecondition(ExpectRejection(
      PutResourcePool{.pool = {.name = "default", .description = "", .workspaces = {}},
                      .default_compute = false})));
}

TEST_F(SchedulingTest, RejectsPoolUpdate_WhenPoolChanged) {
  const model::ResourcePool unknown{.name = "gpus", .description = "", .workspaces = {}};
  model::ResourcePool first = unknown, second = unknown;
  first.workspaces = {"vision"};
  second.workspaces = {"speech"};
  Apply(PutResourcePool{first, unknown});
  const absl::Status late = ExpectRejection(PutResourcePool{second, unknown});
  EXPECT_TRUE(absl::IsAborted(late)) << late;
  Apply(PutResourcePool{second, first});
  Apply(PutResourcePool{first});
}

TEST_F(SchedulingTest, CountsUsageOfMonthForQuotas) {
  now_ = absl::FromCivil(absl::CivilHour(2026, 1, 31, 20), absl::UTCTimeZone());
  Apply(PutQuota{{.scope = Scope::kUser, .name = "ann", .max_slots = 4, .slot_hours = {}}});
  const auto timers = GetEffects<SetCalendarTimer>(
      Apply(PutQuota{{.scope = Scope::kWorkspace, .name = "w", .max_slots = {}, .slot_hours = 9}}));
  const absl::Time february = absl::FromCivil(absl::CivilMonth(2026, 2), absl::UTCTimeZone());
  EXPECT_THAT(timers, ElementsAre(SetCalendarTimer{february}));
  AddAgent("a", 4);
  auto config = MakeConfig();
  config->workspace = "w";
  config->resources.slots_per_trial = 2;
  for (int i = 0; i < 2; ++i) {
    Apply(CreateExperiment{.config = config, .owner = model::UserId(7), .owner_name = "ann"});
    Tick();
  }
  const absl::Time first = *allocation("1.1.1").started_at;
  const absl::Time second = *allocation("2.2.1").started_at;
  now_ = first + absl::Hours(1);
  Exit("1.1.1", 0);
  const auto used = [&] {
    std::vector<double> hours;
    for (const scheduler::Limit& limit : cluster_.limits()) hours.push_back(limit.slot_hours_used);
    return hours;
  };
  const auto expect = [&](double hours) {
    const std::vector<double> live = used();
    ASSERT_THAT(live, SizeIs(2));
    for (const double each : live) EXPECT_NEAR(each, hours, 1e-6);
    Restart();
    AddAgent("a", 4, {"2.2.1"});
    const double meanwhile = absl::ToDoubleHours(absl::Seconds(1)) * 2;
    for (const double each : used()) EXPECT_NEAR(each, hours + meanwhile, 1e-6) << "restored";
  };
  const absl::Time end = *allocation("1.1.1").ended_at;
  expect(2 * absl::ToDoubleHours(end - first) + 2 * absl::ToDoubleHours(now_ - second));
  // In a new month only running allocations count.
  now_ = february + absl::Hours(1);
  EXPECT_THAT(GetEffects<SetCalendarTimer>(Apply(CalendarTick{})), SizeIs(1));
  expect(2 * absl::ToDoubleHours(now_ - february));
  Apply(DeleteQuota{Scope::kUser, "ann"});
  EXPECT_TRUE(absl::IsNotFound(ExpectRejection(DeleteQuota{Scope::kUser, "ann"})));
  EXPECT_TRUE(absl::IsInvalidArgument(ExpectRejection(
      PutQuota{{.scope = Scope::kUser, .name = "x", .max_slots = {}, .slot_hours = {}}})));
  EXPECT_TRUE(absl::IsInvalidArgument(ExpectRejection(
      PutQuota{{.scope = Scope::kUser, .name = "x", .max_slots = -1, .slot_hours = {}}})));
}

}  // namespace
}  // namespace det::cluster
