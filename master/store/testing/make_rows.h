// Canonical rows for tests: complete and plausible; tests change what they need.
#ifndef MASTER_STORE_TESTING_MAKE_ROWS_H_
#define MASTER_STORE_TESTING_MAKE_ROWS_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "master/core/cluster/change.h"
#include "master/core/model/experiment_config.h"
#include "master/store/interfaces/metric_query.h"

namespace det::store {

inline absl::Time TimeAt(double seconds) {
  return absl::FromUnixSeconds(1'700'000'000) + absl::Seconds(seconds);
}

inline std::shared_ptr<const model::ExperimentConfig> MakeConfig(const std::string& name) {
  model::ExperimentConfig config;
  config.name = name;
  config.workspace = "Uncategorized";
  config.project = "Uncategorized";
  config.entrypoint = "true";
  config.hyperparameters["lr"] = {model::DoubleHparam{0.1, 1}};
  config.searcher.name = "single";
  config.searcher.metric = "accuracy";
  config.searcher.smaller_is_better = false;
  config.searcher.max_length = model::Length{model::Length::Unit::kBatches, 100};
  config.checkpoint_storage.host_path = "/tmp/checkpoints";
  return std::make_shared<const model::ExperimentConfig>(std::move(config));
}

inline experiment::Experiment MakeExperiment(int id) {
  experiment::Experiment e;
  e.id = model::ExperimentId(id);
  e.job = model::JobId(absl::StrCat("exp-", id));
  e.owner = model::UserId(1);
  e.request_id = absl::StrCat("request-", id);
  e.config = MakeConfig(absl::StrCat("experiment ", id));
  e.original_config = "name: it's \"quoted\" \\ ü\n";
  e.created_at = TimeAt(id + 0.25);
  return e;
}

inline experiment::Trial MakeTrial(int id, int experiment) {
  experiment::Trial t;
  t.id = model::TrialId(id);
  t.experiment = model::ExperimentId(experiment);
  t.request = model::RequestId(absl::StrCat("trial-", id));
  t.task = model::TaskId(absl::StrCat(experiment, ".", id));
  t.seed = 4'000'000'000u;
  t.hparams = {{"lr", 1.0}, {"layers", 3}, {"kind", "a\"b"}, {"big", 1e18}};
  t.created_at = TimeAt(id);
  return t;
}

inline experiment::Allocation MakeAllocation(const experiment::Trial& trial, int run) {
  experiment::Allocation a;
  a.id = model::AllocationId(absl::StrCat(trial.task.value(), ".", run));
  a.task = trial.task;
  a.trial = trial.id;
  a.run_id = run;
  a.job = model::JobId(absl::StrCat("exp-", trial.experiment.value()));
  a.slots = 2;
  a.submitted = run + 1;
  a.queued_at = TimeAt(run);
  return a;
}

inline experiment::Task MakeTask(const std::string& id) {
  experiment::Task t;
  t.id = model::TaskId(id);
  t.owner = model::UserId(1);
  t.workspace_name = "Uncategorized";
  model::TaskDefinition definition;
  definition.description = absl::StrCat("task ", id);
  definition.argv = {"true"};
  t.definition = std::make_shared<const model::TaskDefinition>(std::move(definition));
  t.queue.resource_pool = "default";
  t.created_at = TimeAt(0);
  return t;
}

inline experiment::Allocation MakeAllocation(const experiment::Task& task, int run) {
  experiment::Allocation a;
  a.id = model::AllocationId(absl::StrCat(task.id.value(), ".", run));
  a.task = task.id;
  a.run_id = run;
  a.job = experiment::GetJob(task);
  a.submitted = run;
  a.queued_at = TimeAt(run);
  return a;
}

// A summary of finite numbers, the last of which is in the newest report.
inline MetricSummary MakeSummary(int64_t count, double sum, double min, double max, double last) {
  return {.count = count, .sum = sum, .min = min, .max = max, .last = last, .newest = last};
}
inline model::MetricReport MakeReport(int trial, const std::string& group, int64_t steps,
                                      double accuracy) {
  model::MetricReport r;
  r.trial = model::TrialId(trial);
  r.group = group;
  r.steps_completed = steps;
  r.time = TimeAt(static_cast<double>(steps));
  r.metrics = model::Value::Object{{"accuracy", accuracy}};
  return r;
}

inline model::CheckpointRecord MakeCheckpoint(const std::string& id, int trial, int64_t steps) {
  model::CheckpointRecord c;
  c.id = model::CheckpointId(id);
  c.trial = model::TrialId(trial);
  c.allocation = model::AllocationId("1.1.0");
  c.steps_completed = steps;
  c.resources = {{"model.pt", 1000}, {"state/rank 0", 24}};
  c.metadata = model::Value::Object{{"framework", "libtorch"}};
  c.time = TimeAt(static_cast<double>(steps));
  return c;
}

inline model::LogLine MakeLine(const std::string& task, int64_t sequence, const std::string& text) {
  model::LogLine line;
  line.task = model::TaskId(task);
  line.allocation = model::AllocationId(task + ".0");
  line.agent = "agent-0";
  line.sequence = sequence;
  line.time = TimeAt(static_cast<double>(sequence));
  line.rank = 0;
  line.stdtype = "stdout";
  line.source = "task";
  line.text = text;
  return line;
}

}  // namespace det::store

#endif  // MASTER_STORE_TESTING_MAKE_ROWS_H_
