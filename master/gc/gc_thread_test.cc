// The thread: woken by what is committed, and stopped at any moment.
#include "master/gc/gc_thread.h"

#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <thread>

#include "base/event_loop.h"
#include "base/file.h"
#include "master/store/testing/fake_store.h"
#include "master/store/testing/make.h"
#include <gmock/gmock.h>

namespace det::gc {
namespace {

namespace fs = std::filesystem;

using model::ExperimentId;

TEST(SweepTest, ADeletionIsDoneWithoutAnybodyAskingAgain) {
  const base::TempDir dir = *base::TempDir::Create();
  fs::create_directories(dir.path() + "/a");
  store::FakeStore store;
  experiment::Experiment e = store::MakeExperiment(1);
  e.state = model::ExperimentState::kCompleted;
  model::ExperimentConfig config = *e.config;
  config.checkpoint_storage.host_path = dir.path();
  e.config = std::make_shared<const model::ExperimentConfig>(std::move(config));
  std::vector<cluster::Change> changes;
  changes.emplace_back(cluster::PutExperiment{e});
  changes.emplace_back(cluster::PutTrial{store::MakeTrial(1, 1)});
  changes.emplace_back(cluster::AddCheckpoint{store::MakeCheckpoint("a", 1, 10)});
  ASSERT_TRUE(store.Load().ok());
  ASSERT_TRUE(store.Commit(1, changes).ok());
  const auto loop = base::MakeAsioEventLoop("cluster");
  Sweep sweep;
  engine::Engine engine(cluster::Settings{}, &store, loop.get(), engine::Sinks{.sweep = &sweep},
                        [](const absl::Status& status) { FAIL() << status; });
  ASSERT_TRUE(engine.Start().ok());
  sweep.Start(&store, &engine);
  std::promise<absl::Status> asked;
  engine.Submit(
      cluster::DeleteExperiment{ExperimentId(1)},
      [&](const absl::StatusOr<engine::Applied>& applied) { asked.set_value(applied.status()); });
  EXPECT_TRUE(asked.get_future().get().ok());
  // Only looking can tell: it ends, or the test's time is over.
  while (!absl::IsNotFound(store.GetExperiment(ExperimentId(1)).status())) {
    std::this_thread::yield();
  }
  EXPECT_FALSE(fs::exists(dir.path() + "/a"));
  sweep.Stop();
  sweep.Soon();  // too late, and harmless
  engine.Stop();
  loop->Stop();
}

TEST(SweepTest, StopsBeforeItsStart) {
  Sweep sweep;
  sweep.Soon();
  sweep.Stop();
}

}  // namespace
}  // namespace det::gc
