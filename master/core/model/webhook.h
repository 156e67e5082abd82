// An event of an experiment that webhooks are notified of, as a value.
//
// Any thread. PURE.
#ifndef MASTER_CORE_MODEL_WEBHOOK_H_
#define MASTER_CORE_MODEL_WEBHOOK_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/time/time.h"
#include "master/core/model/ids.h"
#include "master/core/model/value.h"

namespace det::model {

enum class WebhookTrigger {
  kExperimentStateChange,    // condition {state}
  kMetricThresholdExceeded,  // {metric, group, op, value}
  kTaskLog,                  // {regex}
  kCustom,                   // {}
};

// An event for webhooks. The store finds the webhooks to notify: those of the experiment's
// workspace and global ones that the experiment's configuration does not exclude.
struct WebhookEvent {
  WebhookTrigger trigger = WebhookTrigger::kCustom;
  ExperimentId experiment;
  // For a metric or a log line: the trigger whose condition holds, and the trial for which the
  // trigger fires at most once.
  int32_t only_trigger = 0;
  std::optional<TrialId> once_for;
  std::string state;  // for a change of state: only triggers of this state fire
  Value data;         // sent as event_data
  absl::Time at;
  friend bool operator==(const WebhookEvent&, const WebhookEvent&) = default;
};

std::string_view ToString(WebhookTrigger trigger);  // "EXPERIMENT_STATE_CHANGE"
std::optional<WebhookTrigger> ParseWebhookTrigger(std::string_view text);

}  // namespace det::model

#endif  // MASTER_CORE_MODEL_WEBHOOK_H_
