#include "master/core/model/webhook.h"

#include "master/core/model/names.h"

namespace det::model {
namespace {

constexpr Name<WebhookTrigger> kTriggers[] = {
    {WebhookTrigger::kExperimentStateChange, "EXPERIMENT_STATE_CHANGE"},
    {WebhookTrigger::kMetricThresholdExceeded, "METRIC_THRESHOLD_EXCEEDED"},
    {WebhookTrigger::kTaskLog, "TASK_LOG"},
    {WebhookTrigger::kCustom, "CUSTOM"},
};

}  // namespace

std::string_view ToString(WebhookTrigger trigger) { return TextOf(kTriggers, trigger); }
std::optional<WebhookTrigger> ParseWebhookTrigger(std::string_view text) {
  return ValueOf(kTriggers, text);
}

}  // namespace det::model
