// Converts metric reports.
#include "absl/time/time.h"
#include "master/api/common/convert.h"

namespace det::api {
namespace {

google::protobuf::Value ToListValue(const model::Value& batches) {
  google::protobuf::Value out = ToProtoValue(batches);
  if (!out.has_list_value() || out.list_value().values().empty()) {
    out.set_null_value(google::protobuf::NULL_VALUE);
  }
  return out;
}

}  // namespace

v1::Metrics ToMetrics(const model::Value& metrics, const model::Value& batches) {
  v1::Metrics out;
  if (!metrics.is_null()) *out.mutable_avg_metrics() = ToStruct(metrics);
  if (const model::Value::List* list = batches.AsList()) {
    for (const model::Value& batch : *list) *out.add_batch_metrics() = ToStruct(batch);
  }
  return out;
}

v1::MetricsWorkload ToWorkload(const model::MetricReport& report, bool with_batches) {
  v1::MetricsWorkload out;
  *out.mutable_end_time() = ToProto(report.time);
  *out.mutable_metrics() =
      ToMetrics(report.metrics, with_batches ? report.batch_metrics : model::Value());
  out.set_total_batches(static_cast<int32_t>(report.steps_completed));
  return out;
}

v1::MetricsReport ToProto(const model::MetricReport& report) {
  v1::MetricsReport out;
  out.set_trial_id(report.trial.value());
  // Existing clients get milliseconds here.
  *out.mutable_end_time() = ToProto(absl::FromUnixMillis(absl::ToUnixMillis(report.time)));
  auto& fields = *out.mutable_metrics()->mutable_fields();
  if (report.group == "validation") {
    *fields["validation_metrics"].mutable_struct_value() = ToStruct(report.metrics);
  } else {
    *fields["avg_metrics"].mutable_struct_value() = ToStruct(report.metrics);
    fields["batch_metrics"] = ToListValue(report.batch_metrics);
  }
  out.set_total_batches(static_cast<int32_t>(report.steps_completed));
  out.set_trial_run_id(report.run_id);
  out.set_group(report.group);
  return out;
}

}  // namespace det::api
