// Conditions of triggers: validated when a webhook is created, and evaluated on metric reports.
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

// Returns the condition with defaults filled in. INVALID_ARGUMENT tells what a trigger of this type
// needs:
//   EXPERIMENT_STATE_CHANGE    state: ACTIVE, PAUSED, COMPLETED, CANCELED or ERROR
//   METRIC_THRESHOLD_EXCEEDED  metric; value; op: >, >=, <, <= (without: >); group (validation)
//   TASK_LOG                   regex (RE2), of a part of a line
//   CUSTOM                     nothing
absl::StatusOr<model::Value> CheckCondition(model::WebhookTrigger type,
                                            const model::Value& condition);

// The value of the metric if the report satisfies the condition; nullopt for NaN.
std::optional<double> FindExceedingValue(const model::Value& condition,
                                         const model::MetricReport& report);

}  // namespace det::webhooks

#endif  // MASTER_WEBHOOKS_CONDITIONS_H_
