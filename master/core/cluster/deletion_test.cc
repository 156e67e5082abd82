// Archiving, deletion and retention of ended experiments.
#include <string>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "master/core/cluster/cluster.h"
#include "master/core/cluster/testing/fixture.h"

namespace det::cluster {
namespace {

using model::CheckpointId;
using model::ExperimentId;
using model::ExperimentState;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

template <class T>
std::vector<T> Changes(const Outcome& outcome) {
  std::vector<T> found;
  for (const Change& change : outcome.changes) {
    if (const T* one = std::get_if<T>(&change)) found.push_back(*one);
  }
  return found;
}

class DeletionTest : public Fixture {
 protected:
  // An ended experiment with the checkpoint c1.
  void RunToTheEnd() {
    AddAgent("a", 1);
    Create(MakeConfig());
    Start("1.1.1");
    Apply(Checkpoint("1.1.1", 1, "c1", 10));
    const Outcome outcome = Exit("1.1.1", 0);
    ASSERT_EQ(experiment(1).state, ExperimentState::kCompleted);
    EXPECT_THAT(GetEffects<CollectGarbageSoon>(outcome), SizeIs(1));
  }
  ContinueExperiment Again() {
    ContinueExperiment event;
    event.rows.experiments.push_back(experiment(1));
    event.rows.trials.push_back(trial(1));
    event.rows.searchers = rows_.searchers;
    return event;
  }
  CreateExperiment New() {
    CreateExperiment event;
    event.config = MakeConfig();
    return event;
  }
};

TEST_F(DeletionTest, RejectsDeletionOfRunningExperiment) {
  AddAgent("a", 1);
  Create(MakeConfig());
  for (const Event& event :
       {Event(ArchiveExperiment{ExperimentId(1)}), Event(DeleteExperiment{ExperimentId(1)})}) {
    const absl::Status rejected = ExpectRejection(event);
    EXPECT_TRUE(absl::IsFailedPrecondition(rejected));
    EXPECT_THAT(std::string(rejected.message()), HasSubstr("experiment 1 is ACTIVE"));
    EXPECT_THAT(std::string(rejected.message()), HasSubstr("kill it first"));
  }
  EXPECT_TRUE(absl::IsAborted(
      ExpectRejection(RetainCheckpoints{ExperimentId(1), {}, {CheckpointId("c1")}})));
}

TEST_F(DeletionTest, RejectsUseOfExperimentBeingDeleted) {
  RunToTheEnd();
  const ContinueExperiment again = Again();  // read before the deletion
  for (int i = 0; i < 2; ++i) {
    const Outcome outcome = Apply(DeleteExperiment{ExperimentId(1)});
    EXPECT_THAT(Changes<MarkDeleting>(outcome), SizeIs(1)) << "idempotent";
    EXPECT_THAT(GetEffects<CollectGarbageSoon>(outcome), SizeIs(1));
  }
  EXPECT_TRUE(absl::IsFailedPrecondition(ExpectRejection(again)));
  EXPECT_TRUE(absl::IsFailedPrecondition(ExpectRejection(SetRetention{ExperimentId(1), {}})));
  CreateExperiment fork = New();
  fork.forked_from = ExperimentId(1);
  EXPECT_THAT(std::string(ExpectRejection(fork).message()),
              HasSubstr("experiment 1 is being deleted"));
  CreateExperiment warm = New();
  warm.warm_start = CheckpointId("c1");
  warm.warm_start_from = ExperimentId(1);
  EXPECT_THAT(std::string(ExpectRejection(warm).message()),
              HasSubstr("experiment 1 is being deleted"));
  // Rows that are read after a restart have the state.
  Restart();
  EXPECT_TRUE(absl::IsFailedPrecondition(ExpectRejection(Again())));
}

TEST_F(DeletionTest, RejectsUseOfCheckpointBeingDeleted) {
  RunToTheEnd();
  const ContinueExperiment again = Again();
  const Outcome outcome = Apply(RetainCheckpoints{ExperimentId(1), {}, {CheckpointId("c1")}});
  EXPECT_EQ(Changes<ApplyRetention>(outcome).at(0),
            (ApplyRetention{ExperimentId(1), {}, {CheckpointId("c1")}}));
  EXPECT_TRUE(absl::IsAborted(ExpectRejection(again)));
  CreateExperiment warm = New();
  warm.warm_start = CheckpointId("c1");
  EXPECT_THAT(std::string(ExpectRejection(warm).message()),
              HasSubstr("checkpoint c1 is being deleted"));
  EXPECT_THAT(GetEffects<CollectGarbageSoon>(Apply(DeleteCheckpoints{{CheckpointId("c2")}})),
              SizeIs(1));
}

TEST_F(DeletionTest, RejectsUseOfPartiallyDeletedCheckpoint) {
  RunToTheEnd();
  const ContinueExperiment again = Again();
  const TrimCheckpoint trim{CheckpointId("c1"), {"opt*"}};
  const Outcome outcome = Apply(DeleteCheckpoints{{}, {trim}});
  EXPECT_THAT(Changes<TrimCheckpoint>(outcome), ElementsAre(trim)) << "as requested";
  EXPECT_THAT(Changes<DropCheckpoints>(outcome), IsEmpty());
  EXPECT_THAT(GetEffects<CollectGarbageSoon>(outcome), SizeIs(1));
  EXPECT_TRUE(absl::IsAborted(ExpectRejection(again)));
  CreateExperiment warm = New();
  warm.warm_start = CheckpointId("c1");
  EXPECT_THAT(std::string(ExpectRejection(warm).message()),
              HasSubstr("checkpoint c1 is being deleted"));
}

TEST_F(DeletionTest, DefersRetention_WhenExperimentIsContinued) {
  RunToTheEnd();
  Apply(Again());
  EXPECT_TRUE(absl::IsAborted(
      ExpectRejection(RetainCheckpoints{ExperimentId(1), {}, {CheckpointId("c1")}})));
}

TEST_F(DeletionTest, ChangesRetentionPolicyOfRunningExperiment) {
  AddAgent("a", 1);
  Create(MakeConfig());
  const Outcome outcome = Apply(SetRetention{ExperimentId(1), {3, 4, 5}});
  EXPECT_THAT(Changes<PutRetention>(outcome), SizeIs(1));
  Restart();
  EXPECT_EQ(experiment::GetRetentionPolicy(
                cluster_.FindExperiment(ExperimentId(1))->config->checkpoint_storage),
            (experiment::RetentionPolicy{3, 4, 5}));
}

TEST_F(DeletionTest, CollectsGarbage_AtStart) {
  int collections = 0;
  for (const Effect& effect : cluster_.Regenerate()) {
    collections += std::holds_alternative<CollectGarbageSoon>(effect) ? 1 : 0;
  }
  EXPECT_EQ(collections, 1);
}

}  // namespace
}  // namespace det::cluster
