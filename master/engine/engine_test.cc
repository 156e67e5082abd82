#include "master/engine/engine.h"

#include <string>

#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "master/engine/testing/engine_fixture.h"

namespace det::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST_F(EngineTest, ReleasesNothingBeforeCommit) {
  recorder_.record_changes = true;
  Submit(Create("a"), "create");
  loop_.RunUntilIdle();
  EXPECT_THAT(recorder_.log, IsEmpty());
  EXPECT_THAT(store_.commits(), IsEmpty());
  commits_.RunUntilIdle();
  EXPECT_THAT(store_.commits(), ::testing::SizeIs(1));
  EXPECT_EQ(fake_.ListExperiments({})->total, 1);
  EXPECT_THAT(recorder_.log, IsEmpty());
  loop_.RunUntilIdle();
  EXPECT_THAT(recorder_.log, ::testing::Contains("create OK"));
  EXPECT_EQ(created_, model::ExperimentId(1));
}

TEST_F(EngineTest, CommitsGatheredEventsInOrder) {
  for (const char* name : {"a", "b", "c", "d"}) Submit(Create(name), name);
  loop_.RunUntilIdle();
  Settle();
  EXPECT_THAT(recorder_.log, ElementsAre("a OK", "b OK", "c OK", "d OK"));
  EXPECT_EQ(fake_.ListExperiments({})->total, 4);
  // One commit with all four events, then the scheduling pass that they requested, if it changed
  // anything.
  EXPECT_LE(store_.commits().size(), 2u);
  EXPECT_EQ(engine_->stats().commits, static_cast<int64_t>(store_.commits().size()));
}

TEST_F(EngineTest, ErrorWaitsForStateItDependsOn) {
  Submit(Create("a"), "create");
  Submit(cluster::PauseExperiment{model::ExperimentId(9)}, "pause 9");
  loop_.RunUntilIdle();
  EXPECT_THAT(recorder_.log, IsEmpty());
  Settle();
  EXPECT_THAT(recorder_.log, ElementsAre("create OK", "pause 9 NOT_FOUND"));
  // Without an open batch, the error does not wait.
  recorder_.log.clear();
  Submit(cluster::PauseExperiment{model::ExperimentId(9)}, "pause 9");
  loop_.RunUntilIdle();
  EXPECT_THAT(recorder_.log, ElementsAre("pause 9 NOT_FOUND"));
}

TEST_F(EngineTest, QueryWaitsForOpenBatch) {
  Query("before");
  Submit(Create("a"), "create");
  Query("after");
  loop_.RunUntilIdle();
  EXPECT_THAT(recorder_.log, ElementsAre("before OK"));
  Settle();
  EXPECT_THAT(recorder_.log, ElementsAre("before OK", "create OK", "after OK"));
}

TEST_F(EngineTest, QueryWaitsForBatchInFlight) {
  Submit(Create("a"), "create");
  loop_.RunUntilIdle();
  commits_.RunUntilIdle();  // durable, but its reply has not run yet
  Query("query");
  Settle();
  EXPECT_THAT(recorder_.log, ElementsAre("create OK", "query OK"));
}

TEST_F(EngineTest, StartsTasksAfterCommit) {
  Submit(Register("agent-0", 2), "register");
  Settle();
  Submit(Create("a"), "create");
  loop_.RunUntilIdle();
  commits_.RunUntilIdle();
  loop_.RunUntilIdle();  // the reply, then the scheduling pass
  EXPECT_THAT(recorder_.log, ElementsAre("register OK", "create OK"));
  Settle();
  EXPECT_THAT(recorder_.log, ElementsAre("register OK", "create OK", "start 1.1.1"));
  EXPECT_EQ(fake_.GetAllocation(model::AllocationId("1.1.1"))->state,
            model::AllocationState::kAssigned);
}

TEST_F(EngineTest, FiresDeadlines) {
  RunThenPause();
  Advance(store::MakeConfig("")->preemption_timeout_seconds * absl::Seconds(1) - absl::Seconds(1));
  EXPECT_THAT(recorder_.log, IsEmpty());
  // The allocation has not exited by its deadline.
  Advance(absl::Seconds(1));
  EXPECT_THAT(recorder_.log, ElementsAre("stop 1.1.1 grace 15"));
  EXPECT_EQ(loop_.NextTimer(), absl::InfiniteFuture());
}

TEST_F(EngineTest, KeepsCalendarAcrossRestart) {
  Submit(Register("agent-0", 1), "register");
  Submit(Create("a"), "create");
  Settle();
  Submit(cluster::LocalTaskStarted{model::AllocationId("1.1.1"), model::AgentId("agent-0")}, "");
  const absl::Time begin = loop_.Now() + absl::Hours(2);
  Submit(cluster::SetMaintenance{model::AgentId("agent-0"), {{begin, begin + absl::Hours(1), ""}}},
         "maintenance");
  Settle();
  Restart();
  Submit(Register("agent-0", 1, {model::AllocationId("1.1.1")}), "register");
  Settle();
  recorder_.log.clear();
  Advance(absl::Hours(2) - absl::Seconds(1));
  EXPECT_THAT(recorder_.log, IsEmpty());
  Advance(absl::Seconds(1));
  EXPECT_THAT(recorder_.log, ElementsAre("preempt 1.1.1"));
}

TEST_F(EngineTest, FiresDeadlines_WhenClockIsSetBack) {
  RunThenPause();
  const absl::Duration timeout =
      store::MakeConfig("")->preemption_timeout_seconds * absl::Seconds(1);
  for (base::FakeEventLoop* loop : {&loop_, &commits_}) {
    loop->SetClock(loop->Now() - absl::Minutes(1));
  }
  Advance(timeout);
  EXPECT_THAT(recorder_.log, IsEmpty()) << "the clock shows an earlier time";
  Advance(absl::Minutes(1));
  EXPECT_THAT(recorder_.log, ElementsAre("stop 1.1.1 grace 15"));
}

TEST_F(EngineTest, SetsNoTimer_WhenIdle) {
  Submit(Register("agent-0", 1), "register");
  Submit(Create("a"), "create");
  Settle();
  EXPECT_EQ(loop_.NextTimer(), absl::InfiniteFuture());
  EXPECT_EQ(commits_.NextTimer(), absl::InfiniteFuture());
}

TEST_F(EngineTest, ResumesAfterRestart) {
  Submit(Create("a"), "create");
  Settle();
  Restart();
  // The allocation is still waiting, and starts when there are slots.
  Submit(Register("agent-0", 1), "register");
  Settle();
  EXPECT_THAT(recorder_.log, ElementsAre("register OK", "start 1.1.1"));
  Restart();
  // An assigned allocation that was not confirmed is started again.
  Submit(Register("agent-0", 1), "register");
  Settle();
  EXPECT_THAT(recorder_.log, ::testing::Contains("start 1.1.1"));
}

}  // namespace
}  // namespace det::engine
