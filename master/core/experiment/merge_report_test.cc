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
