// The thread: woken by commits, and stopped at any time.
#include "master/gc/gc_thread.h"

#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "base/event_loop.h"
#include "base/file.h"
#include "master/store/testing/fake_store.h"
#include "master/store/testing/make_rows.h"
#include <gmock/gmock.h>

namespace det::gc {
namespace {

namespace fs = std::filesystem;

using model::ExperimentId;

TEST(GcThreadTest, CompletesDeletionWithoutFurtherRequests) {
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
  GcThread gc_thread;
  engine::Engine engine(cluster::Settings{}, &store, loop.get(), engine::Sinks{.gc = &gc_thread},
                        [](const absl::Status& status) { FAIL() << status; });
  ASSERT_TRUE(engine.Start().ok());
  gc_thread.Start(&store, &engine, "cluster");
  std::promise<absl::Status> deletion;
  engine.Submit(cluster::DeleteExperiment{ExperimentId(1)},
                [&](const absl::StatusOr<engine::Applied>& applied) {
                  deletion.set_value(applied.status());
                });
  EXPECT_TRUE(deletion.get_future().get().ok());
  // Polls until the experiment is deleted.
  while (!absl::IsNotFound(store.GetExperiment(ExperimentId(1)).status())) {
    std::this_thread::yield();
  }
  EXPECT_FALSE(fs::exists(dir.path() + "/a"));
  gc_thread.Stop();
  gc_thread.Wake();  // no effect after Stop
  engine.Stop();
  loop->Stop();
}

TEST(GcThreadTest, StopsBeforeStart) {
  GcThread gc_thread;
  gc_thread.Wake();
  gc_thread.Stop();
}

}  // namespace
}  // namespace det::gc
