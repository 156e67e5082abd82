#include "master/core/searcher/grid.h"

#include <limits>
#include <set>
#include <string>

#include "master/core/searcher/search_method_contract.h"
#include "master/core/searcher/simulate.h"
#include "master/core/searcher/testing.h"
#include <gtest/gtest.h>

namespace det::searcher {
namespace {

using model::CategoricalHparam;
using model::ConstHparam;
using model::DoubleHparam;
using model::IntHparam;
using model::LogHparam;
using model::NestedHparam;
using model::SearchSpace;
using model::Value;

SearchSpace TwoAxes() { return {{"a", {IntHparam{0, 20, 3}}}, {"b", {IntHparam{0, 10, 3}}}}; }

// momentum only for sgd; its schedule only with a momentum of 0.5 or more.
SearchSpace Conditional() {
  return {
      {"optimizer", {CategoricalHparam{{"adam", "sgd"}}}},
      {"momentum", {DoubleHparam{0, 1, 3}, {{"optimizer", {"sgd"}, {}, {}}}}},
      {"schedule", {CategoricalHparam{{"step", "cosine"}}, {{"momentum", {}, 0.5, {}}}}},
      {"width", {IntHparam{1, 2, {}}}},
  };
}

model::ExperimentConfig Config(SearchSpace space, int64_t concurrent) {
  model::ExperimentConfig config = TestConfig("grid", 100, 1, concurrent);
  config.hyperparameters = std::move(space);
  return config;
}

INSTANTIATE_TEST_SUITE_P(Grid, SearchMethodContract,
                         ::testing::Values(ContractCase{"two_axes", Config(TwoAxes(), 2), 9},
                                           ContractCase{"unlimited", Config(TwoAxes(), 0), 9},
                                           ContractCase{"conditional", Config(Conditional(), 3),
                                                        12},
                                           ContractCase{"one_point", Config({}, 16), 1}),
                         [](const auto& info) { return info.param.name; });

std::vector<std::string> GetPoints(const SearchSpace& space) {
  const auto grid = Grid::Make(space);
  EXPECT_TRUE(grid.ok()) << grid.status();
  std::vector<std::string> points;
  for (int64_t i = 0; grid.ok() && i < grid->size(); ++i) {
    points.push_back(Value(grid->point(i)).ToJson());
  }
  return points;
}

Value GetValues(const model::Hyperparameter& hparam) {
  const auto values = GridValues(Leaf{{"h"}, &hparam});
  EXPECT_TRUE(values.ok()) << values.status();
  return values.ok() ? Value(*values) : Value();
}

// ---- reference vectors of Determined ----

TEST(GridTest, MultipliesSizes) {
  const auto size = [](const std::vector<int64_t>& counts) {
    SearchSpace space;
    for (const int64_t count : counts) {
      space[std::string(1, static_cast<char>('a' + space.size()))] = {DoubleHparam{0, 1, count}};
    }
    return Grid::Make(space)->size();
  };
  EXPECT_EQ(size({1}), 1);
  EXPECT_EQ(size({4}), 4);
  EXPECT_EQ(size({1, 4}), 4);
  EXPECT_EQ(size({3, 4}), 12);
  EXPECT_EQ(size({2, 3, 4}), 24);
  EXPECT_EQ(size({2, 2, 3, 3, 4, 5}), 720);
}

TEST(GridTest, VariesLastAxisFastest) {
  EXPECT_EQ(
      GetPoints(TwoAxes()),
      (std::vector<std::string>{R"({"a":0,"b":0})", R"({"a":0,"b":5})", R"({"a":0,"b":10})",
                                R"({"a":10,"b":0})", R"({"a":10,"b":5})", R"({"a":10,"b":10})",
                                R"({"a":20,"b":0})", R"({"a":20,"b":5})", R"({"a":20,"b":10})"}));
}

TEST(GridTest, ComputesAxisValues) {
  EXPECT_EQ(GetValues({IntHparam{0, 4, 5}}), Value(Value::List{0, 1, 2, 3, 4}));
  EXPECT_EQ(GetValues({IntHparam{-4, -2, 3}}), Value(Value::List{-4, -3, -2}));
  EXPECT_EQ(GetValues({LogHparam{10, 1, 2, 2}}), Value(Value::List{10.0, 100.0}));
  EXPECT_EQ(GetValues({DoubleHparam{13, 17, 2}}), Value(Value::List{13.0, 17.0}));
}

TEST(GridTest, FlattensNestedSpaces) {
  const SearchSpace space = {
      {"a",
       {NestedHparam{{{"b",
                       {NestedHparam{{{"c1", {CategoricalHparam{{3, 5}}}},
                                      {"c2", {IntHparam{7, 11, 2}}},
                                      {"empty", {NestedHparam{}}}}}}}}}}},
      {"constant", {ConstHparam{2}}},
      {"f", {DoubleHparam{13, 17, 2}}},
      {"l", {LogHparam{10, 1, 2, 2}}},
  };
  const auto points = GetPoints(space);
  ASSERT_EQ(points.size(), 16u);
  EXPECT_EQ(points[1], R"({"a":{"b":{"c1":3,"c2":7,"empty":{}}},"constant":2,"f":13.0,"l":100.0})");
  EXPECT_EQ(points[15],
            R"({"a":{"b":{"c1":5,"c2":11,"empty":{}}},"constant":2,"f":17.0,"l":100.0})");
}

TEST(GridTest, RunsWholeSearch) {
  const auto simulation = Simulate(Config({{"n", {IntHparam{0, 10, 4}}}}, 2),
                                   [](const auto&, int64_t) { return std::vector<double>{1}; });
  ASSERT_TRUE(simulation.ok()) << simulation.status();
  std::vector<int64_t> values;
  for (const SimulatedTrial& trial : simulation->trials) {
    EXPECT_EQ(trial.length, 100);
    values.push_back(*trial.hparams.at("n").AsInt());
  }
  EXPECT_EQ(values, (std::vector<int64_t>{10, 7, 3, 0})) << "the last point runs first";
}

// ---- edges ----

TEST(GridTest, ClampsCounts) {
  EXPECT_EQ(GetValues({IntHparam{3, 5, 100}}), Value(Value::List{3, 4, 5}));
  EXPECT_EQ(GetValues({IntHparam{3, 5, 2'000'000}}), Value(Value::List{3, 4, 5}));
  EXPECT_EQ(GetValues({IntHparam{3, 5, {}}}), Value(Value::List{3, 4, 5}));
  EXPECT_EQ(GetValues({IntHparam{1, 4, 1}}), Value(Value::List{3}));
  EXPECT_EQ(GetValues({IntHparam{-4, -1, 1}}), Value(Value::List{-3}));
  EXPECT_EQ(GetValues({DoubleHparam{1, 4, 1}}), Value(Value::List{2.5}));
  EXPECT_EQ(GetValues({LogHparam{10, 1, 3, 1}}), Value(Value::List{100.0}));
}

TEST(GridTest, SurvivesExtremeRanges) {
  constexpr int64_t kLow = std::numeric_limits<int64_t>::min();
  constexpr int64_t kHigh = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(GetValues({IntHparam{kLow, kHigh, 3}}), Value(Value::List{kLow, -1, kHigh}));
  constexpr double kMax = std::numeric_limits<double>::max();
  EXPECT_EQ(GetValues({DoubleHparam{-kMax, kMax, 3}}), Value(Value::List{-kMax, 0.0, kMax}));
}

TEST(GridTest, ListsEachValueOnce) {
  EXPECT_EQ(GetValues({DoubleHparam{2, 2, 5}}), Value(Value::List{2.0}));
  EXPECT_EQ(GetValues({CategoricalHparam{{"a", "b", "a"}}}), Value(Value::List{"a", "b"}));
}

TEST(GridTest, ExpandsConditionalHyperparameterOnlyWhenPresent) {
  EXPECT_EQ(GetPoints(Conditional()),
            (std::vector<std::string>{
                R"({"optimizer":"adam","width":1})",
                R"({"optimizer":"adam","width":2})",
                R"({"momentum":0.0,"optimizer":"sgd","width":1})",
                R"({"momentum":0.5,"optimizer":"sgd","schedule":"step","width":1})",
                R"({"momentum":0.5,"optimizer":"sgd","schedule":"cosine","width":1})",
                R"({"momentum":1.0,"optimizer":"sgd","schedule":"step","width":1})",
                R"({"momentum":1.0,"optimizer":"sgd","schedule":"cosine","width":1})",
                R"({"momentum":0.0,"optimizer":"sgd","width":2})",
                R"({"momentum":0.5,"optimizer":"sgd","schedule":"step","width":2})",
                R"({"momentum":0.5,"optimizer":"sgd","schedule":"cosine","width":2})",
                R"({"momentum":1.0,"optimizer":"sgd","schedule":"step","width":2})",
                R"({"momentum":1.0,"optimizer":"sgd","schedule":"cosine","width":2})",
            }));
}

TEST(GridTest, ListsDistinctPoints_WithConditions) {
  SearchSpace space = {{"depth", {IntHparam{1, 5, {}}}}};
  for (int layer = 1; layer <= 5; ++layer) {
    space["width_" + std::to_string(layer)] = {IntHparam{0, 2, {}},
                                               {{"depth", {}, static_cast<double>(layer), {}}}};
  }
  const auto points = GetPoints(space);
  EXPECT_EQ(points.size(), 3u + 9 + 27 + 81 + 243);
  EXPECT_EQ(std::set<std::string>(points.begin(), points.end()).size(), points.size());
}

TEST(GridTest, RejectsInvalidGrid) {
  const auto why = [](const SearchSpace& space) {
    return std::string(Searcher::Make(Config(space, 1)).status().message());
  };
  EXPECT_EQ(why({{"a", {NestedHparam{{{"lr", {DoubleHparam{0, 1, {}}}}}}}}}),
            "hyperparameters.a.lr: the grid searcher requires a count of 1 or more");
  EXPECT_EQ(why({{"lr", {LogHparam{10, -4, -1, {}}}}}),
            "hyperparameters.lr: the grid searcher requires a count of 1 or more");
  EXPECT_EQ(why({{"n", {IntHparam{0, 4, 0}}}}),
            "hyperparameters.n: the grid searcher requires a count of 1 or more");
  EXPECT_EQ(
      why({{"n", {IntHparam{0, 1'000'000, {}}}}}),
      "hyperparameters.n: more than 1000000 points; lower the counts, or use the random searcher");
  EXPECT_EQ(
      why({{"n", {IntHparam{0, 1000, {}}}}, {"m", {IntHparam{0, 1000, {}}}}}),
      "hyperparameters: more than 1000000 points; lower the counts, or use the random searcher");
  EXPECT_EQ(why({{"c", {CategoricalHparam{}}}}), "hyperparameters.c: has no values");
}

TEST(GridTest, DoesNotReplaceInvalidTrials) {
  Searcher searcher = *Searcher::Make(Config(TwoAxes(), 1));
  searcher.Start();
  for (int i = 1; i < 9; ++i) {
    EXPECT_EQ(Describe(searcher.Handle(MakeExit(std::to_string(i), TrialEnd::kInvalidHp))),
              "create " + std::to_string(i + 1));
  }
  EXPECT_EQ(Describe(searcher.Handle(MakeExit("9"))), "shutdown");
}

}  // namespace
}  // namespace det::searcher
