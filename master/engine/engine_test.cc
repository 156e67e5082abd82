#include "master/engine/engine.h"

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/fake_event_loop.h"
#include "base/rng.h"
#include "master/engine/committer.h"
#include "master/store/fake_store.h"
#include "master/store/faulty_store.h"
#include "master/store/testing/make.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace det::engine {
namespace {

using store::FaultyStore;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Writes down what leaves the engine, in order.
class Recorder final : public AgentSink, public TrialSink, public ExperimentSink {
 public:
  void Start(const cluster::StartTask& order) override {
    log.push_back("start " + order.spec.allocation.value());
  }
  void Stop(const cluster::StopTask& order) override {
    log.push_back(absl::StrCat("stop ", order.allocation.value(), " grace ",
                               absl::ToInt64Seconds(order.grace)));
  }
  void Announce(const cluster::AnnounceRendezvous& news) override {
    log.push_back("rendezvous " + news.allocation.value());
  }
  void Announce(const cluster::AnnouncePreemption& news) override {
    log.push_back("preempt " + news.allocation.value());
  }
  void Close(const cluster::CloseAllocation& news) override {
    log.push_back("close " + news.allocation.value());
  }
  void Changed(model::ExperimentId id) override {
    if (note_changes) log.push_back(absl::StrCat("changed ", id.value()));
  }

  std::vector<std::string> log;
  bool note_changes = false;
};

cluster::CreateExperiment Create(const std::string& name) {
  cluster::CreateExperiment create;
  create.config = store::MakeConfig(name);
  create.owner = model::UserId(1);
  return create;
}

cluster::AgentRegistered Register(const std::string& name, int slots,
                                  std::vector<model::AllocationId> running = {}) {
  cluster::AgentRegistered event;
  event.agent.id = model::AgentId(name);
  event.agent.address = "10.0.0.1";
  event.agent.resource_pool = "default";
  for (int i = 0; i < slots; ++i) event.agent.slots.push_back({.id = i});
  event.running = std::move(running);
  return event;
}

// An engine whose loops the test turns by hand.
class EngineTest : public ::testing::Test {
 protected:
  EngineTest() : store_(&fake_) { Restart(); }
  ~EngineTest() override {
    Settle();
    engine_.reset();
  }

  void Restart() {
    engine_.reset();
    recorder_.log.clear();
    engine_ = std::make_unique<Engine>(
        cluster::Settings{.cluster_id = "test"}, &store_, &loop_,
        Sinks{&recorder_, &recorder_, &recorder_},
        [this](absl::Status status) { fatal_.push_back(std::move(status)); }, &commits_);
    const absl::Status started = engine_->Start();
    ASSERT_TRUE(started.ok()) << started;
    Settle();
  }

  void Settle() {
    while (!loop_.Idle() || !commits_.Idle()) {
      loop_.RunUntilIdle();
      commits_.RunUntilIdle();
    }
  }

  void Advance(absl::Duration by) {
    loop_.Advance(by);
    commits_.Advance(by);
    Settle();
  }

  void Submit(cluster::Event event, const std::string& name) {
    engine_->Submit(std::move(event), [this, name](const absl::StatusOr<Applied>& applied) {
      recorder_.log.push_back(absl::StrCat(
          name, " ", applied.ok() ? "OK" : StatusCodeToString(applied.status().code())));
      if (applied.ok() && applied->created) created_ = applied->created;
    });
  }

  void Query(const std::string& name) {
    engine_->Query(
        [](const cluster::Cluster&) {},
        [this, name](const absl::Status& status) {
          recorder_.log.push_back(absl::StrCat(name, " ", status.ok() ? "OK" : "failed"));
        });
  }

  cluster::Image Dump() {
    cluster::Image image;
    engine_->Query([&](const cluster::Cluster& cluster) { image = cluster.Dump(); },
                   [](const absl::Status&) {});
    Settle();
    return image;
  }

  // A trial that runs and is then asked to save and exit.
  void RunThenPause() {
    Submit(Register("agent-0", 1), "register");
    Submit(Create("a"), "create");
    Settle();
    Submit(cluster::ShareStarted{model::AllocationId("1.1.0"), model::AgentId("agent-0")}, "");
    Submit(cluster::PauseExperiment{model::ExperimentId(1)}, "pause");
    Settle();
    recorder_.log.clear();
  }

  base::FakeEventLoop loop_;
  base::FakeEventLoop commits_;
  store::FakeStore fake_;
  FaultyStore store_;
  Recorder recorder_;
  std::vector<absl::Status> fatal_;
  std::optional<model::ExperimentId> created_;
  std::unique_ptr<Engine> engine_;
};

TEST_F(EngineTest, NothingLeavesBeforeItsCommit) {
  recorder_.note_changes = true;
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

TEST_F(EngineTest, WhatGathersIsOneCommitAndKeepsItsOrder) {
  for (const char* name : {"a", "b", "c", "d"}) Submit(Create(name), name);
  loop_.RunUntilIdle();
  Settle();
  EXPECT_THAT(recorder_.log, ElementsAre("a OK", "b OK", "c OK", "d OK"));
  EXPECT_EQ(fake_.ListExperiments({})->total, 4);
  // The four together, then the round of scheduling that they asked for, if it changed anything.
  EXPECT_LE(store_.commits().size(), 2u);
  EXPECT_EQ(engine_->stats().commits, static_cast<int64_t>(store_.commits().size()));
}

TEST_F(EngineTest, ARefusalWaitsForWhatItWasJudgedBy) {
  Submit(Create("a"), "create");
  Submit(cluster::PauseExperiment{model::ExperimentId(9)}, "pause 9");
  loop_.RunUntilIdle();
  EXPECT_THAT(recorder_.log, IsEmpty());
  Settle();
  EXPECT_THAT(recorder_.log, ElementsAre("create OK", "pause 9 NOT_FOUND"));
  // With nothing open it does not wait.
  recorder_.log.clear();
  Submit(cluster::PauseExperiment{model::ExperimentId(9)}, "pause 9");
  loop_.RunUntilIdle();
  EXPECT_THAT(recorder_.log, ElementsAre("pause 9 NOT_FOUND"));
}

TEST_F(EngineTest, AQueryWaitsForTheOpenBatch) {
  Query("before");
  Submit(Create("a"), "create");
  Query("after");
  loop_.RunUntilIdle();
  EXPECT_THAT(recorder_.log, ElementsAre("before OK"));
  Settle();
  EXPECT_THAT(recorder_.log, ElementsAre("before OK", "create OK", "after OK"));
}

TEST_F(EngineTest, AQueryWaitsForTheBatchInFlight) {
  Submit(Create("a"), "create");
  loop_.RunUntilIdle();
  commits_.RunUntilIdle();  // durable, but its reply has not run yet
  Query("query");
  Settle();
  EXPECT_THAT(recorder_.log, ElementsAre("create OK", "query OK"));
}

TEST_F(EngineTest, TheSameBatchIsTriedAgainWhileTheDatabaseIsAway) {
  store_.Script({FaultyStore::Fault::kUnreached, FaultyStore::Fault::kUnreached});
  Submit(Create("a"), "create");
  Settle();
  EXPECT_THAT(recorder_.log, IsEmpty());
  EXPECT_TRUE(absl::IsUnavailable(engine_->health()));
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
  // The first waited for both pauses.
  EXPECT_GE(engine_->commit_latency().sum, absl::ToDoubleSeconds(3 * Committer::kFirstPause));
  EXPECT_THAT(fatal_, IsEmpty());
}

TEST_F(EngineTest, ACommitWhoseAnswerWasLostIsNotDoneTwice) {
  store_.Script({FaultyStore::Fault::kLostAck});
  Submit(Create("a"), "create");
  Settle();
  EXPECT_EQ(fake_.ListExperiments({})->total, 1);
  EXPECT_THAT(recorder_.log, IsEmpty());
  Advance(absl::Seconds(1));
  EXPECT_THAT(recorder_.log, ElementsAre("create OK"));
  EXPECT_EQ(fake_.ListExperiments({})->total, 1);
}

TEST_F(EngineTest, ALongOutageRefusesNewWorkAndKeepsTheOld) {
  store_.Script(std::vector(100, FaultyStore::Fault::kUnreached));
  Submit(Create("held"), "held");
  Settle();
  Advance(Committer::kPatience);
  Submit(Create("late"), "late");
  Settle();
  EXPECT_THAT(recorder_.log, ElementsAre("late UNAVAILABLE"));
  Advance(absl::Minutes(5));
  EXPECT_THAT(recorder_.log, ElementsAre("late UNAVAILABLE", "held OK"));
  Submit(Create("next"), "next");
  Settle();
  EXPECT_THAT(recorder_.log, ElementsAre("late UNAVAILABLE", "held OK", "next OK"));
}

TEST_F(EngineTest, ADatabaseThatHangsIsSeenAndOutlived) {
  // What happens while the store has the commit and does not come back.
  store_.DuringCommit([this] {
    loop_.Advance(Committer::kCommitDeadline);
    EXPECT_TRUE(engine_->health().ok()) << engine_->health();
    loop_.Advance(absl::Seconds(1));
    EXPECT_EQ(engine_->health(),
              absl::UnavailableError("the database has not answered a commit for 6 s"));
    Submit(Create("held"), "held");
    loop_.Advance(Committer::kPatience);
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

TEST_F(EngineTest, ARefusedCommitIsTheEnd) {
  store_.Script({FaultyStore::Fault::kRefused});
  Submit(Create("a"), "create");
  Settle();
  ASSERT_THAT(fatal_, ::testing::SizeIs(1));
  EXPECT_TRUE(absl::IsInternal(fatal_[0]));
  Submit(Create("b"), "next");
  Query("query");
  Settle();
  EXPECT_THAT(recorder_.log, ElementsAre("next UNAVAILABLE"));
  EXPECT_THAT(store_.commits(), ::testing::SizeIs(1));
}

TEST_F(EngineTest, TasksStartOnceTheirAssignmentIsDurable) {
  Submit(Register("agent-0", 2), "register");
  Settle();
  Submit(Create("a"), "create");
  loop_.RunUntilIdle();
  commits_.RunUntilIdle();
  loop_.RunUntilIdle();  // the reply, then the round of scheduling
  EXPECT_THAT(recorder_.log, ElementsAre("register OK", "create OK"));
  Settle();
  EXPECT_THAT(recorder_.log, ElementsAre("register OK", "create OK", "start 1.1.0"));
  EXPECT_EQ(fake_.GetAllocation(model::AllocationId("1.1.0"))->state,
            model::AllocationState::kAssigned);
}

TEST_F(EngineTest, DeadlinesComeDue) {
  RunThenPause();
  Advance(store::MakeConfig("")->preemption_timeout_seconds * absl::Seconds(1) - absl::Seconds(1));
  EXPECT_THAT(recorder_.log, IsEmpty());
  // Still not gone when its time is over.
  Advance(absl::Seconds(1));
  EXPECT_THAT(recorder_.log, ElementsAre("stop 1.1.0 grace 15"));
  EXPECT_EQ(loop_.NextTimer(), absl::InfiniteFuture());
}

TEST_F(EngineTest, DeadlinesOutliveAnOutage) {
  RunThenPause();
  Advance(store::MakeConfig("")->preemption_timeout_seconds * absl::Seconds(1) - absl::Minutes(1));
  store_.Script(std::vector(120, FaultyStore::Fault::kUnreached));
  Submit(Create("held"), "held");
  Advance(absl::Seconds(90));
  EXPECT_THAT(recorder_.log, IsEmpty());
  Advance(absl::Minutes(5));
  Advance(absl::Seconds(1));
  EXPECT_THAT(recorder_.log, ElementsAre("held OK", "stop 1.1.0 grace 15"));
}

TEST_F(EngineTest, AnIdleEngineSetsNoTimer) {
  Submit(Register("agent-0", 1), "register");
  Submit(Create("a"), "create");
  Settle();
  EXPECT_EQ(loop_.NextTimer(), absl::InfiniteFuture());
  EXPECT_EQ(commits_.NextTimer(), absl::InfiniteFuture());
}

TEST_F(EngineTest, ARestartGoesOnWhereItWas) {
  Submit(Create("a"), "create");
  Settle();
  Restart();
  // The allocation that waited still does, and starts when slots come.
  Submit(Register("agent-0", 1), "register");
  Settle();
  EXPECT_THAT(recorder_.log, ElementsAre("register OK", "start 1.1.0"));
  Restart();
  // What was assigned but never confirmed is ordered again.
  Submit(Register("agent-0", 1), "register");
  Settle();
  EXPECT_THAT(recorder_.log, ::testing::Contains("start 1.1.0"));
}

// Random histories with faults; whatever is durable gives the same cluster again.
class EngineHistoryTest : public EngineTest, public ::testing::WithParamInterface<int> {
 protected:
  cluster::Event AnyEvent(base::Rng& rng) {
    const model::AllocationId allocation(
        absl::StrCat(rng.UniformInt(1, 3), ".", rng.UniformInt(1, 3), ".", rng.UniformInt(0, 1)));
    const model::AgentId agent(absl::StrCat("agent-", rng.UniformInt(0, 1)));
    const model::ExperimentId experiment(static_cast<int32_t>(rng.UniformInt(1, 3)));
    switch (rng.UniformInt(0, 9)) {
      case 0:
        return Create("random");
      case 1:
        return Register(agent.value(), 1);
      case 2:
        return cluster::ShareStarted{allocation, agent};
      case 3:
        return cluster::ShareExited{allocation, agent, static_cast<int>(rng.UniformInt(0, 1))};
      case 4:
        return cluster::PauseExperiment{experiment};
      case 5:
        return cluster::ActivateExperiment{experiment};
      case 6:
        return cluster::KillExperiment{experiment};
      case 7:
        return cluster::AgentDisconnected{agent};
      case 8:
        return cluster::ProgressReported{allocation, model::TrialId(1), rng.Uniform01(),
                                         "training"};
      default:
        return cluster::AgentLost{agent};
    }
  }
};

TEST_P(EngineHistoryTest, RestoredEqualsLive) {
  SCOPED_TRACE(absl::StrCat("seed ", GetParam()));
  base::Rng rng(GetParam());
  for (int step = 0; step < 120; ++step) {
    if (rng.UniformInt(0, 9) == 0) {
      store_.Script({rng.UniformInt(0, 1) == 0 ? FaultyStore::Fault::kUnreached
                                               : FaultyStore::Fault::kLostAck});
    }
    engine_->Submit(AnyEvent(rng), [](const absl::StatusOr<Applied>&) {});
    loop_.Advance(absl::Nanoseconds(rng.UniformInt(1, 2'000'000'000)));
    commits_.AdvanceTo(loop_.Now());
    if (rng.UniformInt(0, 3) != 0) continue;
    Advance(absl::Seconds(3));
    const cluster::Image live = Dump();
    Restart();
    ASSERT_EQ(Dump(), live) << "after step " << step;
  }
  EXPECT_THAT(fatal_, IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(Seeds, EngineHistoryTest, ::testing::Range(1, 21));

TEST(EngineFencingTest, ANewerMasterEndsTheOlder) {
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

// The real loops: nothing is lost on the way out.
TEST(EngineThreadsTest, StopFinishesWhatWasSubmitted) {
  store::FakeStore store;
  const std::unique_ptr<base::EventLoop> loop = base::MakeAsioEventLoop("cluster");
  std::atomic<int> replies = 0;
  std::atomic<int> refused = 0;
  Engine engine(cluster::Settings{}, &store, loop.get(), Sinks{}, [](const absl::Status&) {});
  ASSERT_TRUE(engine.Start().ok());
  constexpr int kThreads = 4;
  constexpr int kEvents = 50;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < kEvents; ++n) {
        engine.Submit(Create("a"), [&](const absl::StatusOr<Applied>& applied) {
          ++(applied.ok() ? replies : refused);
        });
        engine.Query([](const cluster::Cluster&) {}, [&](const absl::Status&) { ++replies; });
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  engine.Stop();
  EXPECT_EQ(replies, 2 * kThreads * kEvents);
  EXPECT_EQ(store.ListExperiments({.window = {0, 1}})->total, kThreads * kEvents);
  engine.Submit(Create("late"), [&](const absl::StatusOr<Applied>& applied) {
    EXPECT_TRUE(absl::IsUnavailable(applied.status()));
    ++refused;
  });
  loop->Stop();
  EXPECT_EQ(refused, 1);
}

TEST(EngineThreadsTest, StopDoesNotWaitForADatabaseThatIsAway) {
  store::FakeStore fake;
  FaultyStore store(&fake);
  const std::unique_ptr<base::EventLoop> loop = base::MakeAsioEventLoop("cluster");
  std::atomic<int> unavailable = 0;
  Engine engine(cluster::Settings{}, &store, loop.get(), Sinks{}, [](const absl::Status&) {});
  ASSERT_TRUE(engine.Start().ok());
  store.Script(std::vector(1'000'000, FaultyStore::Fault::kUnreached));
  engine.Submit(Create("a"), [&](const absl::StatusOr<Applied>& applied) {
    if (absl::IsUnavailable(applied.status())) ++unavailable;
  });
  engine.Stop();
  EXPECT_EQ(unavailable, 1);
}

}  // namespace
}  // namespace det::engine
