#include "master/webhooks/trigger_watch.h"

#include <optional>

#include "base/log.h"
#include "base/status_macros.h"
#include "master/experiment/facts.h"
#include "master/model/extras_config.h"
#include "master/model/id_text.h"
#include "master/webhooks/conditions.h"
#include <re2/re2.h>

namespace det::webhooks {
namespace {

using model::Value;
using model::WebhookTrigger;

constexpr size_t kMostTold = 100'000;
constexpr absl::Duration kUnheard = absl::Seconds(30);
constexpr size_t kShownBytes = 2000;  // of a line

// What a second report would not heal must not hold up those who report.
absl::Status Soften(absl::Status looked) {
  if (looked.ok() || absl::IsUnavailable(looked)) return looked;
  DET_LOG(WARNING) << "webhooks were not told" << base::Field("reason", looked.message());
  return absl::OkStatus();
}

}  // namespace

struct TriggerWatch::Watched {
  struct Metric {
    int32_t trigger = 0;
    Value condition;
  };
  struct Log {
    int32_t trigger = 0;
    std::unique_ptr<const RE2> pattern;
  };
  std::vector<Metric> metrics;
  std::vector<Log> logs;

  void Add(const store::TriggerRecord& trigger) {
    if (trigger.type == WebhookTrigger::kMetricThresholdExceeded) {
      metrics.push_back({trigger.id, trigger.condition});
    }
    if (trigger.type != WebhookTrigger::kTaskLog) return;
    const Value* regex = trigger.condition.Find("regex");
    if (regex == nullptr || regex->AsString() == nullptr) return;
    RE2::Options options(RE2::Quiet);
    options.set_max_mem(model::kLogPatternMemory);
    logs.push_back({trigger.id, std::make_unique<const RE2>(*regex->AsString(), options)});
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
  told_.clear();
  unheard_.clear();
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
    for (const store::TriggerRecord& trigger : webhook.triggers) read->Add(trigger);
  }
  std::shared_ptr<const Watched> result = std::move(read);
  std::lock_guard lock(mutex_);
  if (version == version_) watched_ = result;
  return result;
}

bool TriggerWatch::WantsMetrics() {
  const auto watched = Read();
  return !watched.ok() || !(*watched)->metrics.empty();
}

bool TriggerWatch::IsTold(model::TrialId trial, int32_t trigger) {
  std::lock_guard lock(mutex_);
  if (told_.contains({trial, trigger})) return true;
  return clock_.Now() - unheard_since_ <= kUnheard && unheard_.contains({trial, trigger});
}

absl::Status TriggerWatch::Look(const std::vector<model::MetricReport>& reports) {
  return Soften(LookAt(reports));
}
absl::Status TriggerWatch::Look(const std::vector<model::LogLine>& lines) {
  return Soften(LookAt(lines));
}

absl::Status TriggerWatch::LookAt(const std::vector<model::MetricReport>& reports) {
  DET_ASSIGN_OR_RETURN(const std::shared_ptr<const Watched> watched, Read());
  for (const Watched::Metric& metric : watched->metrics) {
    for (const model::MetricReport& report : reports) {
      const std::optional<double> value = Exceeds(metric.condition, report);
      if (!value || IsTold(report.trial, metric.trigger)) continue;
      const absl::StatusOr<store::TrialRecord> trial = store_.GetTrial(report.trial);
      if (absl::IsNotFound(trial.status())) continue;
      DET_RETURN_IF_ERROR(trial.status());
      Value::Object facts = {{"trial_id", int64_t{report.trial.value()}},
                             {"name", *metric.condition.Find("metric")},
                             {"group", report.group},
                             {"value", *value},
                             {"steps_completed", report.steps_completed}};
      DET_RETURN_IF_ERROR(Fire(WebhookTrigger::kMetricThresholdExceeded, metric.trigger,
                               trial->trial.experiment, report.trial,
                               {{"metric", std::move(facts)}}));
    }
  }
  return absl::OkStatus();
}

absl::Status TriggerWatch::LookAt(const std::vector<model::LogLine>& lines) {
  DET_ASSIGN_OR_RETURN(const std::shared_ptr<const Watched> watched, Read());
  for (const Watched::Log& log : watched->logs) {
    for (const model::LogLine& line : lines) {
      const std::optional<model::RunName> run = model::RunOf(line.allocation);
      if (!run || IsTold(run->trial, log.trigger)) continue;
      if (!RE2::PartialMatch(line.text, *log.pattern)) continue;
      Value::Object facts = {{"task_id", run->task.value()},
                             {"trial_id", int64_t{run->trial.value()}},
                             {"node_name", line.agent},
                             {"triggering_log", line.text.substr(0, kShownBytes)}};
      DET_RETURN_IF_ERROR(Fire(WebhookTrigger::kTaskLog, log.trigger, run->experiment, run->trial,
                               {{"task_log", std::move(facts)}}));
    }
  }
  return absl::OkStatus();
}

absl::Status TriggerWatch::Tell(model::ExperimentId experiment, Value::Object data) {
  model::WebhookEvent event;
  event.trigger = WebhookTrigger::kCustom;
  event.experiment = experiment;
  return Raise(event, std::move(data)).status();
}

absl::Status TriggerWatch::Fire(WebhookTrigger type, int32_t trigger,
                                model::ExperimentId experiment, model::TrialId trial,
                                Value::Object data) {
  model::WebhookEvent event;
  event.trigger = type;
  event.experiment = experiment;
  event.only_trigger = trigger;
  event.once_for = trial;
  const absl::StatusOr<int> raised = Raise(event, std::move(data));
  if (!raised.ok()) return absl::IsNotFound(raised.status()) ? absl::OkStatus() : raised.status();
  // Where nobody heard it now, a move or a new name may change that: remembered for a while.
  std::lock_guard lock(mutex_);
  const absl::Time now = clock_.Now();
  if (now - unheard_since_ > kUnheard) {
    unheard_.clear();
    unheard_since_ = now;
  }
  if (*raised == 0) {
    unheard_.insert({trial, trigger});
    return absl::OkStatus();
  }
  if (told_.size() >= kMostTold) told_.clear();
  told_.insert({trial, trigger});
  return absl::OkStatus();
}

absl::StatusOr<int> TriggerWatch::Raise(model::WebhookEvent& event, Value::Object data) {
  DET_ASSIGN_OR_RETURN(const store::ExperimentRecord record,
                       store_.GetExperiment(event.experiment));
  event.at = clock_.Now();
  data["experiment"] = experiment::Facts(record.experiment, event.at);
  event.data = std::move(data);
  DET_ASSIGN_OR_RETURN(const int made, store_.webhooks().Raise(event));
  if (made > 0) raised_();
  return made;
}

}  // namespace det::webhooks
