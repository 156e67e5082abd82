#include <string>

#include "gtest/gtest.h"
#include "master/api/common/convert.h"

namespace det::api {
namespace {

// The members of a metric as text: "count=2 last=1".
std::string GetText(const store::MetricSummary& summary, const std::string& group,
                    const std::string& shown_group) {
  const model::Value all = FromStruct(ToProto({{{group, "m"}, summary}}), Numbers::kDoubles);
  std::string text;
  for (const auto& [key, value] : *all.Find(shown_group)->Find("m")->AsObject()) {
    text += key + "=" + value.ToJson() + " ";
  }
  return text;
}

TEST(ConvertSummariesTest, RenamesGroupsOfExistingClients) {
  const store::MetricSummary summary{
      .count = 2, .sum = 3, .min = 1, .max = 2, .last = 1, .newest = 1.0};
  const std::string text = "count=2.0 last=1.0 max=2.0 mean=1.5 min=1.0 sum=3.0 type=\"number\" ";
  EXPECT_EQ(GetText(summary, "training", "avg_metrics"), text);
  EXPECT_EQ(GetText(summary, "validation", "validation_metrics"), text);
  EXPECT_EQ(GetText(summary, "mine", "mine"), text);
}

TEST(ConvertSummariesTest, IncludesNumbersThatAreNotFinite) {
  store::MetricSummary summary{
      .count = 1, .sum = 0.5, .min = 0.5, .max = 0.5, .last = 0.5, .infinities = 1};
  EXPECT_EQ(GetText(summary, "g", "g"),
            "count=2.0 last=null max=\"Infinity\" mean=\"Infinity\" min=0.5 sum=\"Infinity\" "
            "type=\"number\" ");
  summary.nans = 1;
  EXPECT_EQ(GetText(summary, "g", "g"),
            "count=3.0 last=null max=\"NaN\" mean=\"NaN\" min=\"NaN\" sum=\"NaN\" "
            "type=\"number\" ");
  EXPECT_EQ(GetText({.negative_infinities = 1}, "g", "g"),
            "count=1.0 last=null max=\"-Infinity\" mean=\"-Infinity\" min=\"-Infinity\" "
            "sum=\"-Infinity\" type=\"number\" ");
}

TEST(ConvertSummariesTest, ShowsOnlyTypeAndLastOfOtherValues) {
  EXPECT_EQ(GetText({.type = "boolean", .newest = true}, "g", "g"), "last=true type=\"boolean\" ");
}

}  // namespace
}  // namespace det::api
