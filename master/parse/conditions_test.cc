// Hyperparameters that are there only when others have certain values.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "master/parse/testing.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace det::model {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kSpace[] =
    "hyperparameters:\n"
    "  opt: {type: categorical, vals: [sgd, adam, null]}\n"
    "  layers: {type: int, minval: 1, maxval: 4}\n"
    "  rate: {type: double, minval: 0.5, maxval: 1}\n"
    "  decay: {type: log, base: 10, minval: -3, maxval: -1}\n"
    "  fixed: relu\n"
    "  net: {kind: {type: categorical, vals: [1, 2.5]}, deep: {x: 1}}\n";

std::string WithWhen(const std::string& when) {
  return absl::StrCat(kMinimal, kSpace, "  m: {type: double, minval: 0, maxval: 1, when: ", when,
                      "}\n");
}

TEST(ConditionsTest, ReadsEveryForm) {
  const auto config = Parse(WithWhen(
      "{opt: sgd, layers: {minval: 2, maxval: 3}, net.kind: [1, 2.5], rate: {maxval: 0.7},\n"
      "   fixed: relu, decay: 0.01}"));
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_THAT(
      config->hyperparameters.at("m").when,
      ElementsAre(Condition{"decay", {0.01}, {}, {}}, Condition{"fixed", {"relu"}, {}, {}},
                  Condition{"layers", {}, 2.0, 3.0}, Condition{"net.kind", {1, 2.5}, {}, {}},
                  Condition{"opt", {"sgd"}, {}, {}}, Condition{"rate", {}, {}, 0.7}));
}

TEST(ConditionsTest, AMapsConditionsAreItsMembersOwn) {
  const auto config = Parse(absl::StrCat(kMinimal, kSpace, R"(
  sgd: {when: {opt: sgd}, nesterov: {type: const, val: true},
        inner: {when: {layers: {minval: 2}}, v: {type: int, minval: 0, maxval: 9}}}
)"));
  ASSERT_TRUE(config.ok()) << config.status();
  const Hyperparameter& sgd = config->hyperparameters.at("sgd");
  EXPECT_TRUE(sgd.when.empty());
  const SearchSpace& members = std::get<NestedHparam>(sgd.kind).members;
  EXPECT_THAT(members.at("nesterov").when, ElementsAre(Condition{"opt", {"sgd"}, {}, {}}));
  const auto& inner = std::get<NestedHparam>(members.at("inner").kind).members;
  EXPECT_THAT(inner.at("v").when,
              ElementsAre(Condition{"layers", {}, 2.0, {}}, Condition{"opt", {"sgd"}, {}, {}}));
  EXPECT_EQ(members.size(), 2u);
}

TEST(ConditionsTest, AtTheTopWhenIsANameLikeAnother) {
  const auto config = Parse(absl::StrCat(kMinimal, "hyperparameters: {when: 3}\n"));
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->hyperparameters.at("when"), (Hyperparameter{ConstHparam{3}}));
}

TEST(ConditionsTest, RefusesWhatNeverHoldsOrMeansNothing) {
  struct Bad {
    const char* when;
    const char* message;
  };
  const Bad cases[] = {
      {"{opts: sgd}", "m.when.opts: there is no hyperparameter opts; did you mean opt?"},
      {"{zzzzz: 1}",
       "there is no hyperparameter zzzzz; known: decay, fixed, layers, m, net.deep.x"},
      {"{m: 0.5}", "m.when.m: looks at itself"},
      {"{net: 1}", "net is a map of hyperparameters; name one of them"},
      {"{net.deep.y: 1}", "there is no hyperparameter net.deep.y; did you mean net.deep.x?"},
      {"{opt: rmsprop}", "opt is never \"rmsprop\", but what {\"type\":\"categorical\""},
      {"{opt: [sgd, lion]}", "opt is never \"lion\""},
      {"{layers: 5}", "layers is never 5"},
      {"{layers: 1.5}", "layers is never 1.5"},
      {"{layers: two}", "layers is never \"two\""},
      {"{rate: 0.1}", "rate is never 0.1"},
      {"{decay: 1}", "decay is never 1"},
      {"{fixed: gelu}", "fixed is never \"gelu\""},
      {"{opt: {minval: 1}}", "opt is not always a number; list the values instead"},
      {"{fixed: {minval: 1}}", "fixed is not always a number"},
      {"{layers: {}}",
       "expected a value, a list of values or {minval, maxval}, found an empty map"},
      {"{layers: {min: 1}}", "expected a value, a list of values or {minval, maxval}, found a map"},
      {"{layers: {minval: a}}", "expected a value, a list of values or {minval, maxval}"},
      {"{layers: {minval: 3, maxval: 2}}", "minval 3 is greater than maxval 2"},
      {"{layers: []}", "found an empty list"},
      {"{layers: null}", "found null"},
      {"3", "m.when: expected a map such as {optimizer: sgd}, found 3"},
      {"[opt]", "m.when: expected a map such as {optimizer: sgd}, found a list"},
  };
  for (const Bad& bad : cases) {
    const std::string message = Error(WithWhen(bad.when));
    EXPECT_THAT(message, HasSubstr(bad.message)) << bad.when;
    EXPECT_THAT(message, HasSubstr("const.yaml:10: hyperparameters.m.when")) << bad.when;
    EXPECT_EQ(message.find('\n'), message.npos) << message;
  }
  EXPECT_THAT(Error(absl::StrCat(kMinimal, "hyperparameters: {a: {when: 3, b: 1}}\n")),
              HasSubstr("hyperparameters.a.when: expected a map"));
  EXPECT_THAT(Error(absl::StrCat(kMinimal, R"(
hyperparameters:
  a: {type: categorical, vals: [1, 2]}
  g: {when: {a: 1}, b: {type: const, val: 1, when: {a: 2}}}
)")),
              HasSubstr("the map around it has a condition on a already"));
}

TEST(ConditionsTest, RefusesCircles) {
  EXPECT_EQ(
      Error(absl::StrCat(kMinimal, R"(hyperparameters:
  a: {type: int, minval: 0, maxval: 1, when: {b: 1}}
  b: {type: int, minval: 0, maxval: 1, when: {c.d: 1}}
  c: {d: {type: int, minval: 0, maxval: 1, when: {a: 1}}}
  leads_in: {type: int, minval: 0, maxval: 1, when: {a: 1}}
)")),
      "const.yaml:4: hyperparameters.a.when.b: conditions go in a circle: a -> b -> c.d -> a");
  // Through the condition of a map around it.
  EXPECT_THAT(Error(absl::StrCat(kMinimal, R"(hyperparameters:
  g: {when: {x: 1}, y: {type: int, minval: 0, maxval: 1}}
  x: {type: int, minval: 0, maxval: 1, when: {g.y: 1}}
)")),
              HasSubstr("conditions go in a circle: g.y -> x -> g.y"));
}

}  // namespace
}  // namespace det::model
