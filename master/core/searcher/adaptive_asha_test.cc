#include "master/core/searcher/adaptive_asha.h"

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "master/core/searcher/asha.h"
#include "master/core/searcher/multi_bracket.h"
#include "master/core/searcher/search_method_contract.h"
#include "master/core/searcher/simulate.h"
#include "master/core/searcher/testing.h"
#include <gtest/gtest.h>

namespace det::searcher {
namespace {

using model::SearchMode;
using Numbers = std::vector<int64_t>;

model::ExperimentConfig Config(SearchMode mode, double divisor, int64_t max_length, int64_t trials,
                               int64_t concurrent) {
  model::ExperimentConfig config = TestConfig("adaptive_asha", max_length, trials, concurrent);
  config.searcher.mode = mode;
  config.searcher.divisor = divisor;
  return config;
}

model::ExperimentConfig WithBrackets(Numbers rungs, int64_t trials, int64_t concurrent) {
  model::ExperimentConfig config = Config(SearchMode::kStandard, 3, 81, trials, concurrent);
  config.searcher.bracket_rungs = std::move(rungs);
  return config;
}

model::ExperimentConfig Promoting(model::ExperimentConfig config) {
  config.searcher.stop_once = false;
  return config;
}

model::ExperimentConfig SampledBy(const std::string& sampler, model::ExperimentConfig config) {
  config.searcher.sampler = sampler;
  return config;
}

INSTANTIATE_TEST_SUITE_P(
    AdaptiveAsha, SearchMethodContract,
    ::testing::Values(
        ContractCase{"standard", Config(SearchMode::kStandard, 3, 81, 20, 5), 20 + 3 * 16},
        ContractCase{"aggressive", Config(SearchMode::kAggressive, 4, 100, 20, 4), 20 + 20},
        ContractCase{"conservative", Config(SearchMode::kConservative, 3, 27, 16, 6), 16 + 3 * 16},
        ContractCase{"unlimited", Config(SearchMode::kConservative, 3, 27, 16, 0), 16 + 3 * 16},
        ContractCase{"fewer_slots_than_brackets", Config(SearchMode::kConservative, 3, 27, 16, 2),
                     16 + 3 * 16},
        ContractCase{"fewer_trials_than_brackets", WithBrackets({5, 5, 1}, 2, 4), 2 + 2 * 16},
        ContractCase{"one_trial", Config(SearchMode::kConservative, 3, 27, 1, 1), 1 + 16},
        ContractCase{"bayesian", SampledBy("bayesian", Config(SearchMode::kStandard, 3, 27, 9, 3)),
                     9 + 3 * 16},
        ContractCase{"promote", Promoting(Config(SearchMode::kStandard, 3, 81, 20, 5)),
                     20 + 3 * 16},
        ContractCase{"promote_one_slot", Promoting(Config(SearchMode::kConservative, 3, 27, 12, 1)),
                     12 + 3 * 16}),
    [](const auto& info) { return info.param.name; });

// ---- reference vectors of Determined ----

TEST(AdaptiveAshaTest, ComputesTrialsOfBrackets) {
  EXPECT_EQ(BracketTrials(20, 3, {3, 2, 1}), (Numbers{12, 5, 3}));
  EXPECT_EQ(BracketTrials(50, 3, {4, 3}), (Numbers{35, 15}));
  EXPECT_EQ(BracketTrials(100, 4, {4, 3, 2}), (Numbers{70, 22, 8}));
}

TEST(AdaptiveAshaTest, ComputesConcurrencyOfBrackets) {
  EXPECT_EQ(BracketConcurrency(0, 3, {9, 3, 1}), (Numbers{3, 3, 3}));
  EXPECT_EQ(BracketConcurrency(0, 4, {40, 10}), (Numbers{10, 10}));
  EXPECT_EQ(BracketConcurrency(16, 4, {354, 110, 36}), (Numbers{6, 5, 5}));
  EXPECT_EQ(BracketConcurrency(2, 4, {7, 3}), (Numbers{1, 1}));
}

TEST(AdaptiveAshaTest, ComputesRungsByMode) {
  const auto rungs = [](SearchMode mode, double divisor, int64_t length, int64_t trials) {
    return BracketRungs(Config(mode, divisor, length, trials, 16).searcher);
  };
  EXPECT_EQ(rungs(SearchMode::kStandard, 4, 100, 10), (Numbers{2, 1}));
  EXPECT_EQ(rungs(SearchMode::kStandard, 4, 937, 500), (Numbers{5, 4, 3}));
  EXPECT_EQ(rungs(SearchMode::kAggressive, 4, 937, 500), (Numbers{5}));
  EXPECT_EQ(rungs(SearchMode::kConservative, 4, 937, 500), (Numbers{5, 4, 3, 2, 1}));
  EXPECT_EQ(rungs(SearchMode::kStandard, 4, 1000, 64), (Numbers{4, 3, 2}));
  EXPECT_EQ(rungs(SearchMode::kStandard, 4, 1, 10), (Numbers{1}));
  EXPECT_EQ(BracketRungs(WithBrackets({1, 3, 2}, 9, 1).searcher), (Numbers{3, 2, 1}));
}

TEST(AdaptiveAshaTest, RunsWholeSearchOfWorseningTrials) {
  model::ExperimentConfig config = Config(SearchMode::kStandard, 3, 90, 9, 3);
  int calls = 0;
  const LearningCurve worsening = [&calls](const model::Hparams&, int64_t) {
    return std::vector<double>{1.0 * ++calls};
  };
  const auto simulation = Simulate(config, worsening);
  ASSERT_TRUE(simulation.ok()) << simulation.status();
  std::map<std::pair<char, int64_t>, int> count;
  for (const SimulatedTrial& trial : simulation->trials) {
    ++count[{trial.request.value()[0], trial.length}];
  }
  EXPECT_EQ(count, (std::map<std::pair<char, int64_t>, int>{
                       {{'0', 10}, 5}, {{'0', 90}, 1}, {{'1', 30}, 2}, {{'1', 90}, 1}}));
}

// ---- deviations from Determined ----

TEST(AdaptiveAshaTest, KeepsAllRungs_ForExactPowers) {
  const auto most = [](double divisor, int64_t n) {
    model::ExperimentConfig config = Config(SearchMode::kAggressive, divisor, n, n, 1);
    config.searcher.max_rungs = 64;
    return BracketRungs(config.searcher);
  };
  EXPECT_EQ(most(3, 243), (Numbers{6}));
  EXPECT_EQ(most(10, 1000), (Numbers{4}));
  EXPECT_EQ(most(9, 59049), (Numbers{6}));
}

TEST(AdaptiveAshaTest, UsesWholeBudget) {
  EXPECT_EQ(BracketTrials(1, 3, {5, 4, 3}), (Numbers{1}));
  EXPECT_EQ(BracketTrials(2, 3, {5, 4, 3}), (Numbers{1, 1}));
  EXPECT_EQ(BracketTrials(5, 4, {64, 2, 1}), (Numbers{3, 1, 1}));
  for (int64_t trials = 1; trials < 200; ++trials) {
    for (const Numbers& rungs : {Numbers{5, 4, 3, 2, 1}, Numbers{64, 1}, Numbers{1, 1, 1}}) {
      const Numbers all = BracketTrials(trials, 4, rungs);
      EXPECT_EQ(std::accumulate(all.begin(), all.end(), int64_t{0}), trials);
      EXPECT_GE(*std::min_element(all.begin(), all.end()), 1);
    }
  }
}

TEST(AdaptiveAshaTest, SeparatesNamesAndRandomNumbersOfBrackets) {
  Searcher searcher = *Searcher::Make(WithBrackets({2, 1}, 8, 2));
  const auto operations = searcher.Start();
  EXPECT_EQ(Describe(operations), "create 0-1, create 1-1");
  EXPECT_NE(std::get<CreateTrial>(operations[0]).hparams,
            std::get<CreateTrial>(operations[1]).hparams);
  EXPECT_EQ(searcher.ReportLengths(model::RequestId("0-1")), (Numbers{27, 81}));
  EXPECT_EQ(searcher.ReportLengths(model::RequestId("1-1")), (Numbers{81}));
  for (const char* other : {"1", "2-1", "0-1-1", "-1-1", "x-1", ""}) {
    EXPECT_TRUE(searcher.ReportLengths(model::RequestId(other)).empty()) << other;
  }
}

TEST(AdaptiveAshaTest, UsesConcurrencyOfEndedBracket) {
  for (const bool stop_once : {true, false}) {
    model::ExperimentConfig config = WithBrackets({3, 1}, 30, 4);
    config.searcher.stop_once = stop_once;
    Searcher searcher = *Searcher::Make(config);
    std::set<std::string> running;
    size_t created = 0;
    std::vector<Operation> operations = searcher.Start();
    while (true) {
      for (const Operation& operation : operations) {
        if (const auto* create = std::get_if<CreateTrial>(&operation)) {
          running.insert(create->request.value());
          ++created;
        }
      }
      if (created == 30) break;
      ASSERT_EQ(running.size(), 4u) << created;
      // Trials of the small bracket end first.
      const std::string next = *running.rbegin();
      running.erase(next);
      operations = searcher.Handle(MakeExit(next));
    }
    EXPECT_EQ(running.rbegin()->substr(0, 1), "0") << "the small bracket has ended";
  }
}

// Records the calls and the reports.
class RecordingSampler final : public Sampler {
 public:
  struct Calls {
    std::vector<std::string> requested;
    std::vector<std::string> reported;
    std::vector<std::string> exited;
  };
  explicit RecordingSampler(Calls* recorded) : recorded_(recorded) {}
  model::Hparams Next(const model::SearchSpace&, const model::RequestId& request,
                      base::Rng&) override {
    recorded_->requested.push_back(request.value());
    return {};
  }
  void OnReport(const Report& report) override {
    recorded_->reported.push_back(report.request.value());
  }
  void OnExited(const model::RequestId& request, TrialEnd) override {
    recorded_->exited.push_back(request.value());
  }
  model::Value Snapshot() const override { return model::Value(); }
  absl::Status Restore(const model::Value&) override { return absl::OkStatus(); }

 private:
  Calls* recorded_;
};

TEST(MultiBracketSearchTest, SharesSamplerBetweenBrackets) {
  const model::SearcherConfig config = Config(SearchMode::kStandard, 3, 9, 4, 2).searcher;
  RecordingSampler::Calls recorded;
  MultiBracketSearch tournament({{.halving = AshaBracket(config, 2, 2), .share = 1},
                                 {.halving = AshaBracket(config, 1, 2), .share = 1}},
                                std::make_unique<RecordingSampler>(&recorded));
  const base::Rng rng(1);
  const Context context{.space = {}, .rng = rng};
  EXPECT_EQ(Describe(tournament.Start(context)), "create 0-1, create 1-1");
  EXPECT_EQ(Describe(tournament.OnReport(context, {model::RequestId("0-1"), 3, {0.5}})), "");
  EXPECT_EQ(Describe(tournament.OnReport(context, {model::RequestId("1-1"), 9, {0.5}})),
            "stop 1-1");
  EXPECT_EQ(Describe(tournament.OnTrialExited(context, MakeExit("1-1"))), "create 1-2");
  EXPECT_EQ(recorded.requested, (std::vector<std::string>{"0-1", "1-1", "1-2"}));
  EXPECT_EQ(recorded.reported, (std::vector<std::string>{"0-1", "1-1"}));
  EXPECT_EQ(recorded.exited, (std::vector<std::string>{"1-1"}));
}

TEST(AdaptiveAshaTest, RejectsTooManyRungs) {
  EXPECT_EQ(Searcher::Make(WithBrackets({3, 0}, 9, 1)).status().message(),
            "searcher.bracket_rungs: expected numbers from 1 to 64, found 0");
  EXPECT_EQ(Searcher::Make(WithBrackets({65}, 9, 1)).status().message(),
            "searcher.bracket_rungs: expected numbers from 1 to 64, found 65");
}

}  // namespace
}  // namespace det::searcher
