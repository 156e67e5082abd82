// Metrics in the three forms in which responses contain them.
#include <string>

#include "google/protobuf/util/json_util.h"
#include "gtest/gtest.h"
#include "master/api/common/convert.h"

namespace det::api {
namespace {

using model::Value;

std::string ToJson(const google::protobuf::Message& message) {
  std::string json;
  EXPECT_TRUE(google::protobuf::util::MessageToJsonString(message, &json).ok());
  return json;
}

model::MetricReport MakeReport(const std::string& group) {
  model::MetricReport report;
  report.trial = model::TrialId(3);
  report.group = group;
  report.metrics = Value::Object{{"loss", 0.5}};
  report.batch_metrics = Value::List{Value::Object{{"loss", 1.5}}};
  return report;
}

TEST(ConvertMetrics, SeparatesMeansAndBatches) {
  const model::MetricReport report = MakeReport("training");
  const char* const all = R"({"avgMetrics":{"loss":0.5},"batchMetrics":[{"loss":1.5}]})";
  EXPECT_EQ(ToJson(ToMetrics(report.metrics, report.batch_metrics)), all);
  EXPECT_EQ(ToJson(ToWorkload(report, true).metrics()), all);
  EXPECT_EQ(ToJson(ToWorkload(report, false).metrics()), R"({"avgMetrics":{"loss":0.5}})");
}

TEST(ConvertMetrics, LeavesMeansUnset_WithoutReport) {
  EXPECT_FALSE(ToMetrics({}, {}).has_avg_metrics());
  EXPECT_TRUE(ToMetrics(Value::Object{}, {}).has_avg_metrics());
}

// The metrics of a report, as JSON with sorted members.
std::string GetMetrics(const model::MetricReport& report) {
  return FromStruct(ToProto(report).metrics(), Numbers::kDoubles).ToJson();
}

TEST(ConvertMetrics, NamesMetricsOfReportByGroup) {
  EXPECT_EQ(GetMetrics(MakeReport("validation")), R"({"validation_metrics":{"loss":0.5}})");
  model::MetricReport report = MakeReport("inference");
  EXPECT_EQ(GetMetrics(report), R"({"avg_metrics":{"loss":0.5},"batch_metrics":[{"loss":1.5}]})");
  for (const Value& none : {Value(), Value(Value::List{})}) {
    report.batch_metrics = none;
    EXPECT_EQ(GetMetrics(report), R"({"avg_metrics":{"loss":0.5},"batch_metrics":null})");
  }
}

}  // namespace
}  // namespace det::api
