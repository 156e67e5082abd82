#include "master/api/experiments/warm_start.h"

#include <string>

#include "gtest/gtest.h"
#include "master/store/testing/fake_store.h"
#include "master/store/testing/make_rows.h"

namespace det::api {
namespace {

TEST(WarmStartTest, FindsSourceCheckpointOrNewestOfSourceTrial) {
  store::FakeStore store;
  experiment::Trial trial = store::MakeTrial(1, 1);
  trial.latest_checkpoint = model::CheckpointId("newest");
  experiment::Experiment ended = store::MakeExperiment(1);
  ended.state = model::ExperimentState::kCompleted;
  ASSERT_TRUE(store.Load().ok());
  ASSERT_TRUE(store
                  .Commit(1, {cluster::PutExperiment{ended}, cluster::PutTrial{trial},
                              cluster::PutTrial{store::MakeTrial(2, 1)},
                              cluster::AddCheckpoint{store::MakeCheckpoint("older", 1, 10)},
                              cluster::AddCheckpoint{store::MakeCheckpoint("newest", 1, 20)},
                              cluster::AddCheckpoint{store::MakeCheckpoint("stray", 1, 30)}})
                  .ok());
  const auto found = [&](const model::SearcherConfig& config) -> std::string {
    const auto start = FindWarmStart(store, config);
    if (!start.ok() || !*start) return start.ok() ? "none" : start.status().ToString();
    EXPECT_EQ((*start)->experiment, model::ExperimentId(1));
    return (*start)->checkpoint.value();
  };
  model::SearcherConfig config;
  EXPECT_EQ(found(config), "none");
  config.source_trial_id = 1;
  EXPECT_EQ(found(config), "newest");
  config.source_trial_id = 2;
  EXPECT_EQ(FindWarmStart(store, config).status(),
            absl::NotFoundError("searcher.source_trial_id: trial 2 has no COMPLETED checkpoint"));
  config.source_trial_id = 3;
  EXPECT_EQ(FindWarmStart(store, config).status(),
            absl::NotFoundError("searcher.source_trial_id: trial 3 not found"));
  config.source_trial_id.reset();
  config.source_checkpoint_uuid = "older";
  EXPECT_EQ(found(config), "older");
  config.source_checkpoint_uuid = "lost";
  EXPECT_EQ(FindWarmStart(store, config).status(),
            absl::NotFoundError("searcher.source_checkpoint_uuid: checkpoint lost not found"));
  // After the latest checkpoint is deleted, the newest remaining checkpoint is used.
  ASSERT_TRUE(store
                  .Commit(2, {cluster::DropCheckpoints{
                                 {model::CheckpointId("newest"), model::CheckpointId("stray")}}})
                  .ok());
  config.source_checkpoint_uuid = "newest";
  EXPECT_EQ(FindWarmStart(store, config).status(),
            absl::FailedPreconditionError("searcher.source_checkpoint_uuid: checkpoint newest is "
                                          "DELETING; a trial can start only from a COMPLETED "
                                          "checkpoint"));
  config.source_checkpoint_uuid.clear();
  config.source_trial_id = 1;
  EXPECT_EQ(found(config), "older");
}

}  // namespace
}  // namespace det::api
