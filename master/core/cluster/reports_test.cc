// Reports of running trials.
#include <cmath>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "master/core/cluster/cluster.h"
#include "master/core/cluster/testing/fixture.h"

namespace det::cluster {
namespace {

using model::ExperimentId;
using ::testing::ElementsAre;
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

TEST_F(ReportsTest, MovesResumePositionOnlyForward) {
  AddAgent("a", 1);
  Create(MakeConfig());
  Start("1.1.1");
  Apply(ValidationsReported{model::AllocationId("1.1.1"), {Validation(1, 300, 0.5)}});
  EXPECT_EQ(trial(1).steps_completed, 0);
  Apply(Checkpoint("1.1.1", 1, "c1", 100));
  Apply(Checkpoint("1.1.1", 1, "c2", 200));
  Apply(Checkpoint("1.1.1", 1, "c1", 100));
  EXPECT_EQ(trial(1).latest_checkpoint, model::CheckpointId("c2"));
  EXPECT_EQ(trial(1).steps_completed, 200);
}

TEST_F(ReportsTest, ReplacesDamagedCheckpoint) {
  AddAgent("a", 1);
  Create(MakeConfig());
  Start("1.1.1");
  const model::AllocationId id("1.1.1");
  const auto damaged = [&](const char* what, const char* instead, int64_t steps) {
    return CheckpointDamaged{id,
                             model::TrialId(1),
                             model::CheckpointId(what),
                             "a file is missing",
                             model::CheckpointId(instead),
                             steps};
  };
  Apply(Checkpoint("1.1.1", 1, "c1", 100));
  Apply(Checkpoint("1.1.1", 1, "c2", 200));
  Apply(Checkpoint("1.1.1", 1, "c3", 300));
  // An older checkpoint does not change the trial.
  Apply(damaged("c1", "c2", 200));
  EXPECT_EQ(rows_.checkpoints.at(model::CheckpointId("c1")).state, model::CheckpointState::kError);
  EXPECT_EQ(trial(1).latest_checkpoint, model::CheckpointId("c3"));
  Apply(damaged("c3", "c2", 200));
  EXPECT_EQ(rows_.checkpoints.at(model::CheckpointId("c3")).state, model::CheckpointState::kError);
  EXPECT_EQ(trial(1).latest_checkpoint, model::CheckpointId("c2"));
  EXPECT_EQ(trial(1).steps_completed, 200);
  // Checkpoints of repeated steps count.
  Apply(Checkpoint("1.1.1", 1, "c4", 250));
  EXPECT_EQ(trial(1).latest_checkpoint, model::CheckpointId("c4"));
  Restart();
  EXPECT_EQ(trial(1).steps_completed, 250);
}

TEST_F(ReportsTest, IgnoresDamageReportsOfOldRuns) {
  AddAgent("a", 1);
  Create(MakeConfig());
  Start("1.1.1");
  Apply(Checkpoint("1.1.1", 1, "c1", 100));
  CheckpointDamaged event{model::AllocationId("1.1.8"), model::TrialId(1),
                          model::CheckpointId("c1"),    "a file is missing",
                          model::CheckpointId("c0"),    50};
  EXPECT_THAT(Apply(event).changes, IsEmpty());
  event.allocation = model::AllocationId("1.1.1");
  event.trial = model::TrialId(2);
  EXPECT_THAT(Apply(event).changes, IsEmpty());
  EXPECT_EQ(trial(1).latest_checkpoint, model::CheckpointId("c1"));
}

TEST_F(ReportsTest, KeepsProgressAndExitCode_WhenKilled) {
  AddAgent("a", 1);
  Create(MakeConfig());
  Start("1.1.1");
  Apply(ProgressReported{model::AllocationId("1.1.1"), model::TrialId(1), 0.25, "training"});
  Apply(KillExperiment{ExperimentId(1)});
  Exit("1.1.1", 137);
  EXPECT_EQ(experiment(1).progress, 0.25);
  EXPECT_EQ(allocation("1.1.1").exit_code, 137);
}

TEST_F(ReportsTest, PassesValidationsToSearcher) {
  AddAgent("a", 1);
  Create(MakeConfig());
  Start("1.1.1");
  const model::AllocationId id("1.1.1");
  EXPECT_TRUE(Apply(ValidationsReported{id, {Validation(1, 10, 0.5)}}).best_so_far);
  EXPECT_FALSE(Apply(ValidationsReported{id, {Validation(1, 20, 0.7)}}).best_so_far);
  EXPECT_FALSE(Apply(ValidationsReported{id, {Validation(1, 30, std::nan(""))}}).best_so_far);
  EXPECT_FALSE(Apply(ValidationsReported{id, {Validation(1, 35, "NaN")}}).best_so_far);
  EXPECT_TRUE(Apply(ValidationsReported{id, {Validation(1, 40, 0.1)}}).best_so_far);
  EXPECT_TRUE(Apply(ValidationsReported{id, {Validation(1, 40, 0.1)}}).best_so_far) << "repeated";
  EXPECT_EQ(experiment(1).best_metric, 0.1);
  EXPECT_EQ(experiment(1).best_trial, model::TrialId(1));
  EXPECT_EQ(trial(1).latest_metric, 0.1);
}

TEST_F(ReportsTest, AppliesAllValidationsOfReportInOrder) {
  AddAgent("a", 1);
  Create(MakeConfig());
  Start("1.1.1");
  const model::AllocationId id("1.1.1");
  const std::vector<model::MetricReport> reports = {
      Validation(1, 10, 0.5), Validation(1, 20, 0.1), Validation(1, 30, "NaN"),
      Validation(2, 35, 0.01), Validation(1, 40, 0.7)};
  const Outcome together = Apply(ValidationsReported{id, reports});
  EXPECT_TRUE(together.best_so_far) << "the second is the best";
  EXPECT_EQ(experiment(1).best_metric, 0.1);
  EXPECT_EQ(trial(1).best_steps, 20);
  EXPECT_EQ(trial(1).latest_metric, 0.7);
  std::vector<int64_t> stored;
  for (const Change& change : together.changes) {
    if (const auto* added = std::get_if<AddMetrics>(&change)) {
      stored.push_back(added->report.steps_completed);
    }
  }
  EXPECT_THAT(stored, ElementsAre(10, 20, 30, 40)) << "without the one of another trial";
  EXPECT_TRUE(Apply(ValidationsReported{id, {Validation(1, 20, 0.1)}}).best_so_far) << "repeated";
  EXPECT_FALSE(
      Apply(ValidationsReported{id, {Validation(1, 50, 0.6), Validation(1, 60, 0.5)}}).best_so_far);
}

TEST_F(ReportsTest, AppliesValidationsTogetherAsOneByOne) {
  const model::AllocationId id("1.1.1");
  std::vector<model::MetricReport> reports;
  for (int i = 1; i <= 5; ++i) reports.push_back(Validation(1, i * 10, std::abs(i - 3) + 0.5));
  std::vector<Image> images;
  for (const bool together : {true, false}) {
    cluster_ = Cluster{Settings{.cluster_id = "test"}};
    rows_ = {};
    now_ = absl::FromUnixSeconds(1'000'000);
    AddAgent("a", 1);
    Create(MakeConfig());
    Start("1.1.1");
    if (together) {
      Apply(ValidationsReported{id, reports});
    } else {
      for (const model::MetricReport& report : reports) Apply(ValidationsReported{id, {report}});
    }
    images.push_back(cluster_.Dump());
  }
  EXPECT_EQ(images[0].experiments, images[1].experiments);
  EXPECT_EQ(images[0].trials, images[1].trials);
  EXPECT_EQ(images[0].allocations, images[1].allocations);
}

// The API adds the second report of a step to the first one.
TEST_F(ReportsTest, UsesMergedValidationOnce) {
  AddAgent("a", 1);
  Create(MakeConfig());
  Start("1.1.1");
  const model::AllocationId id("1.1.1");
  model::MetricReport part = Validation(1, 10, 0.5);
  part.metrics = model::Value::Object{{"accuracy", 0.25}};
  EXPECT_FALSE(Apply(ValidationsReported{id, {part}}).best_so_far);
  model::MetricReport merged = Validation(1, 10, 0.5);
  (*merged.metrics.MutableObject())["accuracy"] = 0.25;
  EXPECT_TRUE(Apply(ValidationsReported{id, {merged}}).best_so_far);
  const Image before = cluster_.Dump();
  (*merged.metrics.MutableObject())["top5"] = 0.75;
  EXPECT_TRUE(Apply(ValidationsReported{id, {merged}}).best_so_far);
  const Image after = cluster_.Dump();
  EXPECT_EQ(after.experiments, before.experiments);
  EXPECT_EQ(after.trials, before.trials);
  EXPECT_EQ(trial(1).best_steps, 10);
}

TEST_F(ReportsTest, StoresSecondReportOfLatestCheckpoint) {
  AddAgent("a", 1);
  Create(MakeConfig());
  Start("1.1.1");
  CheckpointReported report = Checkpoint("1.1.1", 1, "c1", 100);
  Apply(report);
  report.checkpoint.metadata = model::Value::Object{{"note", "second"}};
  const Outcome again = Apply(report);
  ASSERT_EQ(again.changes.size(), 1u);
  EXPECT_EQ(std::get<AddCheckpoint>(again.changes[0]).checkpoint.metadata,
            report.checkpoint.metadata);
}

TEST_F(ReportsTest, LogsMissingSearcherMetric) {
  AddAgent("a", 1);
  Create(MakeConfig());
  model::MetricReport report = Validation(1, 10, 0.5);
  report.metrics = model::Value::Object{{"accuracy", 0.5}, {"losses", 2}};
  Apply(ValidationsReported{model::AllocationId("1.1.1"), {report}});
  ASSERT_FALSE(rows_.lines.empty());
  EXPECT_THAT(rows_.lines.back().text, HasSubstr("has no metric loss"));
  EXPECT_THAT(rows_.lines.back().text, HasSubstr("; it has accuracy, losses"));
}

TEST_F(ReportsTest, LogsNaNMetricOnce) {
  AddAgent("a", 1);
  Create(MakeConfig());
  Start("1.1.1");
  const model::AllocationId id("1.1.1");
  Apply(ValidationsReported{id, {Validation(1, 10, 0.5)}});
  const size_t before = rows_.lines.size();
  for (const int steps : {20, 30}) Apply(ValidationsReported{id, {Validation(1, steps, "NaN")}});
  ASSERT_EQ(rows_.lines.size(), before + 1);
  EXPECT_EQ(rows_.lines.back().text,
            "the validation after 20 batches has loss NaN, which is never the best; the trial "
            "continues");
}

TEST_F(ReportsTest, IgnoresStaleAndRepeatedFacts) {
  AddAgent("a", 1);
  Create(MakeConfig());
  Start("1.1.1");
  EXPECT_THAT(Start("1.1.1").changes, IsEmpty());
  EXPECT_THAT(Start("7.7.7").changes, IsEmpty());
  Exit("1.1.1", 1);
  Tick();
  EXPECT_THAT(Exit("1.1.1", 1).changes, IsEmpty());
  EXPECT_THAT(
      Apply(ValidationsReported{model::AllocationId("1.1.1"), {Validation(1, 10, 0.5)}}).changes,
      IsEmpty());
  EXPECT_THAT(Apply(Checkpoint("1.1.1", 1, "late", 10)).changes, IsEmpty());
  EXPECT_THAT(Apply(AgentLost{model::AgentId("zz")}).changes, IsEmpty());
  EXPECT_EQ(trial(1).restarts, 1);
}

}  // namespace
}  // namespace det::cluster
