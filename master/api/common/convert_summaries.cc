// Converts summaries of metrics.
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "master/api/common/convert.h"

namespace det::api {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::string GetSummaryGroup(const std::string& group) {
  if (group == "training") return "avg_metrics";
  if (group == "validation") return "validation_metrics";
  return group;
}

void AddStatistics(const store::MetricSummary& summary, model::Value::Object* out) {
  const int64_t count =
      summary.count + summary.nans + summary.infinities + summary.negative_infinities;
  double sum = summary.sum;
  if (summary.infinities > 0) sum += kInfinity;
  if (summary.negative_infinities > 0) sum -= kInfinity;
  double min = summary.count > 0 ? summary.min : kInfinity;
  if (summary.negative_infinities > 0) min = -kInfinity;
  double max = summary.count > 0 ? summary.max : -kInfinity;
  if (summary.infinities > 0) max = kInfinity;
  if (summary.nans > 0) sum = min = max = std::numeric_limits<double>::quiet_NaN();
  (*out)["count"] = count;
  (*out)["sum"] = sum;
  (*out)["mean"] = sum / static_cast<double>(count);
  (*out)["min"] = min;
  (*out)["max"] = max;
}

}  // namespace

google::protobuf::Struct ToProto(const store::MetricSummaries& summaries) {
  model::Value::Object groups;
  for (const auto& [name, summary] : summaries) {
    model::Value::Object metric = {{"type", summary.type}, {"last", summary.newest}};
    if (summary.type == "number") AddStatistics(summary, &metric);
    model::Value& group =
        groups.emplace(GetSummaryGroup(name.first), model::Value::Object()).first->second;
    (*group.MutableObject())[name.second] = std::move(metric);
  }
  return ToStruct(std::move(groups));
}

}  // namespace det::api
