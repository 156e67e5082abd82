#include "master/webhooks/trigger_watch.h"

#include <optional>

#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "base/log.h"
#include "base/status_macros.h"
#include "master/core/experiment/webhook_payload.h"
#include "master/core/model/id_text.h"
#include "master/webhooks/conditions.h"
#include "master/webhooks/pattern_set.h"

namespace det::webhooks {
namespace {

using model::Value;
using model::WebhookTrigger;

constexpr size_t kMaxNotified = 100'000;
constexpr size_t kMaxCachedWorkspaces = 10'000;
constexpr absl::Duration kUnsubscribedLifetime = absl::Seconds(30);
constexpr size_t kShownBytes = 2000;  // of a line

// Errors that a repeated report would not fix must not fail the report.
absl::Status IgnorePermanentError(absl::Status status) {
  if (status.ok() || absl::IsUnavailable(status)) return status;
  DET_LOG(WARNING) << "failed to raise webhook events" << base::Field("reason", status.message());
  return absl::OkStatus();
}

// The trial that wrote the line. A line's task is authorized; a user may report any allocation.
std::optional<model::RunName> FindTrial(const model::LogLine& line) {
  return model::ParseAllocationId(model::AllocationId(line.task.value() + ".0"));
}

}  // namespace

struct TriggerWatch::Watched {
  struct Metric {
    int32_t trigger = 0;
    Value condition;
  };
  std::vector<Metric> metrics;
  std::map<int32_t, PatternSet> logs;  // by workspace; 0: of all

  void Add(int32_t workspace, const store::TriggerRecord& trigger) {
    if (trigger.type == WebhookTrigger::kMetricThresholdExceeded) {
      metrics.push_back({trigger.id, trigger.condition});
    }
    if (trigger.type != WebhookTrigger::kTaskLog) return;
    const Value* regex = trigger.condition.Find("regex");
    if (regex == nullptr || regex->AsString() == nullptr) return;
    logs[workspace].Add(trigger.id, *regex->AsString());
  }
};

TriggerWatch::TriggerWatch(store::Store* store, const base::Clock* clock,
                           std::function<void()> raised)
    : store_(*store), clock_(*clock), raised_(std::move(raised)) {}
TriggerWatch::~TriggerWatch() = default;

void TriggerWatch::Changed() {
  std::lock_guard lock(mutex_);
  ++version_;
  watched_ = nullptr;
  workspaces_.clear();
  notified_.clear();
  unsubscribed_.clear();
}

absl::StatusOr<std::shared_ptr<const TriggerWatch::Watched>> TriggerWatch::Read() {
  int64_t version = 0;
  {
    std::lock_guard lock(mutex_);
    if (watched_ != nullptr) return watched_;
    version = version_;
  }
  DET_ASSIGN_OR_RETURN(const auto webhooks, store_.webhooks().ListWebhooks());
  auto read = std::make_shared<Watched>();
  for (const store::WebhookRecord& webhook : webhooks) {
    for (const store::TriggerRecord& trigger : webhook.triggers) {
      read->Add(webhook.workspace, trigger);
    }
  }
  for (auto& [workspace, patterns] : read->logs) patterns.Compile();
  std::shared_ptr<const Watched> result = std::move(read);
  std::lock_guard lock(mutex_);
  if (version == version_) watched_ = result;
  return result;
}

bool TriggerWatch::HasMetricTriggers() {
  const auto watched = Read();
  return !watched.ok() || !(*watched)->metrics.empty();
}

bool TriggerWatch::WasNotified(model::TrialId trial, int32_t trigger) {
  std::lock_guard lock(mutex_);
  if (notified_.contains({trial, trigger})) return true;
  return clock_.Now() - unsubscribed_since_ <= kUnsubscribedLifetime &&
         unsubscribed_.contains({trial, trigger});
}

absl::Status TriggerWatch::Check(const std::vector<model::MetricReport>& reports) {
  return IgnorePermanentError(CheckAll(reports));
}
absl::Status TriggerWatch::Check(const std::vector<model::LogLine>& lines) {
  return IgnorePermanentError(CheckAll(lines));
}

absl::Status TriggerWatch::CheckAll(const std::vector<model::MetricReport>& reports) {
  DET_ASSIGN_OR_RETURN(const std::shared_ptr<const Watched> watched, Read());
  for (const Watched::Metric& metric : watched->metrics) {
    for (const model::MetricReport& report : reports) {
      const std::optional<double> value = FindExceedingValue(metric.condition, report);
      if (!value || WasNotified(report.trial, metric.trigger)) continue;
      const absl::StatusOr<store::TrialRecord> trial = store_.GetTrial(report.trial);
      if (absl::IsNotFound(trial.status())) continue;
      DET_RETURN_IF_ERROR(trial.status());
      Value::Object facts = {{"trial_id", int64_t{report.trial.value()}},
                             {"name", *metric.condition.Find("metric")},
                             {"group", report.group},
                             {"value", *value},
                             {"steps_completed", report.steps_completed}};
      // A failure does not affect the others.
      DET_RETURN_IF_ERROR(IgnorePermanentError(Fire(WebhookTrigger::kMetricThresholdExceeded,
                                                    metric.trigger, trial->trial.experiment,
                                                    report.trial, {{"metric", std::move(facts)}})));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::optional<int32_t>> TriggerWatch::FindWorkspace(model::ExperimentId id) {
  {
    std::lock_guard lock(mutex_);
    const absl::Time now = clock_.Now();
    if (now - workspaces_since_ > kUnsubscribedLifetime ||
        workspaces_.size() >= kMaxCachedWorkspaces) {
      workspaces_.clear();
      workspaces_since_ = now;
    }
    if (const auto it = workspaces_.find(id); it != workspaces_.end()) return it->second;
  }
  const absl::StatusOr<int32_t> found = store_.projects().GetWorkspaceId(id);
  if (!found.ok() && !absl::IsNotFound(found.status())) return found.status();
  const auto place = found.ok() ? std::optional<int32_t>(*found) : std::nullopt;
  std::lock_guard lock(mutex_);
  workspaces_.insert_or_assign(id, place);
  return place;
}

absl::Status TriggerWatch::CheckAll(const std::vector<model::LogLine>& lines) {
  DET_ASSIGN_OR_RETURN(const std::shared_ptr<const Watched> watched, Read());
  if (watched->logs.empty()) return absl::OkStatus();
  for (const model::LogLine& line : lines) {
    const std::optional<model::RunName> run = FindTrial(line);
    if (!run) continue;
    DET_ASSIGN_OR_RETURN(const std::optional<int32_t> workspace, FindWorkspace(run->experiment));
    if (!workspace) continue;
    const std::string text(absl::StripSuffix(line.text, "\r"));
    for (const int32_t scope : {0, *workspace}) {
      const auto patterns = watched->logs.find(scope);
      if (patterns == watched->logs.end()) continue;
      for (const int32_t trigger : patterns->second.Match(text)) {
        DET_RETURN_IF_ERROR(IgnorePermanentError(FireFor(line, *run, trigger)));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status TriggerWatch::FireFor(const model::LogLine& line, const model::RunName& run,
                                   int32_t trigger) {
  if (WasNotified(run.trial, trigger)) return absl::OkStatus();
  Value::Object facts = {{"task_id", run.task.value()},
                         {"trial_id", int64_t{run.trial.value()}},
                         {"node_name", line.agent},
                         {"triggering_log", line.text.substr(0, kShownBytes)}};
  return Fire(WebhookTrigger::kTaskLog, trigger, run.experiment, run.trial,
              {{"task_log", std::move(facts)}});
}

absl::Status TriggerWatch::RaiseCustom(model::ExperimentId experiment,
                                       std::optional<model::TrialId> trial, Value::Object data) {
  model::WebhookEvent event;
  event.trigger = WebhookTrigger::kCustom;
  event.experiment = experiment;
  return Raise(event, trial, std::move(data)).status();
}

absl::Status TriggerWatch::Fire(WebhookTrigger type, int32_t trigger,
                                model::ExperimentId experiment, model::TrialId trial,
                                Value::Object data) {
  model::WebhookEvent event;
  event.trigger = type;
  event.experiment = experiment;
  event.only_trigger = trigger;
  event.once_for = trial;
  const absl::StatusOr<int> raised = Raise(event, std::nullopt, std::move(data));
  if (!raised.ok()) return absl::IsNotFound(raised.status()) ? absl::OkStatus() : raised.status();
  // Nobody is subscribed now, but a move or rename may change that: cached for a while.
  std::lock_guard lock(mutex_);
  const absl::Time now = clock_.Now();
  if (now - unsubscribed_since_ > kUnsubscribedLifetime) {
    unsubscribed_.clear();
    unsubscribed_since_ = now;
  }
  if (*raised == 0) {
    unsubscribed_.insert({trial, trigger});
    return absl::OkStatus();
  }
  if (notified_.size() >= kMaxNotified) notified_.clear();
  notified_.insert({trial, trigger});
  return absl::OkStatus();
}

absl::StatusOr<int> TriggerWatch::Raise(model::WebhookEvent& event,
                                        std::optional<model::TrialId> trial, Value::Object data) {
  DET_ASSIGN_OR_RETURN(const store::ExperimentRecord record,
                       store_.GetExperiment(event.experiment));
  event.at = clock_.Now();
  Value facts = experiment::MakeWebhookPayload(record.experiment, event.at);
  if (trial) (*facts.MutableObject())["trial_id"] = int64_t{trial->value()};
  data["experiment"] = std::move(facts);
  event.data = std::move(data);
  DET_ASSIGN_OR_RETURN(const int made, store_.webhooks().Raise(event));
  if (made > 0) raised_();
  return made;
}

}  // namespace det::webhooks
