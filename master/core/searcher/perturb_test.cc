#include "master/core/searcher/perturb.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/rng.h"
#include "master/core/searcher/space.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace det::searcher {
namespace {

using model::CategoricalHparam;
using model::Condition;
using model::ConstHparam;
using model::DoubleHparam;
using model::Hyperparameter;
using model::IntHparam;
using model::LogHparam;
using model::NestedHparam;
using model::SearchSpace;
using model::Value;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::Ge;
using ::testing::Le;
using ::testing::UnorderedElementsAre;

// Returns the results of many perturbations of a value as JSON.
std::set<std::string> Steps(const Hyperparameter& hparam, const Value& value, double factor = 2) {
  std::set<std::string> steps;
  for (uint64_t seed = 0; seed < 64; ++seed) {
    base::Rng rng(seed);
    steps.insert(Perturb(hparam, value, factor, rng).ToJson());
  }
  return steps;
}

TEST(PerturbTest, ScalesNumbersWithinRange) {
  EXPECT_THAT(Steps({DoubleHparam{0, 10, {}}}, 3.0), UnorderedElementsAre("1.5", "6.0"));
  EXPECT_THAT(Steps({DoubleHparam{2, 5, {}}}, 3.0), UnorderedElementsAre("2.0", "5.0"));
  EXPECT_THAT(Steps({DoubleHparam{-8, -1, {}}}, -4.0), UnorderedElementsAre("-8.0", "-2.0"));
  EXPECT_THAT(Steps({LogHparam{2, -2, 2, {}}}, 1.0), UnorderedElementsAre("0.5", "2.0"));
  EXPECT_THAT(Steps({LogHparam{2, -2, 2, {}}}, 4.0), UnorderedElementsAre("2.0", "4.0"));
  EXPECT_THAT(Steps({LogHparam{0.5, -2, 2, {}}}, 4.0), UnorderedElementsAre("2.0", "4.0"))
      << "a base below 1 reverses the range";
  const double max = std::numeric_limits<double>::max();
  for (const std::string& step : Steps({DoubleHparam{-max, max, {}}}, max)) {
    EXPECT_TRUE(std::isfinite(*Value::FromJson(step)->AsDouble())) << step;
  }
}

TEST(PerturbTest, RoundsAndMovesIntegers) {
  EXPECT_THAT(Steps({IntHparam{1, 100, {}}}, 9), UnorderedElementsAre("18", "5"));
  EXPECT_THAT(Steps({IntHparam{0, 9, {}}}, 1, 1.2), UnorderedElementsAre("0", "2"));
  EXPECT_THAT(Steps({IntHparam{0, 9, {}}}, 0), UnorderedElementsAre("1"));
  EXPECT_THAT(Steps({IntHparam{-9, 9, {}}}, 0), UnorderedElementsAre("-1", "1"));
  EXPECT_THAT(Steps({IntHparam{-9, 9, {}}}, -1, 1.2), UnorderedElementsAre("-2", "0"));
  EXPECT_THAT(Steps({IntHparam{1, 4, {}}}, 4), UnorderedElementsAre("2", "3"))
      << "inward from a bound";
  EXPECT_THAT(Steps({IntHparam{5, 5, {}}}, 5), UnorderedElementsAre("5"));
  const int64_t least = std::numeric_limits<int64_t>::min();
  const int64_t most = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(Steps({IntHparam{least, most, {}}}, most).size(), 2u);
  EXPECT_EQ(Steps({IntHparam{least, most, {}}}, least).size(), 2u);
}

TEST(PerturbTest, ResamplesZero) { EXPECT_GT(Steps({DoubleHparam{0, 1, {}}}, 0.0).size(), 32u); }

TEST(PerturbTest, MovesChoicesToNeighbor) {
  const Hyperparameter choice{CategoricalHparam{{"a", "b", "c", "d"}}};
  EXPECT_THAT(Steps(choice, "b"), UnorderedElementsAre("\"a\"", "\"c\""));
  EXPECT_THAT(Steps(choice, "a"), UnorderedElementsAre("\"b\""));
  EXPECT_THAT(Steps(choice, "d"), UnorderedElementsAre("\"c\""));
  EXPECT_THAT(Steps({CategoricalHparam{{"a"}}}, "a"), UnorderedElementsAre("\"a\""));
  EXPECT_THAT(Steps({ConstHparam{7}}, 7), UnorderedElementsAre("7"));
}

TEST(PerturbTest, ResamplesInvalidValues) {
  EXPECT_EQ(Steps({CategoricalHparam{{"a", "b", "c"}}}, "gone").size(), 3u);
  EXPECT_EQ(Steps({IntHparam{1, 3, {}}}, "text").size(), 3u);
  EXPECT_EQ(Steps({IntHparam{1, 3, {}}}, 12).size(), 3u);
  EXPECT_GT(Steps({DoubleHparam{0, 1, {}}}, Value()).size(), 32u);
}

Condition AtLeast(const std::string& path, double minval) {
  return {.path = path, .any_of = {}, .minval = minval, .maxval = {}};
}
Condition Is(const std::string& path, const Value& value) {
  return {.path = path, .any_of = {value}, .minval = {}, .maxval = {}};
}

// A network of 1..4 layers. The hyperparameters of layer n are present from depth n on; a kernel
// only in a convolutional layer.
SearchSpace Architecture() {
  SearchSpace layers;
  for (int n = 1; n <= 4; ++n) {
    const std::string layer = absl::StrCat("layer_", n);
    SearchSpace members;
    members["kind"] = {CategoricalHparam{{"conv", "dense"}}, {AtLeast("depth", n)}};
    members["width"] = {IntHparam{8, 64, {}}, {AtLeast("depth", n)}};
    members["kernel"] = {IntHparam{1, 7, {}}, {Is(absl::StrCat("net.", layer, ".kind"), "conv")}};
    layers[layer] = {NestedHparam{members}};
  }
  SearchSpace space;
  space["depth"] = {IntHparam{1, 4, {}}};
  space["net"] = {NestedHparam{layers}};
  space["lr"] = {LogHparam{10, -4, -1, {}}};
  // Hyperparameters with cyclic conditions, and one that depends on them, are never present.
  space["egg"] = {IntHparam{1, 2, {}}, {AtLeast("hen", 0)}};
  space["hen"] = {IntHparam{1, 2, {}}, {AtLeast("egg", 0)}};
  space["chick"] = {IntHparam{1, 2, {}}, {AtLeast("egg", 0)}};
  space["self"] = {IntHparam{1, 2, {}}, {AtLeast("self", 0)}};
  space["orphan"] = {IntHparam{1, 2, {}}, {AtLeast("no such thing", 0)}};
  return space;
}

void ExpectArchitecture(const model::Hparams& point) {
  const int64_t depth = *point.at("depth").AsInt();
  EXPECT_TRUE(depth >= 1 && depth <= 4) << depth;
  EXPECT_EQ(point.size(), 3u) << Value(point).ToJson();
  for (int n = 1; n <= 4; ++n) {
    const Value& layer = *point.at("net").Find(absl::StrCat("layer_", n));
    const Value *kind = layer.Find("kind"), *width = layer.Find("width");
    const Value* kernel = layer.Find("kernel");
    EXPECT_EQ(kind != nullptr, n <= depth);
    ASSERT_EQ(width != nullptr, n <= depth);
    // A condition on an absent hyperparameter is false.
    ASSERT_EQ(kernel != nullptr, kind != nullptr && *kind == Value("conv"));
    if (width != nullptr) {
      EXPECT_THAT(*width->AsInt(), AllOf(Ge(8), Le(64)));
    }
    if (kernel != nullptr) {
      EXPECT_THAT(*kernel->AsInt(), AllOf(Ge(1), Le(7)));
    }
  }
  const double lr = *point.at("lr").AsDouble();
  EXPECT_TRUE(lr >= 1e-4 * (1 - 1e-12) && lr <= 0.1 * (1 + 1e-12)) << lr;
}

TEST(ConditionalSpaceTest, SamplesOnlyPresentHyperparameters) {
  std::set<int64_t> depths;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    base::Rng rng(seed);
    const model::Hparams point = Sample(Architecture(), rng);
    ExpectArchitecture(point);
    depths.insert(*point.at("depth").AsInt());
    if (HasFailure()) return;
  }
  EXPECT_EQ(depths.size(), 4u);
}

TEST(ConditionalSpaceTest, OrdersLeavesAfterTheirDependencies) {
  const SearchSpace space = Architecture();
  std::vector<std::string> order;
  for (const Leaf& leaf : Leaves(space)) {
    std::string path;
    for (const std::string& name : leaf.path) path += (path.empty() ? "" : ".") + name;
    order.push_back(path);
  }
  const auto at = [&order](const std::string& path) {
    return std::find(order.begin(), order.end(), path) - order.begin();
  };
  EXPECT_LT(at("depth"), at("net.layer_1.kind"));
  EXPECT_LT(at("net.layer_4.kind"), at("net.layer_4.kernel"));
  EXPECT_LT(at("net.layer_4.kernel"), at("chick")) << "leaves with cyclic conditions come last";
  EXPECT_EQ(order.size(), 2u + 12 + 5);
}

TEST(ConditionalSpaceTest, KeepsExploredPointsInSpace) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    base::Rng rng(seed);
    model::Hparams point = Sample(Architecture(), rng);
    const double resample = static_cast<double>(seed % 3) / 2;
    for (int i = 0; i < 50; ++i) {
      point = Explore(Architecture(), point, resample, 1.5, rng);
      ExpectArchitecture(point);
      if (HasFailure()) return;
    }
  }
}

TEST(ConditionalSpaceTest, SamplesNewlyPresentHyperparameters) {
  const SearchSpace space = {{"depth", {IntHparam{1, 2, {}}}},
                             {"width_2", {IntHparam{8, 64, {}}, {AtLeast("depth", 2)}}}};
  for (uint64_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    base::Rng rng(seed);
    // With two values, each step chooses the other one.
    const model::Hparams deep = Explore(space, {{"depth", 1}}, 0, 2, rng);
    EXPECT_EQ(deep.at("depth"), Value(2));
    ASSERT_TRUE(deep.contains("width_2"));
    EXPECT_EQ(Explore(space, deep, 0, 2, rng), (model::Hparams{{"depth", 1}}));
  }
}

TEST(ConditionalSpaceTest, DropsHyperparametersWithCyclicConditions) {
  base::Rng rng(1);
  model::Hparams point = Sample(Architecture(), rng);
  point["egg"] = 1;
  point["hen"] = 1;
  point["self"] = 1;
  ExpectArchitecture(Explore(Architecture(), point, 0, 1.2, rng));
}

TEST(ExploreTest, ResamplesWithProbability) {
  const SearchSpace space = {{"x", {DoubleHparam{1, 1000, {}}}}};
  const model::Hparams point = {{"x", 100.0}};
  int drawn = 0;
  for (uint64_t seed = 0; seed < 4000; ++seed) {
    base::Rng rng(seed);
    const double x = *Explore(space, point, 0.25, 2, rng).at("x").AsDouble();
    drawn += x != 50 && x != 200 ? 1 : 0;
  }
  EXPECT_NEAR(drawn, 1000, 150);
}

// A restored or repeated search must explore identically, so the results of a seed never change.
TEST(ExploreTest, IsDeterministic) {
  const SearchSpace space = {{"a", {IntHparam{1, 64, {}}}},
                             {"b", {DoubleHparam{0, 1, {}}}},
                             {"c", {LogHparam{10, -4, -1, {}}}},
                             {"d", {CategoricalHparam{{"x", "y", "z"}}}}};
  base::Rng rng(42);
  model::Hparams point = {{"a", 16}, {"b", 0.5}, {"c", 0.01}, {"d", "y"}};
  std::vector<std::string> trace;
  for (int i = 0; i < 8; ++i) {
    point = Explore(space, point, 0.25, 1.25, rng);
    trace.push_back(Value(point).ToJson());
  }
  EXPECT_THAT(trace, ElementsAre(R"({"a":20,"b":0.4,"c":0.0125,"d":"x"})",
                                 R"({"a":21,"b":0.5,"c":0.015625,"d":"y"})",
                                 R"({"a":63,"b":0.625,"c":0.03873652193831291,"d":"x"})",
                                 R"({"a":50,"b":0.78125,"c":0.04842065242289113,"d":"x"})",
                                 R"({"a":40,"b":0.9765625,"c":0.06052581552861391,"d":"y"})",
                                 R"({"a":32,"b":0.78125,"c":0.0017529902783682708,"d":"z"})",
                                 R"({"a":40,"b":0.625,"c":0.0021912378479603386,"d":"y"})",
                                 R"({"a":32,"b":0.78125,"c":0.0027390473099504235,"d":"z"})"));
}

TEST(ExploreTest, KeepsConstantsAndEmptyMaps) {
  const SearchSpace space = {{"c", {ConstHparam{Value::List{1, "two"}}}},
                             {"empty", {NestedHparam{}}}};
  base::Rng rng(1);
  const model::Hparams point = Sample(space, rng);
  EXPECT_EQ(Explore(space, point, 0.5, 1.2, rng), point);
}

}  // namespace
}  // namespace det::searcher
