// What webhooks are told: something that happened to an experiment, as a value.
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

// Something that webhooks may want to hear of. Which of them do is the store's to find: those of
// the experiment's workspace, and of all, that the experiment's configuration does not keep out.
struct WebhookEvent {
  WebhookTrigger trigger = WebhookTrigger::kCustom;
  ExperimentId experiment;
  // Of a metric or a log line: the trigger whose condition holds, and the trial, of which that
  // trigger tells once.
  int32_t only_trigger = 0;
  std::optional<TrialId> once_for;
  std::string state;  // of a change of state: those alone that ask for it
  Value data;         // what is sent as event_data
  absl::Time at;
  friend bool operator==(const WebhookEvent&, const WebhookEvent&) = default;
};

std::string_view ToString(WebhookTrigger trigger);  // "EXPERIMENT_STATE_CHANGE"
std::optional<WebhookTrigger> ParseWebhookTrigger(std::string_view text);

}  // namespace det::model

#endif  // MASTER_CORE_MODEL_WEBHOOK_H_
