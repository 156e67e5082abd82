#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "master/core/cluster/handlers.h"
#include "master/core/experiment/detached.h"

namespace det::cluster {
namespace {

using experiment::Allocation;
using experiment::Trial;

// Returns the sender's allocation if it is the current one of its trial; reports of any other
// allocation are stale.
Allocation* FindCurrent(Step& step, const model::AllocationId& id) {
  const auto it = step.s.allocations.find(id);
  if (it == step.s.allocations.end() || !experiment::IsTrial(it->second)) return nullptr;
  return step.s.trials.at(it->second.trial).allocation == id ? &it->second : nullptr;
}

// JSON has no NaN: a report that was sent as JSON has it as a string.
std::optional<double> Number(const model::Value* value) {
  if (value == nullptr) return std::nullopt;
  if (const std::string* text = value->AsString()) {
    if (*text == "NaN") return std::numeric_limits<double>::quiet_NaN();
    if (*text == "Infinity") return std::numeric_limits<double>::infinity();
    if (*text == "-Infinity") return -std::numeric_limits<double>::infinity();
  }
  return value->AsNumber();
}

// Records the searcher metric; returns whether it is the best of the experiment.
bool RecordMetric(Step& step, Entry& entry, Trial& trial, int64_t steps, double metric) {
  if (std::isnan(metric)) return false;
  if (experiment::RecordMetric(entry.experiment, trial, steps, metric)) {
    step.Touch(entry.experiment);
  }
  // A repeated report of the best gets the same answer.
  return entry.experiment.best_trial == trial.id && entry.experiment.best_metric == metric &&
         trial.best_steps == steps;
}

std::string FormatBatches(const model::MetricReport& report) {
  return absl::StrCat(report.steps_completed, report.steps_completed == 1 ? " batch" : " batches");
}

// Logs once per trial and metric that its validations lack the metric.
void LogMissing(Step& step, Entry& entry, const Trial& trial, const model::MetricReport& report,
                const std::string& metric, const char* consequence) {
  if (!entry.warned.emplace(trial.id, "no " + metric).second) return;
  std::vector<std::string> names;
  if (const auto* reported = report.metrics.AsObject()) {
    for (const auto& [name, value] : *reported) names.push_back(name);
  }
  step.Log(
      trial, *trial.allocation, model::LogLevel::kWarning,
      absl::StrCat("the validation after ", FormatBatches(report), " has no metric ", metric,
                   consequence, "; it has ", names.empty() ? "none" : absl::StrJoin(names, ", ")));
}

// Logs once per trial and metric that the value is NaN.
void LogNaN(Step& step, Entry& entry, const Trial& trial, const model::MetricReport& report,
            const std::string& metric) {
  if (!entry.warned.emplace(trial.id, metric + " is NaN").second) return;
  step.Log(trial, *trial.allocation, model::LogLevel::kWarning,
           absl::StrCat("the validation after ", FormatBatches(report), " has ", metric,
                        " NaN, which is never the best; the trial continues"));
}

// Returns how long the trial has trained, in the searcher's unit; the number of batches if the
// report does not contain it.
double ReadLength(Step& step, Entry& entry, const Trial& trial, const model::MetricReport& report) {
  const model::SearcherConfig& config = entry.experiment.config->searcher;
  const std::string unit = model::LengthMetric(config);
  const std::optional<double> length = Number(report.metrics.Find(unit));
  if (length && std::isfinite(*length)) return *length;
  const bool matters =
      !config.time_metric.empty() || !entry.searcher.ReportLengths(trial.request).empty();
  if (matters && unit != "batches") {
    LogMissing(step, entry, trial, report, unit,
               ", which measures how long a trial has trained; the search uses the number of "
               "batches instead");
  }
  return static_cast<double>(report.steps_completed);
}

// Returns the values of all objectives in order; empty if one is missing, which is logged.
std::vector<double> ReadObjectives(Step& step, Entry& entry, const Trial& trial,
                                   const model::MetricReport& report) {
  std::vector<double> metrics;
  bool complete = true;
  for (const auto& objective : model::Objectives(entry.experiment.config->searcher)) {
    const std::optional<double> metric = Number(report.metrics.Find(objective.metric));
    complete = complete && metric;
    metrics.push_back(metric.value_or(0));
    if (metric && std::isnan(*metric)) LogNaN(step, entry, trial, report, objective.metric);
    if (metric) continue;
    LogMissing(step, entry, trial, report, objective.metric,
               ", which searcher.metric names; the search cannot use it");
  }
  return complete ? metrics : std::vector<double>();
}

// Applies one validation. What the searcher did after the previous one is visible to the next.
void ApplyValidation(Step& step, const model::AllocationId& sender,
                     const model::MetricReport& report) {
  const Allocation* allocation = FindCurrent(step, sender);
  if (allocation == nullptr || allocation->trial != report.trial) return;
  Trial& trial = step.s.trials.at(allocation->trial);
  Entry& entry = step.GetEntry(trial);
  step.Change(AddMetrics{report});
  step.Touch(trial);
  std::vector<double> metrics = ReadObjectives(step, entry, trial, report);
  if (metrics.empty()) return;
  if (RecordMetric(step, entry, trial, report.steps_completed, metrics.front())) {
    step.out.best_so_far = true;
  }
  const double length = ReadLength(step, entry, trial, report);
  NotifySearcher(step, entry,
                 searcher::ValidationReported{trial.request, report.steps_completed, length,
                                              std::move(metrics)});
}

}  // namespace

absl::StatusOr<Outcome> Apply(Step& step, const ValidationsReported& event) {
  for (const model::MetricReport& report : event.reports) {
    ApplyValidation(step, event.allocation, report);
  }
  return step.Finish();
}

absl::StatusOr<Outcome> Apply(Step& step, const CheckpointReported& event) {
  Allocation* allocation = FindCurrent(step, event.allocation);
  const model::CheckpointRecord& checkpoint = event.checkpoint;
  if (allocation == nullptr || allocation->trial != checkpoint.trial) return step.Finish();
  Trial& trial = step.s.trials.at(allocation->trial);
  step.Change(AddCheckpoint{checkpoint});  // A second report replaces its metadata.
  if (trial.latest_checkpoint == checkpoint.id) return step.Finish();
  // A delayed or repeated report must not move the trial back.
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
  Allocation* allocation = FindCurrent(step, event.allocation);
  if (allocation == nullptr || allocation->trial != event.trial) return step.Finish();
  Trial& trial = step.s.trials.at(allocation->trial);
  step.Change(MarkDamaged{event.id, trial.id, event.damage});
  // The trial repeats the steps after `instead`: its next checkpoints must count.
  if (trial.latest_checkpoint == event.id) {
    trial.latest_checkpoint = event.instead;
    trial.steps_completed = event.steps_completed;
    step.Touch(trial);
  }
  step.Effect(ExperimentChanged{trial.experiment});
  return step.Finish();
}

absl::StatusOr<Outcome> Apply(Step& step, const ProgressReported& event) {
  const Allocation* allocation = FindCurrent(step, event.allocation);
  if (allocation == nullptr || allocation->trial != event.trial) return step.Finish();
  Trial& trial = step.s.trials.at(allocation->trial);
  const double progress = std::isnan(event.progress) ? 0 : std::clamp(event.progress, 0.0, 1.0);
  if (trial.progress == progress && trial.runner_state == event.runner_state) return step.Finish();
  trial.progress = progress;
  trial.runner_state = event.runner_state;
  step.Touch(trial);
  Entry& entry = step.GetEntry(trial);
  entry.searcher.SetTrialProgress(trial.request, progress);
  entry.experiment.progress = std::max(entry.experiment.progress, entry.searcher.Progress());
  step.Touch(entry.experiment);
  return step.Finish();
}

absl::StatusOr<Outcome> Apply(Step& step, const PreemptionAcked& event) {
  const auto it = step.s.allocations.find(event.allocation);
  // Those of other tasks than trials are always current.
  Allocation* allocation = it != step.s.allocations.end() && !experiment::IsTrial(it->second)
                               ? &it->second
                               : FindCurrent(step, event.allocation);
  if (allocation != nullptr && experiment::AckPreemption(*allocation)) step.Touch(*allocation);
  return step.Finish();
}

absl::StatusOr<Outcome> Apply(Step& step, const EarlyExitReported& event) {
  Allocation* allocation = FindCurrent(step, event.allocation);
  // The first report counts; a message without a reason may explain the exit code.
  if (allocation == nullptr || !allocation->reported_message.empty()) return step.Finish();
  allocation->reported = event.reason;
  allocation->reported_message = event.message;
  step.Touch(*allocation);
  return step.Finish();
}

}  // namespace det::cluster
