#include "master/webhooks/conditions.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "master/core/experiment/webhook_payload.h"
#include "master/core/model/extras_config.h"
#include "master/core/model/states.h"
#include "master/store/interfaces/canonical.h"
#include <re2/re2.h>

namespace det::webhooks {
namespace {

using model::Value;

constexpr size_t kTextLimit = 4096;

std::string GetText(const Value& condition, const char* key) {
  const Value* found = condition.Find(key);
  return found == nullptr || found->AsString() == nullptr ? "" : *found->AsString();
}

absl::Status Refuse(model::WebhookTrigger type, const std::string& text) {
  return absl::InvalidArgumentError(
      absl::StrCat("condition of a trigger ", std::string(ToString(type)), ": ", text));
}

// A state of the API, with or without its prefix.
absl::StatusOr<Value> CheckState(const Value& condition) {
  std::string text = GetText(condition, "state");
  if (text.starts_with("STATE_")) text.erase(0, 6);
  const auto state = model::ParseExperimentState(text);
  if (!state || !experiment::IsNotifiable(*state)) {
    return Refuse(model::WebhookTrigger::kExperimentStateChange,
                  "expected state: ACTIVE, PAUSED, COMPLETED, CANCELED or ERROR");
  }
  return Value(Value::Object{{"state", text}});
}

absl::StatusOr<Value> CheckMetric(const Value& condition) {
  Value::Object out;
  out["metric"] = GetText(condition, "metric");
  out["group"] = GetText(condition, "group");
  out["op"] = GetText(condition, "op");
  // Existing clients call the value `threshold`.
  const Value* threshold = condition.Find("threshold");
  const Value* given = condition.Find("value");
  if (given == nullptr) given = threshold;
  const double value = given == nullptr ? std::nan("") : given->AsNumber().value_or(std::nan(""));
  if (GetText(out, "group").empty()) out["group"] = "validation";
  if (GetText(out, "op").empty()) out["op"] = ">";
  const std::string op = GetText(out, "op");
  const bool known = op == ">" || op == ">=" || op == "<" || op == "<=";
  if (GetText(out, "metric").empty() || !std::isfinite(value) || !known) {
    return Refuse(model::WebhookTrigger::kMetricThresholdExceeded,
                  "expected metric: its name, value: a number, op: >, >=, < or <=, and group, "
                  "default validation");
  }
  out["value"] = value;
  if (given == threshold) out["threshold"] = value;
  return Value(std::move(out));
}

absl::StatusOr<Value> CheckRegex(const Value& condition) {
  const std::string regex = GetText(condition, "regex");
  RE2::Options options(RE2::Quiet);
  options.set_max_mem(model::kLogPatternMemory);
  const RE2 compiled(regex, options);
  if (regex.empty() || regex.size() > kTextLimit || !compiled.ok()) {
    return Refuse(model::WebhookTrigger::kTaskLog,
                  regex.empty()
                      ? "expected regex: a regular expression (RE2)"
                      : absl::StrCat("regex: ", compiled.ok() ? "is too long" : compiled.error()));
  }
  return Value(Value::Object{{"regex", regex}});
}

}  // namespace

absl::StatusOr<Value> CheckCondition(model::WebhookTrigger type, const Value& condition) {
  switch (type) {
    case model::WebhookTrigger::kExperimentStateChange:
      return CheckState(condition);
    case model::WebhookTrigger::kMetricThresholdExceeded:
      return CheckMetric(condition);
    case model::WebhookTrigger::kTaskLog:
      return CheckRegex(condition);
    case model::WebhookTrigger::kCustom:
      break;
  }
  return Value(Value::Object{});
}

std::optional<double> FindExceedingValue(const Value& condition,
                                         const model::MetricReport& report) {
  if (report.group != GetText(condition, "group")) return std::nullopt;
  const std::optional<double> metric =
      store::GetMetricNumber(report.metrics, GetText(condition, "metric"));
  const Value* limit = condition.Find("value");
  if (!metric || limit == nullptr || !limit->AsNumber()) return std::nullopt;
  const std::string op = GetText(condition, "op");
  const double value = *limit->AsNumber();
  const bool holds = op == ">"    ? *metric > value
                     : op == ">=" ? *metric >= value
                     : op == "<"  ? *metric < value
                                  : *metric <= value;
  return holds ? metric : std::nullopt;
}

}  // namespace det::webhooks
