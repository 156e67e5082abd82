#include "master/core/searcher/searcher.h"

#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_split.h"
#include "base/rng.h"
#include "master/core/model/fields.h"
#include "master/core/searcher/sampler.h"
#include "master/core/searcher/search_method.h"
#include "master/core/searcher/search_method_contract.h"
#include "master/core/searcher/space.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace det::searcher {
namespace {

using model::CategoricalHparam;
using model::ConstHparam;
using model::DoubleHparam;
using model::Hyperparameter;
using model::IntHparam;
using model::LogHparam;
using model::NestedHparam;
using model::SearchSpace;
using model::Value;

SearchSpace WideSpace() {
  return {
      {"constant", {ConstHparam{Value::List{1, "two"}}}},
      {"layers", {IntHparam{-2, 2, {}}}},
      {"dropout", {DoubleHparam{0.2, 0.8, {}}}},
      {"lr", {LogHparam{10, -4, -1, {}}}},
      {"optimizer", {CategoricalHparam{{"adam", "sgd", Value::Object{{"name", "lion"}}}}}},
      {"nested", {NestedHparam{{{"width", {IntHparam{1, 8, {}}}}, {"empty", {NestedHparam{}}}}}}},
  };
}

model::ExperimentConfig Config(const std::string& name, int64_t trials, int64_t concurrent,
                               SearchSpace space = WideSpace()) {
  model::ExperimentConfig config;
  config.searcher = {
      .name = name, .metric = "loss", .max_trials = trials, .max_concurrent_trials = concurrent};
  config.hyperparameters = std::move(space);
  config.experiment_seed = 42;
  return config;
}

INSTANTIATE_TEST_SUITE_P(
    Methods, SearchMethodContract,
    ::testing::Values(ContractCase{"single", Config("single", 1, 16), 1},
                      ContractCase{"random_1", Config("random", 1, 16), 1 + 16},
                      ContractCase{"random_8_at_3", Config("random", 8, 3), 8 + 16},
                      ContractCase{"random_20_unlimited", Config("random", 20, 0), 20 + 20},
                      ContractCase{"random_single_point", Config("random", 5, 2, {}), 5}),
    [](const auto& info) { return info.param.name; });

std::vector<std::string> GetChoices(std::string_view path) {
  const model::Field* field = model::FindField(path);
  return field == nullptr ? std::vector<std::string>() : absl::StrSplit(field->choices, '|');
}

TEST(SearchMethodTest, NamesAreTheChoicesOfTheConfiguration) {
  EXPECT_THAT(GetChoices("searcher.name"),
              ::testing::UnorderedElementsAreArray(SearchMethodNames()));
  EXPECT_THAT(GetChoices("searcher.sampler"), ::testing::UnorderedElementsAreArray(SamplerNames()));
}

TEST(SamplingTest, CoversSpace) {
  base::Rng rng(1);
  std::set<int64_t> layers;
  std::set<std::string> optimizers;
  for (int i = 0; i < 1000; ++i) {
    const model::Hparams h = Sample(WideSpace(), rng);
    EXPECT_EQ(h.at("constant"), Value(Value::List{1, "two"}));
    layers.insert(*h.at("layers").AsInt());
    const double dropout = *h.at("dropout").AsDouble();
    EXPECT_TRUE(dropout >= 0.2 && dropout <= 0.8) << dropout;
    const double lr = *h.at("lr").AsDouble();
    EXPECT_TRUE(lr >= 1e-4 * (1 - 1e-12) && lr <= 0.1 * (1 + 1e-12)) << lr;
    optimizers.insert(h.at("optimizer").ToJson());
    const int64_t width = *h.at("nested").Find("width")->AsInt();
    EXPECT_TRUE(width >= 1 && width <= 8) << width;
    EXPECT_EQ(*h.at("nested").Find("empty"), Value(Value::Object{}));
  }
  EXPECT_EQ(layers, (std::set<int64_t>{-2, -1, 0, 1, 2}));
  EXPECT_EQ(optimizers.size(), 3u);
}

TEST(SamplingTest, SurvivesExtremeRanges) {
  base::Rng rng(1);
  const double max = std::numeric_limits<double>::max();
  const SearchSpace space = {
      {"i",
       {IntHparam{std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max(), {}}}},
      {"d", {DoubleHparam{-max, max, {}}}},
      {"one", {DoubleHparam{0.1, 0.1, {}}}},
  };
  for (int i = 0; i < 100; ++i) {
    const model::Hparams h = Sample(space, rng);
    EXPECT_TRUE(std::isfinite(*h.at("d").AsDouble()));
    EXPECT_EQ(h.at("one"), Value(0.1));
  }
}

TEST(SamplingTest, SamplesLogUniformlyInExponent) {
  base::Rng rng(3);
  int below = 0;
  for (int i = 0; i < 10'000; ++i) {
    const model::Hparams h = Sample({{"lr", {LogHparam{10, -4, 0, {}}}}}, rng);
    below += *h.at("lr").AsDouble() < 0.01 ? 1 : 0;
  }
  EXPECT_NEAR(below, 5000, 300);
}

TEST(SamplingTest, DetectsSinglePointSpace) {
  EXPECT_TRUE(IsSinglePoint({}));
  EXPECT_TRUE(IsSinglePoint({{"a", {ConstHparam{1}}}, {"b", {IntHparam{3, 3, {}}}}}));
  EXPECT_TRUE(IsSinglePoint({{"a", {CategoricalHparam{{"x"}}}}}));
  EXPECT_FALSE(IsSinglePoint(WideSpace()));
  EXPECT_FALSE(IsSinglePoint({{"n", {NestedHparam{{{"a", {IntHparam{0, 1, {}}}}}}}}}));
}

// Must not change: running experiments are replayed with it.
TEST(SearcherTest, MatchesGoldenTraceOfSeed42) {
  Searcher searcher = *Searcher::Make(
      Config("random", 3, 2, {{"n", {IntHparam{0, 999, {}}}}, {"x", {DoubleHparam{0, 1, {}}}}}));
  std::string trace;
  const auto note = [&trace](const std::vector<Operation>& operations) {
    for (const Operation& operation : operations) {
      if (const auto* create = std::get_if<CreateTrial>(&operation)) {
        trace += create->request.value() + " seed " + std::to_string(create->seed) + " n " +
                 create->hparams.at("n").ToJson() + "\n";
      } else {
        trace += "other\n";
      }
    }
  };
  note(searcher.Start());
  note(searcher.Handle(TrialExited{model::RequestId("1"), TrialEnd::kCompleted}));
  note(searcher.Handle(TrialExited{model::RequestId("3"), TrialEnd::kCompleted}));
  note(searcher.Handle(TrialExited{model::RequestId("2"), TrialEnd::kCompleted}));
  EXPECT_EQ(trace,
            "1 seed 1125336315 n 156\n2 seed 1019901761 n 241\n3 seed 1414181966 n 878\nother\n");
}

TEST(SearcherTest, RunsOneTrial_WithSingle) {
  for (const auto& [end, failed, canceled] :
       {std::tuple(TrialEnd::kCompleted, false, false), std::tuple(TrialEnd::kFailed, true, false),
        std::tuple(TrialEnd::kInvalidHp, true, false),
        std::tuple(TrialEnd::kCanceled, false, true)}) {
    Searcher searcher = *Searcher::Make(Config("single", 1, 16));
    const auto start = searcher.Start();
    ASSERT_EQ(start.size(), 1u);
    const model::RequestId id = std::get<CreateTrial>(start[0]).request;
    EXPECT_TRUE(searcher.Handle(TrialCreated{id}).empty());
    EXPECT_TRUE(searcher.Handle(ValidationReported{id, 10, 10, {0.5}}).empty());
    EXPECT_EQ(searcher.Handle(TrialExited{id, end}),
              (std::vector<Operation>{Shutdown{failed, canceled}}));
  }
}

TEST(SearcherTest, KeepsConcurrencyLimit_WithRandom) {
  Searcher searcher = *Searcher::Make(Config("random", 4, 2));
  EXPECT_EQ(searcher.Start().size(), 2u);
  EXPECT_EQ(searcher.Handle(TrialExited{model::RequestId("2"), TrialEnd::kFailed}).size(), 1u);
  EXPECT_TRUE(searcher.Handle(TrialExited{model::RequestId("2"), TrialEnd::kFailed}).empty());
  EXPECT_EQ(searcher.Handle(TrialExited{model::RequestId("1"), TrialEnd::kCompleted}).size(), 1u);
  EXPECT_TRUE(searcher.Handle(TrialExited{model::RequestId("3"), TrialEnd::kFailed}).empty());
  EXPECT_DOUBLE_EQ(searcher.Progress(), 0.75);
  searcher.SetTrialProgress(model::RequestId("4"), 0.5);
  EXPECT_DOUBLE_EQ(searcher.Progress(), 0.875);
  EXPECT_EQ(searcher.Handle(TrialExited{model::RequestId("4"), TrialEnd::kFailed}),
            (std::vector<Operation>{Shutdown{}}));
  EXPECT_FALSE(searcher.failed()) << "one of four completed";
}

TEST(SearcherTest, ReplacesInvalidTrialsUpToBound_WithRandom) {
  Searcher searcher = *Searcher::Make(Config("random", 2, 1));
  auto operations = searcher.Start();
  int created = 0;
  while (!searcher.shut_down()) {
    ASSERT_EQ(operations.size(), 1u);
    ++created;
    operations = searcher.Handle(
        TrialExited{std::get<CreateTrial>(operations[0]).request, TrialEnd::kInvalidHp});
  }
  EXPECT_EQ(created, 2 + 16);
  EXPECT_TRUE(searcher.failed());
}

TEST(SearcherTest, CreatesSameTrials_WhateverTheOrderOfExits) {
  Searcher narrow = *Searcher::Make(Config("random", 3, 1));
  Searcher wide = *Searcher::Make(Config("random", 3, 3));
  const auto all = wide.Start();
  auto next = narrow.Start();
  for (const Operation& expected : all) {
    ASSERT_EQ(next.size(), 1u);
    EXPECT_EQ(next[0], expected);
    next = narrow.Handle(TrialExited{std::get<CreateTrial>(next[0]).request, TrialEnd::kCompleted});
  }
}

TEST(SearcherTest, RejectsUnknownMethod) {
  const auto searcher = Searcher::Make(Config("best", 1, 1));
  EXPECT_EQ(searcher.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(searcher.status().message(),
            "unknown searcher \"best\"; expected one of adaptive_asha, asha, async_halving, "
            "bayesian, custom, "
            "grid, hyperband, pbt, random, single, tpe");
}

}  // namespace
}  // namespace det::searcher
