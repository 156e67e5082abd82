#include "master/api/checkpoints/checkpoint_removal.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "master/store/testing/fake_store.h"
#include "master/store/testing/make_rows.h"

namespace det::api {
namespace {

using model::CheckpointId;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Experiment 1 has ended with checkpoints a, b and c, which contain model.pt and "state/rank 0".
// Experiment 2 starts from c.
class CheckpointRemovalTest : public ::testing::Test {
 protected:
  void SetUp() override {
    experiment::Experiment ended = store::MakeExperiment(1), child = store::MakeExperiment(2);
    ended.state = model::ExperimentState::kCompleted;
    child.warm_start = CheckpointId("c");
    std::vector<cluster::Change> changes;
    changes.emplace_back(cluster::PutExperiment{ended});
    changes.emplace_back(cluster::PutExperiment{child});
    changes.emplace_back(cluster::PutTrial{store::MakeTrial(1, 1)});
    for (const char* id : {"a", "b", "c"}) {
      changes.emplace_back(cluster::AddCheckpoint{store::MakeCheckpoint(id, 1, 10)});
    }
    ASSERT_TRUE(store_.Load().ok());
    Commit(changes);
  }
  void Commit(const std::vector<cluster::Change>& changes) {
    ASSERT_TRUE(store_.Commit(++sequence_, changes).ok());
  }

  store::FakeStore store_;
  int64_t sequence_ = 0;
};

TEST_F(CheckpointRemovalTest, RemovesAllFiles_WithPatternForAll) {
  const auto removal = PlanRemoval(store_, {"a", "b"}, {"x", "**"});
  ASSERT_TRUE(removal.ok()) << removal.status();
  EXPECT_THAT(removal->event.ids, ElementsAre(CheckpointId("a"), CheckpointId("b")));
  EXPECT_THAT(removal->event.trims, IsEmpty());
  EXPECT_THAT(removal->unmatched, IsEmpty());
}

TEST_F(CheckpointRemovalTest, RemovesNothing_WithoutPatterns) {
  const auto removal = PlanRemoval(store_, {"a"}, {});
  ASSERT_TRUE(removal.ok()) << removal.status();
  EXPECT_TRUE(removal->empty());
}

TEST_F(CheckpointRemovalTest, PassesPatternsToCheckpointsWithMatchingFiles) {
  Commit({cluster::DropCheckpoints{{CheckpointId("b")}}});
  const auto removal = PlanRemoval(store_, {"a", "b"}, {"state/*", "none"});
  ASSERT_TRUE(removal.ok()) << removal.status();
  EXPECT_THAT(removal->event.ids, IsEmpty());
  EXPECT_THAT(removal->event.trims,
              ElementsAre(cluster::TrimCheckpoint{CheckpointId("a"), {"state/*", "none"}}));
  EXPECT_THAT(removal->unmatched, ElementsAre(CheckpointId("b"))) << "its files are being deleted";
  const auto none = PlanRemoval(store_, {"a"}, {"none"});
  EXPECT_TRUE(none->empty());
  EXPECT_THAT(none->unmatched, ElementsAre(CheckpointId("a")));
}

TEST_F(CheckpointRemovalTest, RefusesRequest_WhenOneCheckpointIsInUse) {
  for (const model::Globs& globs : {model::Globs{"**"}, model::Globs{"state/*"}}) {
    const absl::Status refused = PlanRemoval(store_, {"a", "c"}, globs).status();
    EXPECT_TRUE(absl::IsInvalidArgument(refused)) << refused;
    EXPECT_THAT(std::string(refused.message()), HasSubstr("c by experiment 2;"));
  }
  EXPECT_TRUE(PlanRemoval(store_, {"A"}, {"**"}).ok()) << "UUIDs may be in upper case";
}

TEST_F(CheckpointRemovalTest, RefreshRemovesOnlyFilesThatAreMissingInStorage) {
  std::set<std::string> found = {"model.pt", "state/rank 0", "unknown"};
  const auto refresh = [&](const std::string& uuid) {
    return PlanRefresh(store_, {uuid}, [&](const auto&, const CheckpointId&) {
      return absl::StatusOr<std::set<std::string>>(found);
    });
  };
  EXPECT_TRUE(refresh("a")->empty()) << "all files exist";
  found = {"model.pt"};
  const auto some = refresh("a");
  ASSERT_TRUE(some.ok()) << some.status();
  EXPECT_THAT(some->event.ids, IsEmpty());
  EXPECT_THAT(some->event.trims,
              ElementsAre(cluster::TrimCheckpoint{CheckpointId("a"), {"state/rank 0"}}));
  found = {};
  EXPECT_THAT(refresh("a")->event.ids, ElementsAre(CheckpointId("a")));
  EXPECT_TRUE(absl::IsInvalidArgument(refresh("c").status())) << "in use";
  Commit({cluster::DropCheckpoints{{CheckpointId("b")}}});
  EXPECT_TRUE(refresh("b")->empty()) << "its files are being deleted";
}

TEST_F(CheckpointRemovalTest, RefreshSkipsCheckpoint_WhenItIsOnAnotherMachine) {
  experiment::Experiment outside = store::MakeExperiment(3);
  outside.unmanaged = true;
  auto config = std::make_shared<model::ExperimentConfig>(*outside.config);
  config->checkpoint_storage.type = "shared_fs";
  outside.config = std::move(config);
  Commit({cluster::PutExperiment{outside}, cluster::PutTrial{store::MakeTrial(3, 3)},
          cluster::AddCheckpoint{store::MakeCheckpoint("d", 3, 10)}});
  const auto refresh = PlanRefresh(store_, {"d"}, [](const auto&, const CheckpointId&) {
    return absl::StatusOr<std::set<std::string>>(std::set<std::string>());
  });
  ASSERT_TRUE(refresh.ok()) << refresh.status();
  EXPECT_TRUE(refresh->empty());
}

TEST_F(CheckpointRemovalTest, RefreshFails_WhenStorageCannotBeRead) {
  const auto refresh = PlanRefresh(store_, {"a"}, [](const auto&, const CheckpointId&) {
    return absl::StatusOr<std::set<std::string>>(absl::FailedPreconditionError("not mounted"));
  });
  EXPECT_TRUE(absl::IsFailedPrecondition(refresh.status()));
}

TEST_F(CheckpointRemovalTest, RejectsUnknownCheckpointsAndInvalidPatterns) {
  const std::string unknown = "00000000-0000-0000-0000-000000000009";
  EXPECT_TRUE(absl::IsNotFound(PlanRemoval(store_, {"a", unknown}, {"**"}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(PlanRemoval(store_, {"a", "x"}, {"**"}).status()));
  EXPECT_TRUE(absl::IsInvalidArgument(PlanRemoval(store_, {"a"}, {"../x"}).status()));
}

TEST_F(CheckpointRemovalTest, PlansRemovalOfAllButRemainingFiles) {
  const model::CheckpointRecord a = store_.GetCheckpoint(CheckpointId("a"))->checkpoint;
  cluster::DeleteCheckpoints event;
  ASSERT_TRUE(PlanRemovalExcept({{"model.pt", 1000}}, a, &event).ok());
  EXPECT_THAT(event.ids, IsEmpty());
  ASSERT_EQ(event.trims.size(), 1u);
  EXPECT_EQ(model::GetRemaining(a.resources, event.trims[0].globs),
            (model::Resources{{"model.pt", 1000}}));
  event = {};
  ASSERT_TRUE(PlanRemovalExcept(a.resources, a, &event).ok());
  EXPECT_TRUE(event.ids.empty() && event.trims.empty()) << "all files remain";
  ASSERT_TRUE(PlanRemovalExcept({}, a, &event).ok());
  EXPECT_THAT(event.ids, ElementsAre(CheckpointId("a")));
  const absl::Status refused = PlanRemovalExcept({{"other.pt", 1}}, a, &event);
  EXPECT_TRUE(absl::IsInvalidArgument(refused));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("has no file other.pt"));
}

}  // namespace
}  // namespace det::api
