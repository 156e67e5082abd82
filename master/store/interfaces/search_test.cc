#include "master/store/interfaces/search.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace det::store {
namespace {

using testing::HasSubstr;

std::string Field(const std::string& more) {
  return absl::StrCat(R"({"kind":"field",)", more, "}");
}
std::string Group(const std::string& conjunction, const std::string& children) {
  return absl::StrCat(R"({"kind":"group","conjunction":")", conjunction, R"(","children":[)",
                      children, "]}");
}
std::string Whole(const std::string& group) {
  return absl::StrCat(R"({"showArchived":true,"filterGroup":)", group, "}");
}
std::string GetError(const std::string& field) {
  const auto search = ParseSearch(Table::kRuns, Whole(Group("and", Field(field))), "");
  EXPECT_TRUE(absl::IsInvalidArgument(search.status())) << field;
  return std::string(search.status().message());
}
Condition Only(Table table, const std::string& field) {
  const auto search = ParseSearch(table, Whole(Group("and", Field(field))), "");
  EXPECT_TRUE(search.ok()) << search.status();
  if (!search.ok()) return {};
  const Filter* filter = &search->filter;
  while (!filter->condition && filter->parts.size() == 1) filter = &filter->parts[0];
  EXPECT_TRUE(filter->condition.has_value());
  return filter->condition.value_or(Condition{});
}

TEST(SearchTest, ParsesNestedGroups) {
  const std::string id = Field(R"("columnName":"id","operator":">","value":3)");
  const std::string name =
      Field(R"("columnName":"experimentName","operator":"contains","value":"x")");
  const auto search =
      ParseSearch(Table::kRuns, Whole(Group("or", id + "," + Group("and", id + "," + name))), "");
  ASSERT_TRUE(search.ok()) << search.status();
  ASSERT_EQ(search->filter.parts.size(), 1u);
  const Filter& top = search->filter.parts[0];
  EXPECT_TRUE(top.any);
  ASSERT_EQ(top.parts.size(), 2u);
  EXPECT_EQ(std::get<double>(top.parts[0].condition->operand), 3);
  EXPECT_FALSE(top.parts[1].any);
  EXPECT_EQ(top.parts[1].parts[1].condition->column.field, store::Field::kName);
}

TEST(SearchTest, ExcludesArchivedByDefault) {
  EXPECT_TRUE(ParseSearch(Table::kRuns, "", "")->filter.parts.empty());
  EXPECT_TRUE(ParseSearch(Table::kRuns, R"({"showArchived":true})", "")->filter.parts.empty());
  const auto search = ParseSearch(Table::kRuns, Group("and", ""), "");
  ASSERT_TRUE(search.ok()) << search.status();
  ASSERT_EQ(search->filter.parts.size(), 1u);
  EXPECT_EQ(search->filter.parts[0].condition->column.field, store::Field::kArchived);
}

TEST(SearchTest, ParsesColumnNames) {
  Condition c = Only(Table::kRuns, R"("columnName":"hp.optimizer.lr","operator":"<",
      "type":"COLUMN_TYPE_NUMBER","value":"0.5")");
  EXPECT_EQ(c.column.kind, Column::Kind::kValue);
  EXPECT_EQ(c.column.key, "hp.optimizer.lr");
  EXPECT_EQ(std::get<double>(c.operand), 0.5);
  c = Only(Table::kExperiments,
           R"("columnName":"validation.top.5/acc.max","operator":">=","value":1)");
  EXPECT_EQ(c.column.kind, Column::Kind::kMetric);
  EXPECT_EQ(c.column.group, "validation");
  EXPECT_EQ(c.column.metric, "top.5/acc");
  EXPECT_EQ(c.column.statistic, Statistic::kMax);
  c = Only(Table::kRuns, R"("columnName":"hp.lr.min","operator":">","value":1,
      "location":"LOCATION_TYPE_CUSTOM_METRIC")");
  EXPECT_EQ(c.column.group, "hp");
  c = Only(Table::kRuns, R"("columnName":"metadata.a.b","operator":"isEmpty")");
  EXPECT_EQ(c.column.key, "metadata.a.b");
  c = Only(Table::kRuns, R"("columnName":"x","operator":">=","value":2,
      "location":"LOCATION_TYPE_RUN_HYPERPARAMETERS","type":"COLUMN_TYPE_NUMBER")");
  EXPECT_EQ(c.column.key, "hp.x") << "the location says what the name is";
  c = Only(Table::kRuns, R"("columnName":"team","operator":"isEmpty",
      "location":"LOCATION_TYPE_RUN_METADATA")");
  EXPECT_EQ(c.column.key, "metadata.team");
  c = Only(Table::kExperiments, R"("columnName":"name","operator":"=","value":"x")");
  EXPECT_EQ(c.column.field, store::Field::kName);
  EXPECT_EQ(Only(Table::kRuns, R"("columnName":"name","operator":"=","value":"x")").column.field,
            store::Field::kName);
}

TEST(SearchTest, ReportsInvalidPart) {
  EXPECT_THAT(GetError(R"("columnName":"colour","operator":"=","value":1)"), HasSubstr("colour"));
  EXPECT_THAT(GetError(R"("columnName":"validation.loss.best","operator":"=","value":1)"),
              HasSubstr("validation.loss.best"));
  EXPECT_THAT(GetError(R"("columnName":"id","operator":"~","value":1)"), HasSubstr("\"~\""));
  EXPECT_THAT(GetError(R"("columnName":"id","operator":"contains","value":1)"),
              HasSubstr("does not apply to its type"));
  EXPECT_THAT(GetError(R"("columnName":"tags","operator":"<","value":1)"),
              HasSubstr("does not apply to its type"));
  EXPECT_THAT(GetError(R"("columnName":"id","operator":"=","value":"x")"),
              HasSubstr("not a number"));
  EXPECT_THAT(GetError(R"("columnName":"startTime","operator":">","value":"soon")"),
              HasSubstr("not a time"));
  EXPECT_THAT(GetError(R"("columnName":"archived","operator":"=","value":"perhaps")"),
              HasSubstr("neither true nor false"));
  EXPECT_THAT(ParseSearch(Table::kRuns, "{", "").status().message(), HasSubstr("not valid JSON"));
  EXPECT_THAT(ParseSearch(Table::kRuns, Whole(Group("xor", "")), "").status().message(),
              HasSubstr("xor"));
  EXPECT_THAT(
      ParseSearch(Table::kRuns, Whole(Group("and", R"({"kind":"x"})")), "").status().message(),
      HasSubstr("\"x\""));
  EXPECT_THAT(ParseSearch(Table::kRuns, "", "id=up").status().message(), HasSubstr("id=up"));
  EXPECT_THAT(ParseSearch(Table::kRuns, "", "colour=asc").status().message(), HasSubstr("colour"));
  std::string deep = Group("and", "");
  for (int i = 0; i < 20; ++i) deep = Group("and", deep);
  EXPECT_THAT(ParseSearch(Table::kRuns, Whole(deep), "").status().message(), HasSubstr("deeper"));
}

TEST(SearchTest, IgnoresConditionWithoutValue) {
  const std::string unsaid = Field(R"("columnName":"id","operator":"=","value":null)");
  const auto search =
      ParseSearch(Table::kRuns, Whole(Group("and", unsaid + "," + Group("or", unsaid))), "");
  ASSERT_TRUE(search.ok()) << search.status();
  EXPECT_TRUE(search->filter.parts.empty());
}

TEST(SearchTest, ComparesNumbersWithUserIds) {
  const Condition number = Only(Table::kRuns, R"("columnName":"user","operator":"=","value":1)");
  EXPECT_EQ(number.column.field, Field::kUserId);
  EXPECT_EQ(std::get<double>(number.operand), 1);
  const Condition name =
      Only(Table::kRuns, R"("columnName":"user","operator":"=","value":"admin")");
  EXPECT_EQ(name.column.field, Field::kUser);
}

TEST(SearchTest, UsesShownStates) {
  const auto search = ParseSearch(
      Table::kRuns,
      Whole(Group("and", Field(R"("columnName":"state","operator":"=","value":"STATE_ACTIVE")"))),
      "");
  ASSERT_TRUE(search.ok()) << search.status();
  const Filter& states = search->filter.parts[0].parts[0];
  EXPECT_TRUE(states.any);
  ASSERT_EQ(states.parts.size(), 2u);
  EXPECT_EQ(std::get<std::string>(states.parts[0].condition->operand), "QUEUED");
  const auto part = ParseSearch(
      Table::kRuns,
      Whole(Group("and", Field(R"("columnName":"state","operator":"contains","value":"active")"))),
      "");
  EXPECT_TRUE(part.ok() && part->filter.parts[0].parts[0].any) << "one of both, never both";
  const Condition running =
      Only(Table::kExperiments, R"("columnName":"state","operator":"=","value":"STATE_STARTING")");
  EXPECT_EQ(running.column.field, Field::kShownState);
  EXPECT_EQ(std::get<std::string>(running.operand), "RUNNING");
  const Condition active =
      Only(Table::kExperiments, R"("columnName":"state","operator":"=","value":"active")");
  EXPECT_EQ(active.column.field, Field::kState);
  EXPECT_EQ(std::get<std::string>(active.operand), "ACTIVE");
}

TEST(SearchTest, ParsesSortOrders) {
  const auto search = ParseSearch(Table::kRuns, "", "hp.lr=asc, validation.loss.min=desc,id");
  ASSERT_TRUE(search.ok()) << search.status();
  ASSERT_EQ(search->order.size(), 3u);
  EXPECT_EQ(search->order[0].column.key, "hp.lr");
  EXPECT_TRUE(search->order[1].descending);
  EXPECT_FALSE(search->order[2].descending);
}

}  // namespace
}  // namespace det::store
