#include "master/webhooks/conditions.h"

#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "master/core/experiment/facts.h"
#include "master/core/model/extras_config.h"
#include "master/core/model/states.h"
#include "master/store/interfaces/canonical.h"
#include <re2/re2.h>

namespace det::webhooks {
namespace {

using model::Value;

constexpr size_t kTextLimit = 4096;

std::string TextAt(const Value& condition, const char* key) {
  const Value* found = condition.Find(key);
  return found == nullptr || found->AsString() == nullptr ? "" : *found->AsString();
}

absl::Status Refuse(model::WebhookTrigger type, const std::string& text) {
  return absl::InvalidArgumentError(
      absl::StrCat("condition of a trigger ", std::string(ToString(type)), ": ", text));
}

// Of the API, with its prefix or without.
absl::StatusOr<Value> CheckState(const Value& condition) {
  std::string text = TextAt(condition, "state");
  if (text.starts_with("STATE_")) text.erase(0, 6);
  const auto state = model::ParseExperimentState(text);
  if (!state || !experiment::IsTold(*state)) {
    return Refuse(model::WebhookTrigger::kExperimentStateChange,
                  "expected state: ACTIVE, PAUSED, COMPLETED, CANCELED or ERROR");
  }
  return Value(Value::Object{{"state", text}});
}

absl::StatusOr<Value> CheckMetric(const Value& condition) {
  Value::Object out;
  out["metric"] = TextAt(condition, "metric");
  out["group"] = TextAt(condition, "group");
  out["op"] = TextAt(condition, "op");
  const Value* given = condition.Find("value");
  const double value = given == nullptr ? std::nan("") : given->AsNumber().value_or(std::nan(""));
  if (TextAt(out, "group").empty()) out["group"] = "validation";
  if (TextAt(out, "op").empty()) out["op"] = ">";
  const std::string op = TextAt(out, "op");
  const bool known = op == ">" || op == ">=" || op == "<" || op == "<=";
  if (TextAt(out, "metric").empty() || !std::isfinite(value) || !known) {
    return Refuse(model::WebhookTrigger::kMetricThresholdExceeded,
                  "expected metric: its name, value: a number, op: >, >=, < or <=, and group, "
                  "which is validation unless it says another");
  }
  out["value"] = value;
  return Value(std::move(out));
}

absl::StatusOr<Value> CheckRegex(const Value& condition) {
  const std::string regex = TextAt(condition, "regex");
  RE2::Options options(RE2::Quiet);
  options.set_max_mem(model::kLogPatternMemory);
  const RE2 compiled(regex, options);
  if (regex.empty() || regex.size() > kTextLimit || !compiled.ok()) {
    return Refuse(model::WebhookTrigger::kTaskLog,
                  regex.empty()
                      ? "expected regex: an expression of RE2"
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

std::optional<double> Exceeds(const Value& condition, const model::MetricReport& report) {
  if (report.group != TextAt(condition, "group")) return std::nullopt;
  const std::optional<double> metric =
      store::MetricNumber(report.metrics, TextAt(condition, "metric"));
  const Value* limit = condition.Find("value");
  if (!metric || limit == nullptr || !limit->AsNumber()) return std::nullopt;
  const std::string op = TextAt(condition, "op");
  const double value = *limit->AsNumber();
  const bool holds = op == ">"    ? *metric > value
                     : op == ">=" ? *metric >= value
                     : op == "<"  ? *metric < value
                                  : *metric <= value;
  return holds ? metric : std::nullopt;
}

}  // namespace det::webhooks
