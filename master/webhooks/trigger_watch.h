// Checks metrics and log lines of trials against triggers. A report is acknowledged only after this
// check: if the master dies in between, the report is sent again, and a trigger fires once per
// trial, so that no notification is lost or repeated.
//
// Called by services and the hub on threads that may block. Costs nothing without such triggers.
#ifndef MASTER_WEBHOOKS_TRIGGER_WATCH_H_
#define MASTER_WEBHOOKS_TRIGGER_WATCH_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "base/clock.h"
#include "master/core/model/id_text.h"
#include "master/core/model/reports.h"
#include "master/core/model/webhook.h"
#include "master/store/interfaces/store.h"

namespace det::webhooks {

class TriggerWatch {
 public:
  // `raised` is called when there is something to deliver. All pointers must outlive this.
  TriggerWatch(store::Store* store, const base::Clock* clock, std::function<void()> raised);
  ~TriggerWatch();

  // Call when webhooks have changed: they are read again before the next check.
  void Changed();

  // Whether there are triggers on metrics. Blocks if webhooks have changed.
  bool HasMetricTriggers();
  // UNAVAILABLE: the database is unavailable; the report must be sent again.
  absl::Status Check(const std::vector<model::MetricReport>& reports);
  absl::Status Check(const std::vector<model::LogLine>& lines);

  // Raises a CUSTOM event, which may be about one trial.
  absl::Status RaiseCustom(model::ExperimentId experiment, std::optional<model::TrialId> trial,
                           model::Value::Object data);

 private:
  struct Watched;

  absl::StatusOr<std::shared_ptr<const Watched>> Read();
  absl::Status CheckAll(const std::vector<model::MetricReport>& reports);
  absl::Status CheckAll(const std::vector<model::LogLine>& lines);
  // The workspace of the experiment, cached for a while; nullopt: the experiment does not exist.
  absl::StatusOr<std::optional<int32_t>> FindWorkspace(model::ExperimentId id);
  absl::Status FireFor(const model::LogLine& line, const model::RunName& run, int32_t trigger);
  bool WasNotified(model::TrialId trial, int32_t trigger);
  absl::Status Fire(model::WebhookTrigger type, int32_t trigger, model::ExperimentId experiment,
                    model::TrialId trial, model::Value::Object data);
  // Completes the event and raises it; returns the number of deliveries.
  absl::StatusOr<int> Raise(model::WebhookEvent& event, std::optional<model::TrialId> trial,
                            model::Value::Object data);

  store::Store& store_;
  const base::Clock& clock_;
  const std::function<void()> raised_;
  std::mutex mutex_;
  int64_t version_ = 0;  // incremented when webhooks change
  std::shared_ptr<const Watched> watched_;
  std::set<std::pair<model::TrialId, int32_t>> notified_;  // cache of rows `webhook_fired`
  std::set<std::pair<model::TrialId, int32_t>>
      unsubscribed_;  // without a subscriber, since unsubscribed_since_
  absl::Time unsubscribed_since_ = absl::InfinitePast();
  std::map<model::ExperimentId, std::optional<int32_t>>
      workspaces_;  // cached since workspaces_since_
  absl::Time workspaces_since_ = absl::InfinitePast();
};

}  // namespace det::webhooks

#endif  // MASTER_WEBHOOKS_TRIGGER_WATCH_H_
