#include "master/core/searcher/simulate.h"

#include <cmath>
#include <limits>

#include "master/core/searcher/testing.h"
#include <gtest/gtest.h>

namespace det::searcher {
namespace {

double X(const model::Hparams& hparams) { return *hparams.at("x").AsDouble(); }

std::vector<double> ByX(const model::Hparams& hparams, int64_t) { return {X(hparams)}; }

TEST(SimulateTest, TrainsTrialsInParallel) {
  const auto simulation = Simulate(TestConfig("random", 10, 5, 0), ByX, {.slots = 2});
  ASSERT_TRUE(simulation.ok()) << simulation.status();
  EXPECT_EQ(simulation->trials.size(), 5u);
  EXPECT_EQ(simulation->units, 50);
  EXPECT_EQ(simulation->time, 30) << "two at a time, then one";
  for (const SimulatedTrial& trial : simulation->trials) {
    EXPECT_EQ(trial.length, 10);
    EXPECT_EQ(trial.metrics, (std::vector<double>{X(trial.hparams)}));
  }
}

TEST(SimulateTest, RunsAllTrials_WithoutSlotLimit) {
  EXPECT_EQ(Simulate(TestConfig("random", 10, 6, 3), ByX)->time, 20);
  EXPECT_EQ(Simulate(TestConfig("random", 10, 6, 0), ByX)->time, 10);
}

TEST(SimulateTest, ImprovesBestValueWithUnits) {
  for (const bool smaller : {true, false}) {
    model::ExperimentConfig config = TestConfig("random", 10, 30, 0);
    config.searcher.smaller_is_better = smaller;
    const auto simulation = Simulate(config, ByX, {.slots = 1, .report_every = 5});
    ASSERT_TRUE(simulation.ok()) << simulation.status();
    ASSERT_GE(simulation->best.size(), 2u);
    EXPECT_EQ(simulation->best.front().units, 5);
    for (size_t i = 1; i < simulation->best.size(); ++i) {
      EXPECT_GT(simulation->best[i].units, simulation->best[i - 1].units);
      EXPECT_EQ(simulation->best[i].metric < simulation->best[i - 1].metric, smaller);
    }
    for (const SimulatedTrial& trial : simulation->trials) {
      const double best = simulation->best.back().metric;
      EXPECT_TRUE(smaller ? best <= X(trial.hparams) : best >= X(trial.hparams));
    }
  }
}

TEST(SimulateTest, EvaluatesCurveAtReports) {
  std::vector<int64_t> lengths;
  const auto curve = [&lengths](const model::Hparams&, int64_t length) {
    lengths.push_back(length);
    return std::vector<double>{1.0};
  };
  ASSERT_TRUE(Simulate(TestConfig("single", 10, 1, 1), curve, {.report_every = 4}).ok());
  EXPECT_EQ(lengths, (std::vector<int64_t>{4, 8, 10}));
  lengths.clear();
  model::ExperimentConfig config = TestConfig("asha", 9, 1, 1);
  config.searcher.num_rungs = 3;
  config.searcher.divisor = 3;
  ASSERT_TRUE(Simulate(config, curve).ok());
  EXPECT_EQ(lengths, (std::vector<int64_t>{1, 3, 9})) << "at the rungs";
}

TEST(SimulateTest, IgnoresNonFiniteAndMissingMetrics) {
  for (const std::vector<double>& metrics :
       {std::vector<double>{}, {std::nan("")}, {-std::numeric_limits<double>::infinity()}}) {
    const auto curve = [&metrics](const model::Hparams&, int64_t) { return metrics; };
    const auto simulation = Simulate(TestConfig("adaptive_asha", 100, 20, 4), curve);
    ASSERT_TRUE(simulation.ok()) << simulation.status();
    EXPECT_EQ(simulation->trials.size(), 20u);
    EXPECT_TRUE(simulation->best.empty());
  }
}

TEST(SimulateTest, ResumesPausedTrials) {
  model::ExperimentConfig config = TestConfig("asha", 64, 20, 2);
  config.searcher.stop_once = false;
  const auto simulation = Simulate(config, ByX);
  ASSERT_TRUE(simulation.ok()) << simulation.status();
  int64_t units = 0;
  for (const SimulatedTrial& trial : simulation->trials) units += trial.length;
  EXPECT_EQ(simulation->units, units) << "no unit is trained twice";
}

TEST(SimulateTest, IsDeterministic) {
  for (const char* method : {"random", "asha", "adaptive_asha", "hyperband"}) {
    const model::ExperimentConfig config = TestConfig(method, 64, 30, 5);
    const auto one = Simulate(config, ByX, {.slots = 3});
    const auto two = Simulate(config, ByX, {.slots = 3});
    ASSERT_TRUE(one.ok() && two.ok()) << method;
    EXPECT_EQ(one->units, two->units);
    ASSERT_EQ(one->trials.size(), two->trials.size());
    for (size_t i = 0; i < one->trials.size(); ++i) {
      EXPECT_EQ(one->trials[i].request, two->trials[i].request);
      EXPECT_EQ(one->trials[i].length, two->trials[i].length);
    }
  }
}

TEST(SimulateTest, HalvingNeedsFewerUnitsThanRandom) {
  const LearningCurve curve = [](const model::Hparams& h, int64_t length) {
    return std::vector<double>{X(h) + 1.0 / static_cast<double>(length)};
  };
  for (const char* method : {"asha", "adaptive_asha"}) {
    const auto random = Simulate(TestConfig("random", 256, 64, 8), curve);
    const auto halved = Simulate(TestConfig(method, 256, 64, 8), curve);
    ASSERT_TRUE(random.ok() && halved.ok());
    EXPECT_LT(halved->best.back().metric, random->best.back().metric + 0.05) << method;
    EXPECT_LT(halved->units, random->units / 2) << method;
  }
}

TEST(SimulateTest, EndsWhenCallbackReturnsFalse) {
  int calls = 0;
  const auto given_up = Simulate(TestConfig("random", 1000, 64, 8), ByX,
                                 {.keep_going = [&calls] { return ++calls < 100; }});
  EXPECT_EQ(given_up.status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(calls, 100);
}

TEST(SimulateTest, RejectsSearchWithoutEnd) {
  model::ExperimentConfig config = TestConfig("random", 10, 5, 1);
  config.searcher.max_length.reset();
  EXPECT_EQ(Simulate(config, ByX).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_FALSE(Simulate(TestConfig("none", 10, 5, 1), ByX).ok());
}

}  // namespace
}  // namespace det::searcher
