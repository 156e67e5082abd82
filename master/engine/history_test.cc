// Random histories, and an engine with real loops and threads.
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/rng.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "master/engine/engine.h"
#include "master/engine/testing/engine_fixture.h"

namespace det::engine {
namespace {

using store::FaultyStore;
using ::testing::IsEmpty;

// Random histories with faults: the durable state always restores the same cluster.
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
        return cluster::LocalTaskStarted{allocation, agent};
      case 3:
        return cluster::LocalTaskExited{allocation, agent, static_cast<int>(rng.UniformInt(0, 1))};
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

TEST_P(EngineHistoryTest, RestoresLiveState) {
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

// With real loops, stopping loses no events.
TEST(EngineThreadsTest, FinishesSubmittedEventsOnStop) {
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

TEST(EngineThreadsTest, StopsWithoutWaitingForUnavailableDatabase) {
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
