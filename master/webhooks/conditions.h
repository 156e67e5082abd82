// What triggers ask for: checked when a webhook is made, and held against what trials report.
//
// Any thread. Does no I/O.
#ifndef MASTER_WEBHOOKS_CONDITIONS_H_
#define MASTER_WEBHOOKS_CONDITIONS_H_

#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "master/core/model/reports.h"
#include "master/core/model/value.h"
#include "master/core/model/webhook.h"

namespace det::webhooks {

// The condition with what it leaves out. INVALID_ARGUMENT says what a trigger of this type needs:
//   EXPERIMENT_STATE_CHANGE    state: ACTIVE, PAUSED, COMPLETED, CANCELED or ERROR
//   METRIC_THRESHOLD_EXCEEDED  metric; value; op: >, >=, <, <= (without: >); group (validation)
//   TASK_LOG                   regex (RE2), of a part of a line
//   CUSTOM                     nothing
absl::StatusOr<model::Value> CheckCondition(model::WebhookTrigger type,
                                            const model::Value& condition);

// What the metric is where the report meets the condition; never for NaN.
std::optional<double> Exceeds(const model::Value& condition, const model::MetricReport& report);

}  // namespace det::webhooks

#endif  // MASTER_WEBHOOKS_CONDITIONS_H_
