#include "master/core/experiment/detached.h"

#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace det::experiment {
namespace {

using model::ExperimentState;
using model::TrialState;

const absl::Time kNow = absl::FromUnixSeconds(1'700'000'000);

Trial MakeTrial(TrialState state) {
  Trial trial;
  trial.id = model::TrialId(7);
  trial.state = state;
  return trial;
}

Experiment MakeExperiment() {
  Experiment experiment;
  experiment.state = ExperimentState::kPaused;
  model::ExperimentConfig config;
  config.searcher.smaller_is_better = true;
  experiment.config = std::make_shared<const model::ExperimentConfig>(config);
  return experiment;
}

TEST(DetachedTest, CountsAttempts) {
  Trial trial = MakeTrial(TrialState::kPaused);
  ASSERT_TRUE(StartAttempt(trial, false).ok());
  EXPECT_EQ(trial.run_id, 1);
  EXPECT_EQ(trial.state, TrialState::kRunning);
  EXPECT_TRUE(absl::IsFailedPrecondition(StartAttempt(trial, false)));
  EXPECT_EQ(trial.run_id, 1);
  ASSERT_TRUE(ReportState(trial, TrialState::kError, kNow).ok());
  ASSERT_TRUE(StartAttempt(trial, true).ok());
  EXPECT_EQ(trial.run_id, 2);
  EXPECT_EQ(trial.ended_at, std::nullopt);
}

TEST(DetachedTest, SetsEnd_WhenReportedStateIsTerminal) {
  Trial trial = MakeTrial(TrialState::kRunning);
  ASSERT_TRUE(ReportState(trial, TrialState::kCompleted, kNow).ok());
  EXPECT_EQ(trial.ended_at, kNow);
  ASSERT_TRUE(ReportState(trial, TrialState::kCompleted, kNow + absl::Seconds(1)).ok());
  EXPECT_EQ(trial.ended_at, kNow) << "a repeated report";
  ASSERT_TRUE(ReportState(trial, TrialState::kRunning, kNow).ok());
  EXPECT_EQ(trial.ended_at, std::nullopt);
  EXPECT_TRUE(absl::IsInvalidArgument(ReportState(trial, TrialState::kQueued, kNow)));
  EXPECT_TRUE(absl::IsInvalidArgument(ReportState(trial, TrialState::kStopping, kNow)));
}

TEST(DetachedTest, RevivesOnlyLostTrials) {
  Trial trial = MakeTrial(TrialState::kRunning);
  ASSERT_TRUE(EndLost(trial, kNow));
  EXPECT_EQ(trial.state, TrialState::kError);
  EXPECT_EQ(trial.ended_at, kNow);
  EXPECT_FALSE(EndLost(trial, kNow));
  EXPECT_TRUE(WasLost(trial));
  ASSERT_TRUE(ReviveLost(trial));
  EXPECT_EQ(trial.state, TrialState::kRunning);
  ASSERT_TRUE(ReportState(trial, TrialState::kError, kNow).ok());
  EXPECT_FALSE(ReviveLost(trial));
}

TEST(DetachedTest, TakesMostAdvancedStateOfTrials) {
  struct Case {
    std::vector<TrialState> trials;
    ExperimentState expected;
  };
  const Case kCases[] = {
      {{TrialState::kPaused}, ExperimentState::kPaused},
      {{TrialState::kPaused, TrialState::kCanceled}, ExperimentState::kCanceled},
      {{TrialState::kCanceled, TrialState::kError}, ExperimentState::kError},
      {{TrialState::kError, TrialState::kCompleted}, ExperimentState::kCompleted},
      {{TrialState::kCompleted, TrialState::kRunning}, ExperimentState::kActive},
  };
  for (const Case& each : kCases) {
    Experiment experiment = MakeExperiment();
    std::vector<TrialsInState> trials;
    absl::Time end = kNow;
    for (const TrialState state : each.trials) {
      end += absl::Seconds(1);
      trials.push_back({state, model::IsTerminal(state) ? std::optional(end) : std::nullopt});
    }
    const bool changed = FollowTrials(experiment, trials);
    EXPECT_EQ(changed, each.expected != ExperimentState::kPaused);
    EXPECT_EQ(experiment.state, each.expected);
    EXPECT_EQ(experiment.ended_at,
              model::IsTerminal(each.expected) ? std::optional(end) : std::nullopt);
    EXPECT_EQ(experiment.progress, each.expected == ExperimentState::kCompleted ? 1 : 0);
    EXPECT_FALSE(FollowTrials(experiment, trials)) << "nothing has changed";
  }
  Experiment empty = MakeExperiment();
  EXPECT_FALSE(FollowTrials(empty, {}));
}

TEST(DetachedTest, RecordsBestMetric) {
  Experiment experiment = MakeExperiment();
  Trial trial = MakeTrial(TrialState::kRunning);
  for (const double metric :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
        -std::numeric_limits<double>::infinity()}) {
    EXPECT_FALSE(RecordMetric(experiment, trial, 5, metric)) << metric;
  }
  EXPECT_TRUE(RecordMetric(experiment, trial, 10, 0.5));
  EXPECT_FALSE(RecordMetric(experiment, trial, 20, 0.75));
  EXPECT_EQ(trial.best_metric, 0.5);
  EXPECT_EQ(trial.best_steps, 10);
  EXPECT_EQ(trial.latest_metric, 0.75);
  EXPECT_EQ(experiment.best_trial, trial.id);
}

}  // namespace
}  // namespace det::experiment
