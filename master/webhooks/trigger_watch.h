// Holds what trials report and write against the triggers that ask for it. Whoever reports gets its
// answer only after this: a master that dies in between is asked again, and a trigger tells of a
// trial once, so nothing is missed and nothing said twice.
//
// Asked by the services and the hub on threads that may block. Without such triggers it costs
// nothing.
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
#include "base/clock.h"
#include "master/core/model/id_text.h"
#include "master/core/model/reports.h"
#include "master/core/model/webhook.h"
#include "master/store/interfaces/store.h"

namespace det::webhooks {

class TriggerWatch {
 public:
  // `raised`: there is something to deliver. All must outlive this.
  TriggerWatch(store::Store* store, const base::Clock* clock, std::function<void()> raised);
  ~TriggerWatch();

  // Webhooks have changed: they are read again before the next look.
  void Changed();

  // Whether a look at metrics may find anything. Blocks when webhooks have changed.
  bool WantsMetrics();
  // UNAVAILABLE: the database is away; what was reported must be reported again.
  absl::Status Look(const std::vector<model::MetricReport>& reports);
  absl::Status Look(const std::vector<model::LogLine>& lines);

  // CUSTOM, at once.
  absl::Status Tell(model::ExperimentId experiment, model::Value::Object data);

 private:
  struct Watched;

  absl::StatusOr<std::shared_ptr<const Watched>> Read();
  absl::Status LookAt(const std::vector<model::MetricReport>& reports);
  absl::Status LookAt(const std::vector<model::LogLine>& lines);
  // Where the experiment lies, remembered for a while; nullopt: it is not there.
  absl::StatusOr<std::optional<int32_t>> WorkspaceOf(model::ExperimentId id);
  absl::Status FireFor(const model::LogLine& line, const model::RunName& run, int32_t trigger);
  bool IsTold(model::TrialId trial, int32_t trigger);
  absl::Status Fire(model::WebhookTrigger type, int32_t trigger, model::ExperimentId experiment,
                    model::TrialId trial, model::Value::Object data);
  // Completes the event.
  // How many deliveries it made.
  absl::StatusOr<int> Raise(model::WebhookEvent& event, model::Value::Object data);

  store::Store& store_;
  const base::Clock& clock_;
  const std::function<void()> raised_;
  std::mutex mutex_;
  int64_t version_ = 0;  // of the webhooks
  std::shared_ptr<const Watched> watched_;
  std::set<std::pair<model::TrialId, int32_t>> told_;     // the rows know better
  std::set<std::pair<model::TrialId, int32_t>> unheard_;  // by nobody, since then
  absl::Time unheard_since_ = absl::InfinitePast();
  std::map<model::ExperimentId, std::optional<int32_t>> places_;  // of experiments, since then
  absl::Time places_since_ = absl::InfinitePast();
};

}  // namespace det::webhooks

#endif  // MASTER_WEBHOOKS_TRIGGER_WATCH_H_
