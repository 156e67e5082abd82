#include "master/api/checkpoints/checkpoint_removal.h"

#include <string>
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

TEST_F(CheckpointRemovalTest, RemovesAllFiles_WithoutPatternsOrWithPatternForAll) {
  for (const model::Globs& globs : {model::Globs{}, model::Globs{"x", "**"}}) {
    const auto removal = PlanRemoval(store_, {"a", "c"}, globs);
    ASSERT_TRUE(removal.ok()) << removal.status();
    EXPECT_THAT(removal->event.ids, ElementsAre(CheckpointId("a")));
    EXPECT_THAT(removal->event.trims, IsEmpty());
    EXPECT_THAT(removal->kept,
                ElementsAre(store::HeldCheckpoint{CheckpointId("c"), "experiment 2"}));
    EXPECT_THAT(removal->unmatched, IsEmpty());
  }
}

TEST_F(CheckpointRemovalTest, PassesPatternsToCheckpointsWithMatchingFiles) {
  Commit({cluster::DropCheckpoints{{CheckpointId("b")}}});
  const auto removal = PlanRemoval(store_, {"a", "b", "c"}, {"state/*", "none"});
  ASSERT_TRUE(removal.ok()) << removal.status();
  EXPECT_THAT(removal->event.ids, IsEmpty());
  EXPECT_THAT(removal->event.trims,
              ElementsAre(cluster::TrimCheckpoint{CheckpointId("a"), {"state/*", "none"}}));
  EXPECT_THAT(removal->kept, ElementsAre(store::HeldCheckpoint{CheckpointId("c"), "experiment 2"}));
  EXPECT_THAT(removal->unmatched, ElementsAre(CheckpointId("b"))) << "its files are being deleted";
  const auto none = PlanRemoval(store_, {"a"}, {"none"});
  EXPECT_TRUE(none->empty());
  EXPECT_THAT(none->unmatched, ElementsAre(CheckpointId("a")));
}

TEST_F(CheckpointRemovalTest, RejectsUnknownCheckpointsAndInvalidPatterns) {
  EXPECT_TRUE(absl::IsNotFound(PlanRemoval(store_, {"a", "x"}, {}).status()));
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
