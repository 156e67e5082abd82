#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "master/core/cluster/parts.h"

namespace det::cluster {
namespace {

using experiment::Allocation;
using experiment::Trial;

// The sender's allocation, if it is its trial's present one; reports of any other are stale.
Allocation* Present(Step& step, const model::AllocationId& id) {
  const auto it = step.s.allocations.find(id);
  if (it == step.s.allocations.end()) return nullptr;
  return step.s.trials.at(it->second.trial).allocation == id ? &it->second : nullptr;
}

// JSON has no NaN: a report that came that way carries it as text.
std::optional<double> Number(const model::Value* value) {
  if (value == nullptr) return std::nullopt;
  if (const std::string* text = value->AsString()) {
    if (*text == "NaN") return std::numeric_limits<double>::quiet_NaN();
    if (*text == "Infinity") return std::numeric_limits<double>::infinity();
    if (*text == "-Infinity") return -std::numeric_limits<double>::infinity();
  }
  return value->AsNumber();
}

bool Better(double a, const std::optional<double>& b, bool smaller_is_better) {
  return !b || (smaller_is_better ? a < *b : a > *b);
}

// Notes the searcher's metric; true when the experiment has seen no better one.
bool NoteMetric(Step& step, Entry& entry, Trial& trial, int64_t steps, double metric) {
  if (std::isnan(metric)) return false;
  const bool smaller = entry.experiment.config->searcher.smaller_is_better;
  trial.latest_metric = metric;
  if (Better(metric, trial.best_metric, smaller)) {
    trial.best_metric = metric;
    trial.best_steps = steps;
  }
  if (Better(metric, entry.experiment.best_metric, smaller)) {
    entry.experiment.best_metric = metric;
    entry.experiment.best_trial = trial.id;
    step.Touch(entry.experiment);
  }
  // A repeated report of the best gets the same answer.
  return entry.experiment.best_trial == trial.id && entry.experiment.best_metric == metric &&
         trial.best_steps == steps;
}

// Says in the trial's log, once per trial and metric, that its validations lack it.
void SayMissing(Step& step, Entry& entry, const Trial& trial, const model::MetricReport& report,
                const std::string& metric, const char* consequence) {
  if (!entry.warned.emplace(trial.id, "no " + metric).second) return;
  std::vector<std::string> names;
  if (const auto* told = report.metrics.AsObject()) {
    for (const auto& [name, value] : *told) names.push_back(name);
  }
  step.Log(trial, *trial.allocation, model::LogLevel::kWarning,
           absl::StrCat("the validation after ", report.steps_completed, " batches has no metric ",
                        metric, consequence, "; it has ",
                        names.empty() ? "none" : absl::StrJoin(names, ", ")));
}

// Likewise, that the search has only not-a-number of it to judge by.
void SayNaN(Step& step, Entry& entry, const Trial& trial, const model::MetricReport& report,
            const std::string& metric) {
  if (!entry.warned.emplace(trial.id, metric + " is NaN").second) return;
  step.Log(trial, *trial.allocation, model::LogLevel::kWarning,
           absl::StrCat("the validation after ", report.steps_completed, " batches has ", metric,
                        " NaN, which is never the best; the trial goes on"));
}

// How long the trial has trained; the number of batches where the report does not say.
double LengthOf(Step& step, Entry& entry, const Trial& trial, const model::MetricReport& report) {
  const model::SearcherConfig& config = entry.experiment.config->searcher;
  const std::string unit = model::LengthMetric(config);
  const std::optional<double> length = Number(report.metrics.Find(unit));
  if (length && std::isfinite(*length)) return *length;
  const bool matters =
      !config.time_metric.empty() || !entry.searcher.ReportLengths(trial.request).empty();
  if (matters && unit != "batches") {
    SayMissing(step, entry, trial, report, unit,
               ", by which the search measures how long a trial has trained; it takes the number "
               "of batches instead");
  }
  return static_cast<double>(report.steps_completed);
}

// All objectives, in their order; none when one of them is missing, which the trial's log says.
std::vector<double> MetricsOf(Step& step, Entry& entry, const Trial& trial,
                              const model::MetricReport& report) {
  std::vector<double> metrics;
  bool complete = true;
  for (const auto& objective : model::Objectives(entry.experiment.config->searcher)) {
    const std::optional<double> metric = Number(report.metrics.Find(objective.metric));
    complete = complete && metric;
    metrics.push_back(metric.value_or(0));
    if (metric && std::isnan(*metric)) SayNaN(step, entry, trial, report, objective.metric);
    if (metric) continue;
    SayMissing(step, entry, trial, report, objective.metric,
               ", which searcher.metric names; the search cannot use it");
  }
  return complete ? metrics : std::vector<double>();
}

}  // namespace

absl::StatusOr<Outcome> Apply(Step& step, const ValidationReported& event) {
  const Allocation* allocation = Present(step, event.allocation);
  if (allocation == nullptr || allocation->trial != event.report.trial) return step.Finish();
  Trial& trial = step.s.trials.at(allocation->trial);
  Entry& entry = step.EntryOf(trial);
  const model::MetricReport& report = event.report;
  step.Change(AddMetrics{report});
  step.Touch(trial);
  std::vector<double> metrics = MetricsOf(step, entry, trial, report);
  if (metrics.empty()) return step.Finish();
  step.out.best_so_far = NoteMetric(step, entry, trial, report.steps_completed, metrics.front());
  const double length = LengthOf(step, entry, trial, report);
  Tell(step, entry,
       searcher::ValidationReported{trial.request, report.steps_completed, length,
                                    std::move(metrics)});
  return step.Finish();
}

absl::StatusOr<Outcome> Apply(Step& step, const CheckpointReported& event) {
  Allocation* allocation = Present(step, event.allocation);
  const model::CheckpointRecord& checkpoint = event.checkpoint;
  if (allocation == nullptr || allocation->trial != checkpoint.trial) return step.Finish();
  Trial& trial = step.s.trials.at(allocation->trial);
  if (trial.latest_checkpoint == checkpoint.id) return step.Finish();
  step.Change(AddCheckpoint{checkpoint});
  // A report that was delayed or repeated must not take the trial back.
  if (trial.latest_checkpoint && checkpoint.steps_completed < trial.steps_completed) {
    return step.Finish();
  }
  trial.latest_checkpoint = checkpoint.id;
  trial.steps_completed = checkpoint.steps_completed;
  allocation->saved_at = step.now;
  step.Touch(*allocation);
  step.Touch(trial);
  return step.Finish();
}

absl::StatusOr<Outcome> Apply(Step& step, const CheckpointDamaged& event) {
  Allocation* allocation = Present(step, event.allocation);
  if (allocation == nullptr || allocation->trial != event.trial) return step.Finish();
  Trial& trial = step.s.trials.at(allocation->trial);
  step.Change(MarkDamaged{event.id, trial.id, event.damage});
  // It trains again what came after: what it saves there counts again, too.
  if (trial.latest_checkpoint == event.id) {
    trial.latest_checkpoint = event.instead;
    trial.steps_completed = event.steps_completed;
    step.Touch(trial);
  }
  step.Effect(ExperimentChanged{trial.experiment});
  return step.Finish();
}

absl::StatusOr<Outcome> Apply(Step& step, const ProgressReported& event) {
  const Allocation* allocation = Present(step, event.allocation);
  if (allocation == nullptr || allocation->trial != event.trial) return step.Finish();
  Trial& trial = step.s.trials.at(allocation->trial);
  const double progress = std::isnan(event.progress) ? 0 : std::clamp(event.progress, 0.0, 1.0);
  if (trial.progress == progress && trial.runner_state == event.runner_state) return step.Finish();
  trial.progress = progress;
  trial.runner_state = event.runner_state;
  step.Touch(trial);
  Entry& entry = step.EntryOf(trial);
  entry.searcher.SetTrialProgress(trial.request, progress);
  entry.experiment.progress = std::max(entry.experiment.progress, entry.searcher.Progress());
  step.Touch(entry.experiment);
  return step.Finish();
}

absl::StatusOr<Outcome> Apply(Step& step, const PreemptionAcked& event) {
  Allocation* allocation = Present(step, event.allocation);
  if (allocation != nullptr && experiment::AckPreemption(*allocation)) step.Touch(*allocation);
  return step.Finish();
}

absl::StatusOr<Outcome> Apply(Step& step, const EarlyExitReported& event) {
  Allocation* allocation = Present(step, event.allocation);
  // The first word counts; a message may come without a reason, to explain the exit code.
  if (allocation == nullptr || !allocation->reported_message.empty()) return step.Finish();
  allocation->reported = event.reason;
  allocation->reported_message = event.message;
  step.Touch(*allocation);
  return step.Finish();
}

}  // namespace det::cluster
