#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "master/cluster/state.h"

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

// In the searcher's own terms. A length that the report does not say is its number of batches.
searcher::ValidationReported MakeValidation(const Entry& entry, const Trial& trial,
                                            const model::MetricReport& report) {
  const model::SearcherConfig& config = entry.experiment.config->searcher;
  const auto batches = static_cast<double>(report.steps_completed);
  searcher::ValidationReported validation{trial.request, report.steps_completed, batches, {}};
  const std::string unit = model::LengthMetric(config);
  validation.length = Number(report.metrics.Find(unit)).value_or(batches);
  for (const model::Objective& objective : model::Objectives(config)) {
    validation.metrics.push_back(
        Number(report.metrics.Find(objective.metric)).value_or(std::nan("")));
  }
  return validation;
}

}  // namespace

absl::StatusOr<Outcome> Apply(Step& step, const ValidationReported& event) {
  const Allocation* allocation = Present(step, event.allocation);
  if (allocation == nullptr || allocation->trial != event.report.trial) return step.Finish();
  Trial& trial = step.s.trials.at(allocation->trial);
  Entry& entry = step.EntryOf(trial);
  const model::MetricReport& report = event.report;
  const std::string& name = entry.experiment.config->searcher.metric;
  step.Change(AddMetrics{report});
  step.Touch(trial);
  const std::optional<double> metric = Number(report.metrics.Find(name));
  if (!metric) {
    step.Log(
        trial, event.allocation, model::LogLevel::kWarning,
        absl::StrCat("the validation after ", report.steps_completed, " batches has no metric ",
                     name, ", which searcher.metric names; the search cannot use it"));
    return step.Finish();
  }
  step.out.best_so_far = NoteMetric(step, entry, trial, report.steps_completed, *metric);
  Tell(step, entry, MakeValidation(entry, trial, report));
  return step.Finish();
}

absl::StatusOr<Outcome> Apply(Step& step, const CheckpointReported& event) {
  const Allocation* allocation = Present(step, event.allocation);
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
  step.Touch(trial);
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
