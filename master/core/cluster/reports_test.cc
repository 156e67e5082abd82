// What running trials report.
#include <cmath>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "master/core/cluster/cluster.h"
#include "master/core/cluster/testing/fixture.h"

namespace det::cluster {
namespace {

using model::ExperimentId;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using ReportsTest = Fixture;

model::MetricReport Validation(int trial, int64_t steps, model::Value loss) {
  model::MetricReport report;
  report.trial = model::TrialId(trial);
  report.group = "validation";
  report.steps_completed = steps;
  report.metrics = model::Value::Object{{"loss", std::move(loss)}};
  return report;
}

TEST_F(ReportsTest, OnlyCheckpointsMoveTheResumePositionAndNeverBack) {
  AddAgent("a", 1);
  Create(MakeConfig());
  Start("1.1.0");
  Apply(ValidationReported{model::AllocationId("1.1.0"), Validation(1, 300, 0.5)});
  EXPECT_EQ(trial(1).steps_completed, 0);
  Apply(Checkpoint("1.1.0", 1, "c1", 100));
  Apply(Checkpoint("1.1.0", 1, "c2", 200));
  Apply(Checkpoint("1.1.0", 1, "c1", 100));
  EXPECT_EQ(trial(1).latest_checkpoint, model::CheckpointId("c2"));
  EXPECT_EQ(trial(1).steps_completed, 200);
}

TEST_F(ReportsTest, ADamagedCheckpointGivesItsPlaceToTheOneThatTheRunGoesOnFrom) {
  AddAgent("a", 1);
  Create(MakeConfig());
  Start("1.1.0");
  const model::AllocationId id("1.1.0");
  const auto damaged = [&](const char* what, const char* instead, int64_t steps) {
    return CheckpointDamaged{id,
                             model::TrialId(1),
                             model::CheckpointId(what),
                             "a file is missing",
                             model::CheckpointId(instead),
                             steps};
  };
  Apply(Checkpoint("1.1.0", 1, "c1", 100));
  Apply(Checkpoint("1.1.0", 1, "c2", 200));
  Apply(Checkpoint("1.1.0", 1, "c3", 300));
  // An older one is of no consequence to the trial.
  Apply(damaged("c1", "c2", 200));
  EXPECT_EQ(rows_.checkpoints.at(model::CheckpointId("c1")).state, model::CheckpointState::kError);
  EXPECT_EQ(trial(1).latest_checkpoint, model::CheckpointId("c3"));
  Apply(damaged("c3", "c2", 200));
  EXPECT_EQ(rows_.checkpoints.at(model::CheckpointId("c3")).state, model::CheckpointState::kError);
  EXPECT_EQ(trial(1).latest_checkpoint, model::CheckpointId("c2"));
  EXPECT_EQ(trial(1).steps_completed, 200);
  // What is saved on the way back to where it was counts.
  Apply(Checkpoint("1.1.0", 1, "c4", 250));
  EXPECT_EQ(trial(1).latest_checkpoint, model::CheckpointId("c4"));
  Restart();
  EXPECT_EQ(trial(1).steps_completed, 250);
}

TEST_F(ReportsTest, DamageIsTakenFromTheRunThatLivesAlone) {
  AddAgent("a", 1);
  Create(MakeConfig());
  Start("1.1.0");
  Apply(Checkpoint("1.1.0", 1, "c1", 100));
  CheckpointDamaged event{model::AllocationId("1.1.7"), model::TrialId(1),
                          model::CheckpointId("c1"),    "a file is missing",
                          model::CheckpointId("c0"),    50};
  EXPECT_THAT(Apply(event).changes, IsEmpty());
  event.allocation = model::AllocationId("1.1.0");
  event.trial = model::TrialId(2);
  EXPECT_THAT(Apply(event).changes, IsEmpty());
  EXPECT_EQ(trial(1).latest_checkpoint, model::CheckpointId("c1"));
}

TEST_F(ReportsTest, AKilledExperimentKeepsItsProgressAndTheRealExitCode) {
  AddAgent("a", 1);
  Create(MakeConfig());
  Start("1.1.0");
  Apply(ProgressReported{model::AllocationId("1.1.0"), model::TrialId(1), 0.25, "training"});
  Apply(KillExperiment{ExperimentId(1)});
  Exit("1.1.0", 137);
  EXPECT_EQ(experiment(1).progress, 0.25);
  EXPECT_EQ(allocation("1.1.0").exit_code, 137);
}

TEST_F(ReportsTest, ValidationsReachTheSearcherAndTheBestIsKept) {
  AddAgent("a", 1);
  Create(MakeConfig());
  Start("1.1.0");
  const model::AllocationId id("1.1.0");
  EXPECT_TRUE(Apply(ValidationReported{id, Validation(1, 10, 0.5)}).best_so_far);
  EXPECT_FALSE(Apply(ValidationReported{id, Validation(1, 20, 0.7)}).best_so_far);
  EXPECT_FALSE(Apply(ValidationReported{id, Validation(1, 30, std::nan(""))}).best_so_far);
  EXPECT_FALSE(Apply(ValidationReported{id, Validation(1, 35, "NaN")}).best_so_far);
  EXPECT_TRUE(Apply(ValidationReported{id, Validation(1, 40, 0.1)}).best_so_far);
  EXPECT_TRUE(Apply(ValidationReported{id, Validation(1, 40, 0.1)}).best_so_far) << "repeated";
  EXPECT_EQ(experiment(1).best_metric, 0.1);
  EXPECT_EQ(experiment(1).best_trial, model::TrialId(1));
  EXPECT_EQ(trial(1).latest_metric, 0.1);
}

TEST_F(ReportsTest, AMissingSearcherMetricIsSaidInTheLog) {
  AddAgent("a", 1);
  Create(MakeConfig());
  model::MetricReport report = Validation(1, 10, 0.5);
  report.metrics = model::Value::Object{{"accuracy", 0.5}, {"losses", 2}};
  Apply(ValidationReported{model::AllocationId("1.1.0"), report});
  ASSERT_FALSE(rows_.lines.empty());
  EXPECT_THAT(rows_.lines.back().text, HasSubstr("has no metric loss"));
  EXPECT_THAT(rows_.lines.back().text, HasSubstr("; it has accuracy, losses"));
}

TEST_F(ReportsTest, ASearcherMetricThatIsNoNumberIsSaidInTheLogOnce) {
  AddAgent("a", 1);
  Create(MakeConfig());
  Start("1.1.0");
  const model::AllocationId id("1.1.0");
  Apply(ValidationReported{id, Validation(1, 10, 0.5)});
  const size_t before = rows_.lines.size();
  for (const int steps : {20, 30}) Apply(ValidationReported{id, Validation(1, steps, "NaN")});
  ASSERT_EQ(rows_.lines.size(), before + 1);
  EXPECT_EQ(rows_.lines.back().text,
            "the validation after 20 batches has loss NaN, which is never the best; the trial goes "
            "on");
}

TEST_F(ReportsTest, StaleAndRepeatedFactsChangeNothing) {
  AddAgent("a", 1);
  Create(MakeConfig());
  Start("1.1.0");
  EXPECT_THAT(Start("1.1.0").changes, IsEmpty());
  EXPECT_THAT(Start("7.7.7").changes, IsEmpty());
  Exit("1.1.0", 1);
  Tick();
  EXPECT_THAT(Exit("1.1.0", 1).changes, IsEmpty());
  EXPECT_THAT(
      Apply(ValidationReported{model::AllocationId("1.1.0"), Validation(1, 10, 0.5)}).changes,
      IsEmpty());
  EXPECT_THAT(Apply(Checkpoint("1.1.0", 1, "late", 10)).changes, IsEmpty());
  EXPECT_THAT(Apply(AgentLost{model::AgentId("zz")}).changes, IsEmpty());
  EXPECT_EQ(trial(1).restarts, 1);
}

}  // namespace
}  // namespace det::cluster
