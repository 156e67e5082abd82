#include "master/core/experiment/merge_report.h"

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace det::experiment {
namespace {

using ::testing::HasSubstr;

model::MetricReport MakeReport(model::Value::Object metrics, model::Value batch_metrics = {}) {
  model::MetricReport report;
  report.trial = model::TrialId(7);
  report.group = "training";
  report.steps_completed = 10;
  report.metrics = std::move(metrics);
  report.batch_metrics = std::move(batch_metrics);
  return report;
}

TEST(MergeReportTest, AddsNewMetrics) {
  model::MetricReport stored = MakeReport({{"loss", 0.5}});
  EXPECT_EQ(*MergeReport(stored, MakeReport({{"loss", 0.5}})), model::Value::Object{});
  EXPECT_EQ(stored, MakeReport({{"loss", 0.5}})) << "a repeated report";
  EXPECT_EQ(*MergeReport(stored, MakeReport({{"loss", 0.5}, {"acc", 1.5}})),
            (model::Value::Object{{"acc", 1.5}}));
  EXPECT_EQ(stored, MakeReport({{"acc", 1.5}, {"loss", 0.5}}));
}

TEST(MergeReportTest, NamesBothValues_WhenMetricHasAnotherValue) {
  model::MetricReport stored = MakeReport({{"loss", 0.5}});
  const absl::Status refused =
      MergeReport(stored, MakeReport({{"acc", 1.5}, {"loss", 0.75}})).status();
  EXPECT_TRUE(absl::IsInvalidArgument(refused));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("conflicting key: loss"));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("0.5"));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("0.75"));
  EXPECT_EQ(stored, MakeReport({{"loss", 0.5}})) << "nothing of it is kept";
}

std::string GetRefusal(model::Value before, model::Value now) {
  model::MetricReport stored = MakeReport({{"curve", std::move(before)}});
  return std::string(
      MergeReport(stored, MakeReport({{"curve", std::move(now)}})).status().message());
}

TEST(MergeReportTest, NamesFirstDifference_WhenListsOrObjectsAreLong) {
  const model::Value::Object point = {{"x", 1}, {"y", 0.5}};
  const model::Value::List points(100, point);
  model::Value::List others = points;
  (*others[41].MutableObject())["y"] = 0.75;
  (*others[60].MutableObject())["y"] = 1.75;
  EXPECT_THAT(GetRefusal(points, others),
              HasSubstr("conflicting key: curve: the first difference is at [41].y: trial 7 has "
                        "reported 0.5 at step 10 of group training, and now reports 0.75"));
  others = points;
  others.pop_back();
  EXPECT_THAT(GetRefusal(points, others), HasSubstr("at [99]: trial 7 has reported {"));
  EXPECT_THAT(GetRefusal(points, others), HasSubstr("now reports nothing"));
  EXPECT_THAT(GetRefusal(model::Value::Object{{"all", points}},
                         model::Value::Object{{"all", points}, {"more", 2}}),
              HasSubstr("at .more: trial 7 has reported nothing at step 10 of group training, and "
                        "now reports 2"));
}

TEST(MergeReportTest, CutsLongValuesBetweenCharacters) {
  const std::string before(500, 'a');
  const std::string now = std::string(198, 'b') + "\u00e4" + std::string(300, 'b');
  const std::string refusal = GetRefusal(before, now);
  EXPECT_THAT(refusal, HasSubstr("reported \"" + std::string(199, 'a') + "... (502 bytes) at"));
  EXPECT_THAT(refusal, HasSubstr("now reports \"" + std::string(198, 'b') + "... (502 bytes)"));
  EXPECT_THAT(GetRefusal(model::Value::List{before}, model::Value::List{1}),
              HasSubstr("at [0]: trial 7 has reported \"aaa"));
}

TEST(MergeReportTest, KeepsMetricsOfBatches) {
  const model::Value batches = model::Value::List{model::Value::Object{{"loss", 0.25}}};
  const model::Value others = model::Value::List{model::Value::Object{{"loss", 0.125}}};
  model::MetricReport stored = MakeReport({{"loss", 0.5}});
  ASSERT_TRUE(MergeReport(stored, MakeReport({{"acc", 1.5}}, batches)).ok());
  EXPECT_EQ(stored.batch_metrics, batches);
  ASSERT_TRUE(MergeReport(stored, MakeReport({{"top5", 2.5}})).ok());
  EXPECT_EQ(stored.batch_metrics, batches);
  const absl::Status refused = MergeReport(stored, MakeReport({{"more", 1.5}}, others)).status();
  EXPECT_TRUE(absl::IsInvalidArgument(refused));
  EXPECT_THAT(std::string(refused.message()), HasSubstr("existing batch metrics"));
  EXPECT_EQ(stored.metrics.Find("more"), nullptr);
}

TEST(MergeReportTest, AddsToReportWithoutMetrics) {
  model::MetricReport stored = MakeReport({});
  stored.metrics = model::Value();
  EXPECT_EQ(*MergeReport(stored, MakeReport({{"loss", 0.5}})),
            (model::Value::Object{{"loss", 0.5}}));
  EXPECT_EQ(stored, MakeReport({{"loss", 0.5}}));
}

}  // namespace
}  // namespace det::experiment
