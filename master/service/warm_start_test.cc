#include "master/service/warm_start.h"

#include "gtest/gtest.h"
#include "master/store/fake_store.h"
#include "master/store/testing/make.h"

namespace det::service {
namespace {

TEST(WarmStartTest, IsTheCheckpointOrTheTrialsNewest) {
  store::FakeStore store;
  experiment::Trial trial = store::MakeTrial(1, 1);
  trial.latest_checkpoint = model::CheckpointId("newest");
  ASSERT_TRUE(store.Load().ok());
  ASSERT_TRUE(store
                  .Commit(1, {cluster::PutExperiment{store::MakeExperiment(1)},
                              cluster::PutTrial{trial}, cluster::PutTrial{store::MakeTrial(2, 1)},
                              cluster::AddCheckpoint{store::MakeCheckpoint("older", 1, 10)}})
                  .ok());
  model::SearcherConfig config;
  EXPECT_EQ(*FindWarmStart(store, config), std::nullopt);
  config.source_trial_id = 1;
  EXPECT_EQ(*FindWarmStart(store, config), model::CheckpointId("newest"));
  config.source_trial_id = 2;
  EXPECT_EQ(
      FindWarmStart(store, config).status(),
      absl::NotFoundError("searcher.source_trial_id: trial 2 has no checkpoint to start from"));
  config.source_trial_id = 3;
  EXPECT_EQ(FindWarmStart(store, config).status(),
            absl::NotFoundError("searcher.source_trial_id: trial 3 does not exist"));
  config.source_trial_id.reset();
  config.source_checkpoint_uuid = "older";
  EXPECT_EQ(*FindWarmStart(store, config), model::CheckpointId("older"));
  config.source_checkpoint_uuid = "lost";
  EXPECT_EQ(FindWarmStart(store, config).status(),
            absl::NotFoundError("searcher.source_checkpoint_uuid: checkpoint lost does not exist"));
}

}  // namespace
}  // namespace det::service
