// A database that is unavailable, hangs, rejects commits, or belongs to another master.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/fake_event_loop.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "master/engine/committer.h"
#include "master/engine/engine.h"
#include "master/engine/testing/engine_fixture.h"

namespace det::engine {
namespace {

using store::FaultyStore;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST_F(EngineTest, RetriesSameBatch_WhileDatabaseIsUnavailable) {
  store_.Script({FaultyStore::Fault::kUnreached, FaultyStore::Fault::kUnreached});
  Submit(Create("a"), "create");
  Settle();
  EXPECT_THAT(recorder_.log, IsEmpty());
  EXPECT_TRUE(absl::IsUnavailable(engine_->health()));
  EXPECT_THAT(std::string(engine_->health().message()),
              ::testing::HasSubstr("unreachable by script"));
  Submit(Create("b"), "second");
  Advance(absl::Seconds(1));
  EXPECT_THAT(recorder_.log, ElementsAre("create OK", "second OK"));
  EXPECT_TRUE(engine_->health().ok()) << engine_->health();
  const std::vector<FaultyStore::Call> calls = store_.commits();
  ASSERT_GE(calls.size(), 3u);
  for (int i : {1, 2}) {
    EXPECT_EQ(calls[i].sequence, calls[0].sequence);
    EXPECT_EQ(calls[i].changes, calls[0].changes);
  }
  EXPECT_EQ(engine_->stats().retries, 2);
  // The first event waited for both retry delays.
  EXPECT_GE(engine_->commit_latency().sum,
            absl::ToDoubleSeconds(3 * Committer::kInitialRetryDelay));
  EXPECT_THAT(fatal_, IsEmpty());
}

TEST_F(EngineTest, RefusesRequestsWithoutLease) {
  bool leads = false;
  engine_->SetLeadershipCheck([&] { return leads; });
  Submit(Create("a"), "create");
  // An unknown allocation: the event changes nothing, so no commit would detect the lost lease.
  Submit(cluster::PreemptionAcked{model::AllocationId("9.9.9")}, "acknowledge");
  Query("look");
  Settle();
  EXPECT_THAT(recorder_.log,
              ElementsAre("create UNAVAILABLE", "acknowledge UNAVAILABLE", "look UNAVAILABLE"));
  leads = true;
  recorder_.log.clear();
  Submit(Create("a"), "create");
  Settle();
  EXPECT_THAT(recorder_.log, ElementsAre("create OK"));
}

TEST_F(EngineTest, DoesNotRepeatCommittedBatch) {
  store_.Script({FaultyStore::Fault::kLostAck});
  Submit(Create("a"), "create");
  Settle();
  EXPECT_EQ(fake_.ListExperiments({})->total, 1);
  EXPECT_THAT(recorder_.log, IsEmpty());
  Advance(absl::Seconds(1));
  EXPECT_THAT(recorder_.log, ElementsAre("create OK"));
  EXPECT_EQ(fake_.ListExperiments({})->total, 1);
}

TEST_F(EngineTest, RefusesNewWorkInLongOutage) {
  store_.Script(std::vector(100, FaultyStore::Fault::kUnreached));
  Submit(Create("held"), "held");
  Settle();
  Advance(Committer::kMaxOutage);
  Submit(Create("late"), "late");
  Query("look");
  Settle();
  EXPECT_THAT(recorder_.log, ElementsAre("late UNAVAILABLE", "look UNAVAILABLE"));
  absl::Status why;
  engine_->Submit(Create("later"),
                  [&](const absl::StatusOr<Applied>& applied) { why = applied.status(); });
  Settle();
  EXPECT_EQ(
      why.message(),
      "the database is unavailable; changes wait until it is back: unreachable by script; try "
      "again later");
  recorder_.log.clear();
  Advance(absl::Minutes(5));
  EXPECT_THAT(recorder_.log, ElementsAre("held OK"));
  Submit(Create("next"), "next");
  Query("look");
  Settle();
  EXPECT_THAT(recorder_.log, ElementsAre("held OK", "next OK", "look OK"));
}

TEST_F(EngineTest, SurvivesHangingDatabase) {
  // Runs while the store does not return from the commit.
  store_.DuringCommit([this] {
    loop_.Advance(Committer::kCommitDeadline);
    EXPECT_TRUE(engine_->health().ok()) << engine_->health();
    loop_.Advance(absl::Seconds(1));
    EXPECT_EQ(engine_->health(),
              absl::UnavailableError("the database has not answered a commit for 6 s"));
    Submit(Create("held"), "held");
    loop_.Advance(Committer::kMaxOutage);
    Submit(Create("late"), "late");
    loop_.RunUntilIdle();
    EXPECT_THAT(recorder_.log, ElementsAre("late UNAVAILABLE"));
  });
  Submit(Create("a"), "create");
  Settle();
  EXPECT_THAT(recorder_.log, ElementsAre("late UNAVAILABLE", "create OK", "held OK"));
  EXPECT_TRUE(engine_->health().ok()) << engine_->health();
  Submit(Create("next"), "next");
  Settle();
  EXPECT_EQ(fake_.ListExperiments({})->total, 3);
  EXPECT_THAT(fatal_, IsEmpty());
}

TEST_F(EngineTest, StopsAfterRejectedCommit) {
  store_.Script({FaultyStore::Fault::kRejected});
  Submit(Create("a"), "create");
  Settle();
  ASSERT_THAT(fatal_, ::testing::SizeIs(1));
  EXPECT_TRUE(absl::IsInternal(fatal_[0]));
  Submit(Create("b"), "next");
  Query("query");
  Settle();
  EXPECT_THAT(recorder_.log, ElementsAre("next UNAVAILABLE", "query UNAVAILABLE"));
  EXPECT_THAT(store_.commits(), ::testing::SizeIs(1));
}

TEST_F(EngineTest, FiresDeadlinesAfterOutage) {
  RunThenPause();
  Advance(store::MakeConfig("")->preemption_timeout_seconds * absl::Seconds(1) - absl::Minutes(1));
  store_.Script(std::vector(120, FaultyStore::Fault::kUnreached));
  Submit(Create("held"), "held");
  Advance(absl::Seconds(90));
  EXPECT_THAT(recorder_.log, IsEmpty());
  Advance(absl::Minutes(5));
  Advance(absl::Seconds(1));
  EXPECT_THAT(recorder_.log, ElementsAre("held OK", "stop 1.1.1 grace 15"));
}

TEST_F(EngineTest, AcceptsFactsDuringOutage) {
  Submit(Register("agent-0", 1), "register");
  Submit(Create("a"), "create");
  Settle();
  Submit(cluster::LocalTaskStarted{model::AllocationId("1.1.1"), model::AgentId("agent-0")}, "");
  Settle();
  store_.Script(std::vector(100, FaultyStore::Fault::kUnreached));
  Submit(Create("held"), "held");
  Settle();
  Advance(Committer::kMaxOutage);
  recorder_.log.clear();
  engine_->Submit(cluster::AgentDisconnected{model::AgentId("agent-0")});
  engine_->Submit(cluster::AgentLost{model::AgentId("agent-0")});
  Settle();
  EXPECT_THAT(recorder_.log, IsEmpty());
  Advance(absl::Minutes(5));
  EXPECT_THAT(recorder_.log, ElementsAre("held OK", "close 1.1.1"));
  EXPECT_THAT(fatal_, IsEmpty());
}

TEST(EngineFencingTest, StopsOlderMaster) {
  base::FakeEventLoop loop;
  base::FakeEventLoop commits;
  const std::shared_ptr<store::FakeDatabase> database = store::MakeFakeDatabase();
  store::FakeStore older(database);
  store::FakeStore newer(database);
  std::vector<absl::Status> fatal;
  Engine engine(
      cluster::Settings{}, &older, &loop, Sinks{},
      [&](absl::Status status) { fatal.push_back(std::move(status)); }, &commits);
  ASSERT_TRUE(engine.Start().ok());
  ASSERT_TRUE(newer.Load().ok());
  engine.Submit(Create("a"));
  loop.RunUntilIdle();
  commits.RunUntilIdle();
  ASSERT_THAT(fatal, ::testing::SizeIs(1));
  EXPECT_TRUE(absl::IsAborted(fatal[0]));
}

}  // namespace
}  // namespace det::engine
