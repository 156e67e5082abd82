#include "master/core/searcher/asha.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "master/core/searcher/search_method_contract.h"
#include "master/core/searcher/simulate.h"
#include "master/core/searcher/testing.h"
#include <gtest/gtest.h>

namespace det::searcher {
namespace {

model::ExperimentConfig Config(int64_t max_length, int64_t rungs, double divisor, int64_t trials,
                               int64_t concurrent, bool stop_once = true) {
  model::ExperimentConfig config = TestConfig("asha", max_length, trials, concurrent);
  config.searcher.num_rungs = rungs;
  config.searcher.divisor = divisor;
  config.searcher.stop_once = stop_once;
  return config;
}

model::ExperimentConfig Named(const std::string& name, model::ExperimentConfig config) {
  config.searcher.name = name;
  return config;
}

model::ExperimentConfig OfOnePoint(model::ExperimentConfig config) {
  config.hyperparameters.clear();
  return config;
}

model::ExperimentConfig OfTwoObjectives(model::ExperimentConfig config) {
  config.searcher.smaller_is_better = false;
  config.searcher.other_objectives = {{"latency", true}};
  return config;
}

model::ExperimentConfig SampledBy(const std::string& sampler, model::ExperimentConfig config) {
  config.searcher.sampler = sampler;
  return config;
}

INSTANTIATE_TEST_SUITE_P(
    Asha, SearchMethodContract,
    ::testing::Values(
        ContractCase{"stop", Config(9, 3, 3, 12, 4), 12 + 16},
        ContractCase{"stop_unlimited", Named("async_halving", Config(100, 4, 2, 20, 0)), 20 + 20},
        ContractCase{"stop_one_slot", Config(9, 3, 3, 5, 1), 5 + 16},
        ContractCase{"stop_one_trial", Config(1, 0, 4, 1, 16), 1 + 16},
        ContractCase{"stop_many_rungs", Config(3, 64, 1.5, 6, 2), 6 + 16},
        ContractCase{"stop_one_point", OfOnePoint(Config(27, 0, 3, 9, 3)), 9},
        ContractCase{"stop_two_objectives", OfTwoObjectives(Config(27, 0, 3, 9, 3)), 9 + 16},
        ContractCase{"stop_tpe", SampledBy("tpe", Config(9, 3, 3, 12, 4)), 12 + 16},
        ContractCase{"promote", Config(9, 3, 3, 12, 4, false), 12 + 16},
        ContractCase{"promote_unlimited", Config(100, 4, 2, 20, 0, false), 20 + 20},
        ContractCase{"promote_one_slot", Config(64, 4, 4, 9, 1, false), 9 + 16},
        ContractCase{"promote_one_trial", Config(1, 0, 4, 1, 16, false), 1 + 16},
        ContractCase{"promote_few", Config(1000, 5, 4, 3, 2, false), 3 + 16},
        ContractCase{"promote_many_rungs", Config(3, 64, 1.5, 6, 2, false), 6 + 16},
        ContractCase{"promote_tpe", SampledBy("tpe", Config(9, 3, 3, 12, 4, false)), 12 + 16},
        ContractCase{"promote_two_objectives", OfTwoObjectives(Config(27, 0, 3, 9, 3, false)),
                     9 + 16}),
    [](const auto& info) { return info.param.name; });

Searcher Started(const model::ExperimentConfig& config) {
  Searcher searcher = *Searcher::Make(config);
  searcher.Start();
  return searcher;
}

// ---- the stopping rule ----

TEST(AshaStopTest, ContinuesFirstAndBetterTrials) {
  Searcher searcher = Started(Config(9, 3, 3, 10, 2));
  EXPECT_EQ(Describe(searcher.Handle(MakeValidation("1", 1, 0.5))), "");
  EXPECT_EQ(Describe(searcher.Handle(MakeValidation("2", 1, 0.4))), "");
  const Bracket bracket = searcher.Brackets().at(0);
  EXPECT_EQ(bracket[0].reported, 2);
  EXPECT_EQ(bracket[0].continued, 2);
  EXPECT_EQ(bracket[0].best_loss, 0.4);
  EXPECT_EQ(bracket[1].reported, 0);
}

TEST(AshaStopTest, StopsAndReplacesWorseTrial) {
  Searcher searcher = Started(Config(9, 3, 3, 10, 2));
  searcher.Handle(MakeValidation("1", 1, 0.5));
  EXPECT_EQ(Describe(searcher.Handle(MakeValidation("2", 1, 0.6))), "stop 2");
  EXPECT_EQ(searcher.Brackets().at(0)[0].continued, 1);
  // The trial before counts this one again, and a further trial is created.
  EXPECT_EQ(Describe(searcher.Handle(MakeValidation("2", 3, 0.1))), "");
  EXPECT_EQ(searcher.Brackets().at(0)[0].reported, 2);
  EXPECT_EQ(Describe(searcher.Handle(MakeExit("2"))), "create 3");
}

// In Determined every one of them continues.
TEST(AshaStopTest, LimitsContinuationOfEqualTrials) {
  Searcher searcher = Started(Config(9, 2, 3, 12, 1));
  int continued = 0;
  for (int i = 1; i <= 12; ++i) {
    const std::string trial = std::to_string(i);
    continued += Describe(searcher.Handle(MakeValidation(trial, 3, 0.5))).empty() ? 1 : 0;
    EXPECT_EQ(continued, std::max(i / 3, 1)) << "of " << i;
    searcher.Handle(MakeExit(trial));
  }
  EXPECT_EQ(searcher.Brackets().at(0)[0].continued, 4);
}

TEST(AshaStopTest, ContinuesBetterTrial_HoweverManyContinued) {
  Searcher searcher = Started(Config(9, 2, 3, 12, 3));
  EXPECT_EQ(Describe(searcher.Handle(MakeValidation("1", 3, 0.5))), "");
  EXPECT_EQ(Describe(searcher.Handle(MakeValidation("2", 3, 0.4))), "");
  EXPECT_EQ(Describe(searcher.Handle(MakeValidation("3", 3, 0.4))), "stop 3")
      << "two of three have continued";
}

TEST(AshaStopTest, MaximizesMetric_WhenConfigured) {
  model::ExperimentConfig config = Config(9, 3, 3, 10, 2);
  config.searcher.smaller_is_better = false;
  Searcher searcher = Started(config);
  searcher.Handle(MakeValidation("1", 1, 0.5));
  EXPECT_EQ(Describe(searcher.Handle(MakeValidation("2", 1, 0.4))), "stop 2");
}

TEST(AshaStopTest, CountsReportInEveryPassedRung) {
  Searcher searcher = Started(Config(9, 3, 3, 10, 2));
  EXPECT_EQ(Describe(searcher.Handle(MakeValidation("1", 4, 0.5))), "");
  EXPECT_EQ(searcher.Brackets().at(0)[0].reported, 1);
  EXPECT_EQ(searcher.Brackets().at(0)[1].reported, 1);
  EXPECT_EQ(Describe(searcher.Handle(MakeValidation("2", 100, 0.4))), "stop 2");
  EXPECT_EQ(searcher.Brackets().at(0)[2].reported, 1);
}

TEST(AshaStopTest, StopsTrialsWithNonFiniteLoss) {
  for (const double metric : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
    Searcher searcher = Started(Config(9, 3, 3, 10, 2));
    EXPECT_EQ(Describe(searcher.Handle(MakeValidation("1", 1, metric))), "stop 1") << metric;
    EXPECT_EQ(searcher.Brackets().at(0)[0].best_loss, std::nullopt);
    EXPECT_EQ(Describe(searcher.Handle(MakeValidation("2", 1, 7))), "")
        << "worse than a missing report";
  }
}

TEST(AshaStopTest, HandlesEveryKindOfExit) {
  Searcher searcher = Started(Config(9, 3, 3, 10, 4));
  // A trial that ends by itself below its rung is compared by its last loss.
  EXPECT_EQ(Describe(searcher.Handle(MakeValidation("1", 1, 0.5))), "");
  EXPECT_EQ(Describe(searcher.Handle(MakeValidation("1", 2, 0.3))), "");
  EXPECT_EQ(Describe(searcher.Handle(MakeExit("1"))), "create 5");
  EXPECT_EQ(searcher.Brackets().at(0)[1].best_loss, 0.3);
  // A failed trial is the worst of its rung.
  EXPECT_EQ(Describe(searcher.Handle(MakeExit("2", TrialEnd::kFailed))), "create 6");
  EXPECT_EQ(searcher.Brackets().at(0)[0].reported, 2);
  // A canceled trial is not counted.
  EXPECT_EQ(Describe(searcher.Handle(MakeExit("3", TrialEnd::kCanceled))), "create 7");
  EXPECT_EQ(searcher.Brackets().at(0)[0].reported, 2);
  // An invalid trial is treated as if it had not existed.
  EXPECT_EQ(Describe(searcher.Handle(MakeValidation("4", 1, 0.1))), "");
  EXPECT_EQ(searcher.Brackets().at(0)[0].reported, 3);
  EXPECT_EQ(Describe(searcher.Handle(MakeExit("4", TrialEnd::kInvalidHp))), "create 8");
  EXPECT_EQ(searcher.Brackets().at(0)[0].reported, 2);
  EXPECT_EQ(searcher.Brackets().at(0)[0].best_loss, 0.5);
}

// Determined never replaces such a trial, so its search ends with the first ones.
TEST(AshaStopTest, CreatesTrialsAfterExits) {
  Searcher searcher = Started(Config(900, 3, 3, 5, 1));
  for (int i = 1; i < 5; ++i) {
    EXPECT_EQ(Describe(searcher.Handle(MakeExit(std::to_string(i)))),
              "create " + std::to_string(i + 1));
  }
  EXPECT_EQ(Describe(searcher.Handle(MakeExit("5"))), "shutdown");
}

// Every new trial is worse than all before it.
LearningCurve Worsening(int& calls) {
  return [&calls](const model::Hparams&, int64_t) { return std::vector<double>{1.0 * ++calls}; };
}

std::map<int64_t, int> TrialsByLength(const Simulation& simulation) {
  std::map<int64_t, int> count;
  for (const SimulatedTrial& trial : simulation.trials) ++count[trial.length];
  return count;
}

TEST(AshaStopTest, RunsWholeSearchOfWorseningTrials) {
  int calls = 0;
  const auto simulation =
      Simulate(Config(900, 3, 3, 10, 3), Worsening(calls), {.slots = 3, .report_every = 100});
  ASSERT_TRUE(simulation.ok()) << simulation.status();
  EXPECT_EQ(TrialsByLength(*simulation), (std::map<int64_t, int>{{100, 9}, {900, 1}}));
  EXPECT_EQ(simulation->trials.front().length, 900);
}

// ---- the promotion rule ----

TEST(AshaPromoteTest, PromotesBestPausedTrialOfHighestRung) {
  Searcher searcher = *Searcher::Make(Config(4, 3, 2, 4, 1, false));
  EXPECT_EQ(Describe(searcher.Start()), "create 1");
  EXPECT_EQ(Describe(searcher.Handle(MakeValidation("1", 1, 0.4))), "pause 1, create 2");
  EXPECT_EQ(Describe(searcher.Handle(MakeValidation("2", 1, 0.3))), "")
      << "the best of two continues immediately";
  EXPECT_EQ(Describe(searcher.Handle(MakeValidation("2", 2, 0.25))), "pause 2, create 3");
  EXPECT_EQ(Describe(searcher.Handle(MakeValidation("3", 1, 0.5))), "stop 3")
      << "two are better, and at most two of four continue";
  EXPECT_EQ(Describe(searcher.Handle(MakeExit("3"))), "create 4");
  EXPECT_EQ(Describe(searcher.Handle(MakeValidation("4", 1, 0.6))), "stop 4");
  EXPECT_EQ(Describe(searcher.Handle(MakeExit("4"))), "resume 1") << "the second of four";
  EXPECT_EQ(Describe(searcher.Handle(MakeValidation("1", 2, 0.35))), "pause 1, resume 2");
  EXPECT_EQ(Describe(searcher.Handle(MakeValidation("1", 3, 0.1))), "")
      << "its report is withheld while it is paused";
  EXPECT_EQ(Describe(searcher.Handle(MakeValidation("2", 4, 0.2))), "stop 2, stop 1");
  EXPECT_EQ(Describe(searcher.Handle(MakeExit("2"))), "");
  EXPECT_EQ(Describe(searcher.Handle(MakeExit("1"))), "shutdown");
  EXPECT_EQ(searcher.Brackets().at(0)[0].continued, 2);
}

// The time to pause must not change the results of the rungs.
TEST(AshaPromoteTest, WithholdsReportsUntilResume) {
  Searcher prompt = *Searcher::Make(Config(4, 3, 2, 4, 1, false));
  Searcher late = *Searcher::Make(Config(4, 3, 2, 4, 1, false));
  prompt.Start();
  late.Start();
  const auto both = [&](const Event& event) {
    const std::string operations = Describe(prompt.Handle(event));
    EXPECT_EQ(Describe(late.Handle(event)), operations);
    return operations;
  };
  EXPECT_EQ(both(MakeValidation("1", 1, 0.4)), "pause 1, create 2");
  EXPECT_EQ(Describe(late.Handle(MakeValidation("1", 2, 0.35))), "");
  EXPECT_EQ(both(MakeValidation("2", 1, 0.3)), "");
  EXPECT_EQ(both(MakeValidation("2", 2, 0.25)), "pause 2, create 3");
  EXPECT_EQ(Describe(late.Handle(MakeValidation("2", 3, 0.22))), "");
  EXPECT_EQ(Describe(late.Handle(MakeValidation("2", 4, 0.2))), "");
  EXPECT_EQ(Describe(late.Handle(MakeExit("2"))), "") << "it trained to the maximum length";
  EXPECT_EQ(both(MakeValidation("3", 1, 0.5)), "stop 3");
  EXPECT_EQ(both(MakeExit("3")), "create 4");
  EXPECT_EQ(both(MakeValidation("4", 1, 0.6)), "stop 4");

  EXPECT_EQ(Describe(prompt.Handle(MakeExit("4"))), "resume 1");
  EXPECT_EQ(Describe(prompt.Handle(MakeValidation("1", 2, 0.35))), "pause 1, resume 2");
  EXPECT_EQ(Describe(prompt.Handle(MakeValidation("2", 3, 0.22))), "");
  EXPECT_EQ(Describe(prompt.Handle(MakeValidation("2", 4, 0.2))), "stop 2, stop 1");
  EXPECT_EQ(Describe(prompt.Handle(MakeExit("2"))), "");

  const Searcher restored = *Searcher::Restore(Config(4, 3, 2, 4, 1, false), late.Snapshot());
  EXPECT_EQ(restored.Snapshot(), late.Snapshot());
  EXPECT_EQ(Describe(late.Handle(MakeExit("4"))), "resume 1, pause 1, stop 1")
      << "2 has ended: there is no operation for it";
  EXPECT_EQ(late.Snapshot(), prompt.Snapshot());
}

TEST(AshaPromoteTest, PromotesOneToTop_WithFewerThanDivisor) {
  Searcher searcher = *Searcher::Make(Config(16, 3, 4, 2, 2, false));
  EXPECT_EQ(Describe(searcher.Start()), "create 1, create 2");
  EXPECT_EQ(Describe(searcher.Handle(MakeValidation("1", 1, 0.4))), "pause 1");
  EXPECT_EQ(Describe(searcher.Handle(MakeValidation("2", 1, 0.5))), "stop 2, resume 1");
  EXPECT_EQ(Describe(searcher.Handle(MakeValidation("1", 4, 0.4))), "");
  EXPECT_EQ(Describe(searcher.Handle(MakeValidation("1", 16, 0.4))), "stop 1");
}

TEST(AshaPromoteTest, DoesNotResumeEndedTrial) {
  Searcher searcher = *Searcher::Make(Config(4, 3, 2, 4, 1, false));
  searcher.Start();
  EXPECT_EQ(Describe(searcher.Handle(MakeValidation("1", 1, 0.4))), "pause 1, create 2");
  EXPECT_EQ(Describe(searcher.Handle(MakeExit("1", TrialEnd::kFailed))), "");
  EXPECT_EQ(Describe(searcher.Handle(MakeValidation("2", 1, 0.5))), "pause 2, create 3");
  EXPECT_EQ(Describe(searcher.Handle(MakeValidation("3", 1, 0.6))), "stop 3");
  EXPECT_EQ(Describe(searcher.Handle(MakeExit("3"))), "create 4");
  EXPECT_EQ(Describe(searcher.Handle(MakeValidation("4", 1, 0.7))), "stop 4");
  EXPECT_EQ(Describe(searcher.Handle(MakeExit("4"))), "resume 2");
}

TEST(AshaPromoteTest, TrainsOneTrialToFullLength) {
  for (const int64_t slots : {1, 3, 16}) {
    const auto curve = [](const model::Hparams& h, int64_t length) {
      return std::vector<double>{*h.at("x").AsDouble() + 1.0 / static_cast<double>(length)};
    };
    const auto simulation = Simulate(Config(1000, 0, 4, 100, slots, false), curve);
    ASSERT_TRUE(simulation.ok()) << simulation.status();
    EXPECT_EQ(simulation->trials.size(), 100u);
    EXPECT_GE(TrialsByLength(*simulation)[1000], 1) << slots;
    EXPECT_GE(TrialsByLength(*simulation)[15], 60) << slots;
  }
}

// ---- configuration ----

TEST(AshaTest, ReportsComparisonLengths) {
  EXPECT_EQ(Started(Config(9, 3, 3, 4, 2)).ReportLengths(model::RequestId("1")),
            (std::vector<int64_t>{1, 3, 9}));
  EXPECT_EQ(Started(Config(4, 4, 4, 4, 2)).ReportLengths(model::RequestId("1")),
            (std::vector<int64_t>{1, 4}))
      << "each length once";
}

TEST(AshaTest, ComputesRungs_WhenNotConfigured) {
  const auto rungs = [](int64_t length, double divisor, int64_t trials, int64_t most) {
    model::ExperimentConfig config = Config(length, 0, divisor, trials, 1);
    config.searcher.max_rungs = most;
    return Searcher::Make(config)->Brackets().at(0).size();
  };
  EXPECT_EQ(rungs(1000, 10, 1000, 9), 4u);
  EXPECT_EQ(rungs(1000, 10, 1000, 3), 3u);
  EXPECT_EQ(rungs(243, 3, 1000, 9), 6u);
  EXPECT_EQ(rungs(1000, 4, 10, 9), 2u) << "ten trials need no more rungs";
}

TEST(AshaTest, ComputesConcurrencyLimit_WhenNotConfigured) {
  EXPECT_EQ(Searcher::Make(Config(9, 3, 3, 100, 0))->Start().size(), 9u);
  EXPECT_EQ(Searcher::Make(Config(9, 3, 3, 5, 0))->Start().size(), 5u);
  EXPECT_EQ(Searcher::Make(Config(9, 1, 3, 5, 0))->Start().size(), 1u);
}

TEST(AshaTest, RejectsInvalidConfiguration) {
  const auto why = [](auto change) {
    model::ExperimentConfig config = Config(9, 3, 3, 4, 2);
    change(config.searcher);
    return std::string(Searcher::Make(config).status().message());
  };
  EXPECT_EQ(why([](auto& s) { s.divisor = 1; }),
            "searcher.divisor: expected a number greater than 1, found 1");
  EXPECT_EQ(
      why([](auto& s) { s.max_length.reset(); }),
      "searcher.max_length: asha compares trials at fractions of it; set it, or max_time with "
      "time_metric");
  EXPECT_EQ(why([](auto& s) { s.max_trials = 0; }),
            "searcher.max_trials: expected 1 or more, found 0");
  EXPECT_EQ(why([](auto& s) { s.num_rungs = -1; }),
            "searcher.num_rungs: expected 0 or more, found -1");
  EXPECT_EQ(why([](auto& s) { s.num_rungs = 65; }),
            "searcher.num_rungs: expected at most 64, found 65");
  EXPECT_EQ(why([](auto& s) { s.sampler = "best"; }).substr(0, 30),
            "unknown sampler \"best\"; expect");
}

// Returns whether the trial was paused; otherwise it ends, whether it was stopped or not.
bool Paused(const std::vector<Operation>& operations, const model::RequestId& request) {
  return std::find(operations.begin(), operations.end(), Operation(PauseTrial{request})) !=
         operations.end();
}

TEST(AshaTest, KeepsSnapshotSmall_WithManyTrials) {
  for (const bool stop_once : {true, false}) {
    Searcher searcher = *Searcher::Make(Config(1000, 5, 4, 10'000, 16, stop_once));
    base::Rng rng(1);
    std::deque<model::RequestId> created;
    const auto take = [&created](const std::vector<Operation>& operations) {
      for (const Operation& operation : operations) {
        const auto* create = std::get_if<CreateTrial>(&operation);
        if (create != nullptr) created.push_back(create->request);
      }
    };
    take(searcher.Start());
    int64_t judged = 0;
    for (; !created.empty() && judged < 9'999; ++judged) {
      const model::RequestId request = created.front();
      created.pop_front();
      const auto operations = searcher.Handle(MakeValidation(request.value(), 3, rng.Uniform01()));
      take(operations);
      if (!Paused(operations, request)) take(searcher.Handle(MakeExit(request.value())));
      // Resumed trials do not report again, and would occupy the slots.
      for (const Operation& operation : operations) {
        const auto* resume = std::get_if<ResumeTrial>(&operation);
        if (resume != nullptr) take(searcher.Handle(MakeExit(resume->request.value())));
      }
    }
    EXPECT_EQ(judged, 9'999) << "stop_once " << stop_once;
    const std::string snapshot = searcher.Snapshot().ToJson();
    EXPECT_GT(snapshot.size(), 100'000u);
    EXPECT_LT(snapshot.size(), 5'000'000u);
    EXPECT_TRUE(Searcher::Restore(Config(1000, 5, 4, 10'000, 16, stop_once),
                                  *model::Value::FromJson(snapshot))
                    .ok());
  }
}

}  // namespace
}  // namespace det::searcher
