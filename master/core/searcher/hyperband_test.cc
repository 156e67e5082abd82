#include "master/core/searcher/hyperband.h"

#include <map>
#include <numeric>
#include <string>

#include "master/core/searcher/preview.h"
#include "master/core/searcher/search_method_contract.h"
#include "master/core/searcher/simulate.h"
#include "master/core/searcher/testing.h"
#include <gtest/gtest.h>

namespace det::searcher {
namespace {

using Numbers = std::vector<int64_t>;

model::ExperimentConfig Config(int64_t max_length, double divisor, int64_t trials,
                               int64_t concurrent) {
  model::ExperimentConfig config = TestConfig("hyperband", max_length, trials, concurrent);
  config.searcher.divisor = divisor;
  return config;
}

model::ExperimentConfig SampledBy(const std::string& sampler, model::ExperimentConfig config) {
  config.searcher.sampler = sampler;
  return config;
}

INSTANTIATE_TEST_SUITE_P(
    Hyperband, SearchMethodContract,
    ::testing::Values(ContractCase{"full", Config(9, 3, 0, 4), 17 + 3 * 16},
                      ContractCase{"full_unlimited", Config(8, 2, 0, 0), 24 + 4 * 16},
                      ContractCase{"full_tpe", SampledBy("tpe", Config(9, 3, 0, 4)), 17 + 3 * 16},
                      ContractCase{"capped", Config(81, 3, 12, 3), 12 + 5 * 16},
                      ContractCase{"one_slot", Config(16, 4, 10, 1), 10 + 3 * 16},
                      ContractCase{"one_length", Config(1, 4, 0, 16), 1 + 16},
                      ContractCase{"one_trial", Config(81, 3, 1, 4), 1 + 2 * 16},
                      ContractCase{"fewer_trials_than_brackets", Config(81, 3, 2, 2), 2 + 2 * 16}),
    [](const auto& info) { return info.param.name; });

TEST(HyperbandTest, MatchesTableOfPaper) {
  EXPECT_EQ(HyperbandTrials(4, 3), (Numbers{81, 34, 15, 8, 5}));
  const Plan plan = Searcher::Make(Config(81, 3, 0, 16))->Preview();
  // The paper counts the trials that reach a length; the plan counts those that end at it.
  EXPECT_EQ(plan[0], (std::vector<PlannedTrials>{{54, 1}, {18, 3}, {6, 9}, {2, 27}, {1, 81}}));
  EXPECT_EQ(plan[1], (std::vector<PlannedTrials>{{23, 3}, {8, 9}, {2, 27}, {1, 81}}));
  EXPECT_EQ(plan[2], (std::vector<PlannedTrials>{{10, 9}, {4, 27}, {1, 81}}));
  EXPECT_EQ(plan[3], (std::vector<PlannedTrials>{{6, 27}, {2, 81}}));
  EXPECT_EQ(plan[4], (std::vector<PlannedTrials>{{5, 81}}));
}

TEST(HyperbandTest, RespectsMaxRungsAndMaxTrials) {
  model::ExperimentConfig config = Config(1000, 10, 0, 16);
  EXPECT_EQ(Searcher::Make(config)->Brackets().size(), 4u) << "1000 is exactly 10^3";
  config.searcher.max_rungs = 2;
  EXPECT_EQ(Searcher::Make(config)->Brackets().size(), 2u);
  EXPECT_EQ(SumPlan(Searcher::Make(Config(81, 3, 40, 16))->Preview()).trials, 40);
  EXPECT_EQ(SumPlan(Searcher::Make(Config(81, 3, 9999, 16))->Preview()).trials, 143);
  config = Config(1'000'000'000, 4, 0, 16);
  config.searcher.max_rungs = 64;
  EXPECT_EQ(Searcher::Make(config).status().message(),
            "searcher.max_trials: hyperband with 15 rungs creates more than a million trials; set "
            "max_trials, or lower max_rungs");
  config.searcher.max_trials = 500;
  EXPECT_TRUE(Searcher::Make(config).ok());
}

TEST(HyperbandTest, RunsOneTrial_WithMaxTrialsOne) {
  const Plan plan = Searcher::Make(Config(81, 3, 1, 16))->Preview();
  EXPECT_EQ(plan, (Plan{{{1, 81}}})) << "1 is not the full set";
}

TEST(HyperbandTest, StartsNextBracketWhileRungWaits) {
  // Brackets: ceil(2 * 2 / 2) = 2 trials at lengths 1 and 2; ceil(2 / 1) = 2 trials at length 2.
  Searcher searcher = *Searcher::Make(Config(2, 2, 0, 2));
  EXPECT_EQ(Describe(searcher.Start()), "create 0-1, create 0-2");
  EXPECT_EQ(Describe(searcher.Handle(MakeValidation("0-1", 1, 0.5))), "pause 0-1, create 1-1");
  EXPECT_EQ(Describe(searcher.Handle(MakeValidation("0-2", 1, 0.6))), "stop 0-2")
      << "its slot is free only after it has ended";
  EXPECT_EQ(Describe(searcher.Handle(MakeExit("0-2"))), "resume 0-1");
  EXPECT_EQ(Describe(searcher.Handle(MakeValidation("1-1", 2, 0.1))), "stop 1-1");
  EXPECT_EQ(Describe(searcher.Handle(MakeExit("1-1"))), "create 1-2");
  EXPECT_EQ(Describe(searcher.Handle(MakeValidation("0-1", 2, 0.4))), "stop 0-1");
  EXPECT_EQ(Describe(searcher.Handle(MakeExit("0-1"))), "");
  EXPECT_EQ(Describe(searcher.Handle(MakeExit("1-2"))), "shutdown");
}

TEST(HyperbandTest, DoesNotPauseBestLastTrialOfRung) {
  Searcher searcher = *Searcher::Make(Config(2, 2, 2, 2));
  EXPECT_EQ(Describe(searcher.Start()), "create 0-1, create 1-1");
  EXPECT_EQ(Describe(searcher.Handle(MakeValidation("0-1", 1, 0.5))), "");
}

TEST(HyperbandTest, DoesNotWaitForEndedTrials) {
  Searcher searcher = *Searcher::Make(Config(2, 2, 0, 2));
  searcher.Start();
  EXPECT_EQ(Describe(searcher.Handle(MakeValidation("0-1", 1, 0.5))), "pause 0-1, create 1-1");
  EXPECT_EQ(Describe(searcher.Handle(MakeExit("0-2", TrialEnd::kFailed))), "resume 0-1");
}

// The search follows its preview, whatever the number of slots.
TEST(HyperbandTest, MatchesPreview) {
  const LearningCurve curve = [](const model::Hparams& h, int64_t length) {
    return std::vector<double>{*h.at("x").AsDouble() + 1.0 / static_cast<double>(length)};
  };
  for (const int64_t slots : {1, 7, 0}) {
    for (const int64_t trials : {0, 1, 25}) {
      const model::ExperimentConfig config = Config(81, 3, trials, slots);
      const auto simulation = Simulate(config, curve);
      ASSERT_TRUE(simulation.ok()) << simulation.status();
      const PlanTotals plan = SumPlan(Searcher::Make(config)->Preview());
      std::map<int64_t, int64_t> ended, planned;
      for (const SimulatedTrial& trial : simulation->trials) ++ended[trial.length];
      for (const PlannedTrials& row : plan.rows) planned[row.length] = row.trials;
      EXPECT_EQ(ended, planned) << slots << " slots";
      EXPECT_EQ(static_cast<double>(simulation->units), plan.units);
    }
  }
}

}  // namespace
}  // namespace det::searcher
