// The models: encoding, history, Pareto order, Gaussian processes, and the samplers that use them.
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/rng.h"
#include "master/core/searcher/bayesian.h"
#include "master/core/searcher/crowding.h"
#include "master/core/searcher/encoding.h"
#include "master/core/searcher/gaussian_process.h"
#include "master/core/searcher/history.h"
#include "master/core/searcher/search_method_contract.h"
#include "master/core/searcher/space.h"
#include "master/core/searcher/tpe.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace det::searcher {
namespace {

using model::CategoricalHparam;
using model::Condition;
using model::ConstHparam;
using model::DoubleHparam;
using model::IntHparam;
using model::LogHparam;
using model::NestedHparam;
using model::RequestId;
using model::SearchSpace;
using model::Value;
using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

constexpr double kInf = std::numeric_limits<double>::infinity();

SearchSpace WideSpace() {
  return {
      {"constant", {ConstHparam{Value::List{1, "two"}}}},
      {"layers", {IntHparam{-2, 2, {}}}},
      {"huge",
       {IntHparam{std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max(), {}}}},
      {"dropout", {DoubleHparam{0.2, 0.8, {}}}},
      {"lr", {LogHparam{10, -4, -1, {}}}},
      {"optimizer", {CategoricalHparam{{"adam", "sgd", Value::Object{{"name", "lion"}}}}}},
      {"nested", {NestedHparam{{{"width", {IntHparam{1, 8, {}}}}, {"empty", {NestedHparam{}}}}}}},
  };
}

// momentum only for sgd; a width for each present layer.
SearchSpace ConditionalSpace() {
  SearchSpace space = {{"optimizer", {CategoricalHparam{{"adam", "sgd"}}}},
                       {"momentum", {DoubleHparam{0, 1, {}}, {Condition{"optimizer", {"sgd"}}}}},
                       {"net", {NestedHparam{{{"layers", {IntHparam{1, 3, {}}}}}}}}};
  auto& net = std::get<NestedHparam>(space["net"].kind).members;
  for (const int layer : {1, 2, 3}) {
    net["width_" + std::to_string(layer)] = {IntHparam{8, 64, {}},
                                             {Condition{"net.layers", {}, double(layer), {}}}};
  }
  return space;
}

model::ExperimentConfig Config(const std::string& name, const std::string& sampler, int64_t trials,
                               int64_t concurrent, SearchSpace space, size_t objectives = 1) {
  model::ExperimentConfig config;
  config.searcher = {
      .name = name, .metric = "loss", .max_trials = trials, .max_concurrent_trials = concurrent};
  config.searcher.sampler = sampler;
  for (size_t i = 1; i < objectives; ++i) {
    config.searcher.other_objectives.push_back({"metric " + std::to_string(i), i % 2 == 0});
  }
  config.hyperparameters = std::move(space);
  config.experiment_seed = 42;
  return config;
}

// The contract counts top-level members of a point; conditions below `net` do not change these.
SearchSpace NestedConditionalSpace() {
  SearchSpace space = ConditionalSpace();
  space.erase("momentum");
  return space;
}

INSTANTIATE_TEST_SUITE_P(
    Models, SearchMethodContract,
    ::testing::Values(
        ContractCase{"tpe_16_at_3", Config("tpe", "random", 16, 3, WideSpace()), 16 + 16},
        ContractCase{"tpe_sampler", Config("random", "tpe", 20, 0, WideSpace()), 20 + 20},
        ContractCase{"tpe_conditional", Config("tpe", "tpe", 18, 2, NestedConditionalSpace()),
                     18 + 18},
        ContractCase{"tpe_two_objectives", Config("tpe", "tpe", 18, 2, WideSpace(), 2), 18 + 18},
        ContractCase{"tpe_single_point", Config("tpe", "tpe", 5, 2, {}), 5},
        ContractCase{"bayesian_10_at_3", Config("bayesian", "random", 10, 3, WideSpace()), 10 + 16},
        ContractCase{"bayesian_conditional",
                     Config("random", "bayesian", 10, 2, NestedConditionalSpace()), 10 + 16},
        ContractCase{"bayesian_three_objectives",
                     Config("bayesian", "random", 10, 2, WideSpace(), 3), 10 + 16},
        ContractCase{"bayesian_single_point", Config("bayesian", "random", 5, 2, {}), 5}),
    [](const auto& info) { return info.param.name; });

// ---- encoding ----

TEST(EncodingTest, InvertsEncoding) {
  for (const SearchSpace& space : {WideSpace(), ConditionalSpace()}) {
    const Encoding encoding(space);
    base::Rng rng(3);
    for (int i = 0; i < 500; ++i) {
      const Coordinates x = encoding.Draw(rng);
      const model::Hparams point = encoding.Decode(x);
      const Coordinates again = encoding.Encode(point);
      for (size_t a = 0; a < x.size(); ++a) {
        ASSERT_EQ(std::isnan(x[a]), std::isnan(again[a])) << a;
        if (std::isnan(x[a])) continue;
        ASSERT_NEAR(x[a], again[a], 2e-9) << a;
      }
    }
  }
}

TEST(EncodingTest, EncodesSamplesUniformly) {
  const SearchSpace space = WideSpace();
  const Encoding encoding(space);
  ASSERT_EQ(encoding.axes().size(), 6u) << "the constant and the empty map have no coordinate";
  base::Rng rng(4);
  std::vector<int> below(encoding.axes().size(), 0);
  for (int i = 0; i < 4000; ++i) {
    const Coordinates x = encoding.Encode(Sample(space, rng));
    for (size_t a = 0; a < x.size(); ++a) below[a] += x[a] < 0.5 ? 1 : 0;
  }
  for (size_t a = 0; a < below.size(); ++a) {
    const Axis& axis = encoding.axes()[a];
    const double share = axis.categorical ? 1.0 / 3 : axis.values % 2 == 1 ? 0.4 : 0.5;
    EXPECT_NEAR(below[a], 4000 * share, 120) << axis.leaf.path.back();
  }
}

TEST(EncodingTest, ReachesBothEndsOfInteger) {
  const SearchSpace space = {{"i", {IntHparam{-3, 4, {}}}}};
  const Encoding encoding(space);
  EXPECT_EQ(encoding.Decode({0.0}).at("i"), Value(-3));
  EXPECT_EQ(encoding.Decode({1.0}).at("i"), Value(4));
  EXPECT_EQ(encoding.Decode({0.49}).at("i"), Value(0));
}

TEST(EncodingTest, OmitsHyperparametersWithUnmetConditions) {
  const SearchSpace space = ConditionalSpace();
  const Encoding encoding(space);
  const model::Hparams adam = encoding.Decode(encoding.Encode(
      {{"optimizer", "adam"}, {"net", Value::Object{{"layers", 1}, {"width_1", 9}}}}));
  EXPECT_EQ(Value(adam),
            Value(Value::Object{{"optimizer", "adam"},
                                {"net", Value::Object{{"layers", 1}, {"width_1", 9}}}}));
}

// ---- Pareto order ----

TEST(ParetoTest, OrdersByFrontThenCrowding) {
  const std::vector<std::vector<double>> losses = {{2, 2}, {0, 4},     {1, 1},
                                                   {4, 0}, {0.9, 1.2}, {kInf, kInf}};
  std::vector<const std::vector<double>*> points;
  for (const auto& l : losses) points.push_back(&l);
  const std::vector<size_t> order = ParetoOrder(points);
  ASSERT_EQ(order.size(), 6u);
  EXPECT_THAT(std::vector<size_t>(order.begin(), order.begin() + 2), UnorderedElementsAre(1, 3));
  EXPECT_THAT(std::vector<size_t>(order.begin() + 2, order.begin() + 4),
              UnorderedElementsAre(2, 4));
  EXPECT_THAT(std::vector<size_t>(order.begin() + 4, order.end()), ElementsAre(0, 5));
}

// ---- history ----

std::vector<std::string> Names(const History::Ranking& ranking) {
  std::vector<std::string> names;
  for (const auto& judged : ranking.judged) names.push_back(judged.trial->request.value());
  return names;
}

TEST(HistoryTest, ComparesAtLongestCommonLength) {
  History history(1);
  for (const char* name : {"a", "b", "c", "d", "failed", "runs"})
    history.Add(RequestId(name), {0.5});
  const auto report = [&history](const char* name, double length, double loss) {
    history.OnReport({.request = RequestId(name), .length = length, .losses = {loss}});
  };
  report("a", 10, 0.9);
  report("b", 10, 0.3);
  report("c", 10, 0.5);
  report("d", 10, 0.1);
  report("c", 40, 0.4);
  report("a", 40, 0.2);
  report("a", 160, 0.8);
  history.OnExited(RequestId("failed"), TrialEnd::kFailed);
  // Two trials have reached 40: a is compared by its loss there, not by that at 160; the others are
  // behind.
  EXPECT_THAT(Names(history.Rank(1, 2)), ElementsAre("a", "c", "d", "b", "failed"));
  EXPECT_EQ(history.Rank(1, 2).comparable, 2u);
  EXPECT_THAT(Names(history.Rank(1, 4)), ElementsAre("d", "b", "c", "a", "failed"));
  ASSERT_EQ(history.Rank(1, 4).pending.size(), 1u);
  EXPECT_EQ(history.Rank(1, 4).pending[0]->request, RequestId("runs"));
  EXPECT_EQ(history.judged(), 5);
}

TEST(HistoryTest, IgnoresCanceledAndSilentTrials) {
  History history(1);
  for (const char* name : {"canceled", "silent"}) history.Add(RequestId(name), {0.5});
  history.OnReport({.request = RequestId("canceled"), .length = 1, .losses = {0}});
  history.OnExited(RequestId("canceled"), TrialEnd::kCanceled);
  history.OnExited(RequestId("silent"), TrialEnd::kCompleted);
  EXPECT_TRUE(history.Rank(1, 1).judged.empty());
  EXPECT_TRUE(history.Rank(1, 1).pending.empty());
  EXPECT_EQ(history.judged(), 0);
}

TEST(HistoryTest, StaysSmallAndKeepsBest) {
  History history(1);
  base::Rng rng(5);
  double best = 1;
  for (int i = 0; i < 10'000; ++i) {
    const RequestId request(std::to_string(i));
    history.Add(request, Coordinates(20, std::round(rng.Uniform01() * 1e9) / 1e9));
    const double loss = rng.Uniform01();
    best = std::min(best, loss);
    history.OnReport({.request = request, .length = 1, .losses = {loss}});
    history.OnExited(request, TrialEnd::kCompleted);
  }
  EXPECT_EQ(history.judged(), 10'000);
  const auto ranking = history.Rank(20, 10);
  EXPECT_LT(ranking.judged.size(), 500u);
  EXPECT_EQ(ranking.judged[0].losses->front(), best);
  EXPECT_LT(history.Snapshot().ToJson().size(), 300'000u);
}

// ---- processes ----

TEST(GaussianProcessTest, InterpolatesObservations) {
  const SearchSpace space = {{"x", {DoubleHparam{0, 1, {}}}}};
  const Encoding encoding(space);
  std::vector<Coordinates> points;
  std::vector<double> targets;
  for (const double x : {0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6}) {
    points.push_back({x});
    targets.push_back(std::sin(6 * x));
  }
  GaussianProcess process(encoding.axes());
  process.Fit(points, targets);
  const auto at = process.Predict({{0.3}, {0.25}, {0.95}});
  EXPECT_NEAR(at[0].mean, std::sin(1.8), 0.01);
  EXPECT_NEAR(at[1].mean, std::sin(1.5), 0.05);
  EXPECT_GT(at[2].deviation, 5 * at[1].deviation);
  process.Add({0.95}, 1);
  EXPECT_LT(process.Predict({{0.95}})[0].deviation, at[2].deviation / 5);
}

// ---- samplers ----

double Miss(const model::Hparams& h) {
  return std::abs(*h.at("x").AsDouble() - 0.3) +
         std::abs(std::log10(*h.at("lr").AsDouble()) + 3) / 2.5 +
         (h.at("kind") == Value("good") ? 0 : 1);
}

// Returns the distance of the best of 50 points to the minimum, with this many trials at a time.
double ComputeMinDistance(const std::string& sampler, uint64_t seed, size_t running) {
  const SearchSpace space = {{"x", {DoubleHparam{-1, 1, {}}}},
                             {"lr", {LogHparam{10, -5, 0, {}}}},
                             {"kind", {CategoricalHparam{{"bad", "good", "ugly"}}}}};
  auto points = *MakeSampler(sampler, {});
  const base::Rng rng(seed);
  std::vector<CreateTrial> live;
  double least = kInf;
  for (int i = 1; i <= 50; ++i) {
    live.push_back(MakeTrial(Context{space, rng}, *points, i));
    least = std::min(least, Miss(live.back().hparams));
    if (live.size() < running) continue;
    const RequestId first = live.front().request;
    points->OnReport({.request = first, .length = 1, .losses = {Miss(live.front().hparams)}});
    points->OnExited(first, TrialEnd::kCompleted);
    live.erase(live.begin());
  }
  return least;
}

double Median(const std::string& sampler, size_t running) {
  std::vector<double> misses;
  for (uint64_t seed = 0; seed < 7; ++seed)
    misses.push_back(ComputeMinDistance(sampler, seed, running));
  std::sort(misses.begin(), misses.end());
  return misses[3];
}

TEST(SamplersTest, OutperformRandom) {
  for (const size_t running : {1, 8}) {
    const double random = Median("random", running);
    EXPECT_LT(Median("tpe", running), random / 2) << running;
    EXPECT_LT(Median("bayesian", running), random / 2) << running;
  }
}

TEST(SamplersTest, DoNotRepeatPointsInSmallSpace) {
  const SearchSpace space = {{"a", {IntHparam{1, 5, {}}}},
                             {"b", {CategoricalHparam{{1, 2, 3, 4}}}}};
  for (const char* name : {"tpe", "bayesian"}) {
    auto points = *MakeSampler(name, {});
    const base::Rng rng(1);
    std::set<std::string> seen;
    for (int i = 1; i <= 20; ++i) {
      const CreateTrial trial = MakeTrial(Context{space, rng}, *points, i);
      seen.insert(Value(trial.hparams).ToJson());
      const double loss = std::abs(*trial.hparams.at("a").AsNumber() - 2);
      points->OnReport({.request = trial.request, .length = 1, .losses = {loss}});
    }
    EXPECT_GE(seen.size(), 16u) << name;
  }
}

// Short trials count only if too few have trained longer, as in BOHB.
TEST(SamplersTest, TpeComparesAtLongestCommonLength) {
  const SearchSpace space = {{"x", {DoubleHparam{0, 1, {}}}}};
  const base::Rng rng(3);
  const auto x_of = [](const CreateTrial& trial) { return *trial.hparams.at("x").AsDouble(); };
  // Short trials indicate that large values are good, long ones that small values are.
  const auto small_ones = [&](size_t long_runs) {
    TpeSampler sampler(1);
    std::vector<CreateTrial> trials;
    for (int i = 1; i <= 24; ++i) trials.push_back(MakeTrial(Context{space, rng}, sampler, i));
    std::sort(trials.begin(), trials.end(),
              [&](const CreateTrial& a, const CreateTrial& b) { return x_of(a) < x_of(b); });
    for (size_t i = 0; i < trials.size(); ++i) {
      const double x = x_of(trials[i]);
      sampler.OnReport({.request = trials[i].request, .length = 1, .losses = {1 - x}});
      if (i >= long_runs) continue;
      sampler.OnReport({.request = trials[i].request, .length = 4, .losses = {x}});
    }
    int small = 0;
    for (int i = 0; i < 200; ++i) {
      TpeSampler again(1);
      EXPECT_TRUE(again.Restore(sampler.Snapshot()).ok());
      small += x_of(MakeTrial(Context{space, rng}, again, 100 + i)) < 0.5 ? 1 : 0;
    }
    return small;
  };
  EXPECT_GE(small_ones(3), 120) << "of 200; enough for one hyperparameter";
  EXPECT_LE(small_ones(2), 40);
}

TEST(SamplersTest, TpeFindsBothEndsOfFront) {
  const SearchSpace space = {{"x", {DoubleHparam{-2, 4, {}}}}, {"y", {DoubleHparam{-2, 2, {}}}}};
  TpeSampler sampler(2);
  const base::Rng rng(2);
  int on_front = 0;
  int left = 0;
  int right = 0;
  for (int i = 1; i <= 120; ++i) {
    const CreateTrial trial = MakeTrial(Context{space, rng}, sampler, i);
    const double x = *trial.hparams.at("x").AsDouble(), y = *trial.hparams.at("y").AsDouble();
    const std::vector<double> losses = {x * x + y * y, (x - 2) * (x - 2) + y * y};
    sampler.OnReport({.request = trial.request, .length = 1, .losses = losses});
    if (i <= 60) continue;
    on_front += std::abs(y) < 0.4 && x > -0.2 && x < 2.2 ? 1 : 0;
    left += x < 0.7 ? 1 : 0;
    right += x > 1.3 ? 1 : 0;
  }
  EXPECT_GE(on_front, 30) << "of 60; 5 by chance";
  EXPECT_GE(left, 5);
  EXPECT_GE(right, 5);
}

}  // namespace
}  // namespace det::searcher
