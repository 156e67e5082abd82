// Conversion of rows to structs.
#include "master/store/postgres/rows.h"

#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "master/store/interfaces/canonical.h"
#include "master/store/interfaces/task_document.h"
#include "master/store/postgres/parsed_configs.h"

namespace det::store {
namespace {

// Reads the columns of a row in order.
class Cursor {
 public:
  Cursor(const Result& result, int row, int column) : result_(result), row_(row), column_(column) {}

  void Read(std::string& value) { value = std::string(result_.Text(row_, column_++)); }
  void Read(int& value) { value = static_cast<int>(result_.Int(row_, column_++)); }
  void Read(uint32_t& value) { value = static_cast<uint32_t>(result_.Int(row_, column_++)); }
  void Read(int64_t& value) { value = result_.Int(row_, column_++); }
  void Read(double& value) { value = result_.Double(row_, column_++); }
  void Read(bool& value) { value = result_.Bool(row_, column_++); }
  void Read(absl::Time& value) { value = result_.Time(row_, column_++); }
  void Read(absl::Duration& value) { value = absl::Microseconds(result_.Int(row_, column_++)); }
  void Read(model::Value& value) {
    absl::StatusOr<model::Value> read = ToValue(result_, row_, column_++);
    if (read.ok()) {
      value = *std::move(read);
    } else {
      status_ = read.status();
    }
  }
  template <class Tag, class Rep>
  void Read(base::Id<Tag, Rep>& value) {
    Rep rep{};
    Read(rep);
    value = base::Id<Tag, Rep>(std::move(rep));
  }
  template <class T>
  void Read(std::optional<T>& value) {
    if (result_.IsNull(row_, column_)) {
      ++column_;
    } else {
      Read(value.emplace());
    }
  }
  // Parses an enum from its text.
  template <class T>
  void Read(T& value, std::optional<T> (*parse)(std::string_view)) {
    const std::string_view text = result_.Text(row_, column_++);
    if (const std::optional<T> parsed = parse(text)) {
      value = *parsed;
    } else {
      status_ = absl::InternalError(
          absl::StrCat("the database contains the unknown state ", std::string(text)));
    }
  }
  template <class T>
  void Read(std::optional<T>& value, std::optional<T> (*parse)(std::string_view)) {
    if (result_.IsNull(row_, column_)) {
      ++column_;
    } else {
      Read(value.emplace(), parse);
    }
  }
  template <class... T>
  void ReadAll(T&... values) {
    (Read(values), ...);
  }

  const absl::Status& status() const { return status_; }

 private:
  const Result& result_;
  const int row_;
  int column_;
  absl::Status status_;
};

int ToInt(const model::Value* value) {
  const int64_t* number = value == nullptr ? nullptr : value->AsInt();
  return number == nullptr ? 0 : static_cast<int>(*number);
}

bool ToBool(const model::Value* value) {
  const bool* flag = value == nullptr ? nullptr : value->AsBool();
  return flag != nullptr && *flag;
}

std::string ToText(const model::Value* value) {
  const std::string* text = value == nullptr ? nullptr : value->AsString();
  return text == nullptr ? "" : *text;
}

std::vector<experiment::LocalTask> ToLocalTasks(const model::Value& value) {
  std::vector<experiment::LocalTask> local_tasks;
  if (value.AsList() == nullptr) return local_tasks;
  for (const model::Value& item : *value.AsList()) {
    experiment::LocalTask local_task;
    local_task.placement.agent = model::AgentId(ToText(item.Find("agent")));
    if (const model::Value* slots = item.Find("slots"); slots != nullptr && slots->AsList()) {
      for (const model::Value& slot : *slots->AsList()) {
        local_task.placement.slots.push_back(ToInt(&slot));
      }
    }
    local_task.started = ToBool(item.Find("started"));
    local_task.exited = ToBool(item.Find("exited"));
    local_task.exit_code = ToInt(item.Find("exit_code"));
    local_task.signal = ToInt(item.Find("signal"));
    local_task.message = ToText(item.Find("message"));
    local_task.suspect = ToText(item.Find("suspect"));
    local_tasks.push_back(std::move(local_task));
  }
  return local_tasks;
}

}  // namespace

const char kExperimentColumns[] =
    "e.id, e.job, e.owner, e.request_id, e.config, e.original_config, e.context_hash, "
    "e.warm_start, e.forked_from, e.state, "
    "e.reason, e.progress, e.best_metric, e.best_trial, micros(e.created_at), micros(e.ended_at), "
    "e.owner_name, e.resource_pool, e.priority, e.weight, e.position, e.max_slots, e.position_set, "
    "e.save_experiment_best, e.save_trial_best, e.save_trial_latest, e.project, "
    "coalesce(p.workspace, 1), w.name, p.name, e.name, e.description, e.labels, e.unmanaged, "
    "e.external_id";
const char kExperimentTables[] =
    "experiments e LEFT JOIN projects p ON p.id = e.project "
    "LEFT JOIN workspaces w ON w.id = p.workspace";

const char kTrialColumns[] =
    "t.id, t.experiment, t.request, t.task, t.seed, t.hparams, t.state, t.end_as, t.held, "
    "t.reason, t.restarts, t.run_id, t.allocation, t.latest_checkpoint, t.waits_for, "
    "t.warm_start, t.steps_completed, t.progress, t.runner_state, t.best_metric, t.latest_metric, "
    "t.best_steps, "
    "micros(t.created_at), micros(t.ended_at), t.blocked, t.run_time, t.no_restart, "
    "t.suspects, t.log_policy, t.continued_runs, t.external_id";

const char kTaskColumns[] =
    "k.id, k.kind, k.owner, k.owner_name, k.workspace, coalesce(w.name, ''), k.project, k.parent, "
    "k.forked_from, k.pausable, k.definition, k.resource_pool, k.priority, k.weight, k.position, "
    "k.position_set, k.max_slots, k.state, k.end_as, k.reason, k.run_id, k.allocation, "
    "k.service_port, k.run_time, micros(k.created_at), micros(k.ended_at)";
const char kTaskTables[] = "tasks k LEFT JOIN workspaces w ON w.id = k.workspace";

const char kAllocationColumns[] =
    "a.id, a.task, a.trial, a.run_id, a.job, a.slots, a.submitted, a.state, a.shares, "
    "a.preemption_acked, a.preemption_reason, micros(a.deadline), a.reported, a.reported_message, "
    "a.exit_reason, a.exit_message, a.exit_code, micros(a.queued_at), micros(a.started_at), "
    "micros(a.ended_at), a.resource_pool, a.max_slots, a.fraction, a.granted, micros(a.saved_at)";

const char kRankingMetric[] = "e.ranking_metric";
const char kMetricColumns[] =
    "m.trial, m.run_id, m.group_name, m.steps, micros(m.time), m.metrics, m.batch";

const char kCheckpointColumns[] =
    "c.id, c.trial, c.allocation, c.steps, c.resources, c.metadata, micros(c.time), c.state, "
    "c.storage";

const char kLogColumns[] =
    "l.id, l.task, l.allocation, l.agent, l.sequence, micros(l.time), l.rank, l.level, l.stdtype, "
    "l.source, l.text, l.container";

absl::StatusOr<model::Value> ToValue(const Result& result, int row, int column) {
  if (result.IsNull(row, column)) return model::Value();
  absl::StatusOr<model::Value> value = model::Value::FromJson(result.Text(row, column));
  if (value.ok()) return value;
  return absl::InternalError(
      absl::StrCat("the database contains an invalid document: ", value.status().message()));
}

std::vector<std::string> ToTexts(const model::Value& value) {
  std::vector<std::string> texts;
  if (value.AsList() == nullptr) return texts;
  for (const model::Value& item : *value.AsList()) texts.push_back(ToText(&item));
  return texts;
}

model::Resources ToResources(const model::Value& value) {
  model::Resources resources;
  if (value.AsObject() == nullptr) return resources;
  for (const auto& [path, size] : *value.AsObject()) {
    if (size.AsInt() != nullptr) resources.emplace(path, *size.AsInt());
  }
  return resources;
}

absl::StatusOr<experiment::Experiment> ToExperiment(const Result& result, int row, int column) {
  experiment::Experiment e;
  std::string config;
  experiment::RetentionPolicy policy;
  std::optional<std::string> workspace, project;
  std::string name, description, labels;
  Cursor cursor(result, row, column);
  cursor.ReadAll(e.id, e.job, e.owner, e.request_id, config, e.original_config, e.context_hash,
                 e.warm_start, e.forked_from);
  cursor.Read(e.state, model::ParseExperimentState);
  cursor.ReadAll(e.reason, e.progress, e.best_metric, e.best_trial, e.created_at, e.ended_at,
                 e.owner_name, e.queue.resource_pool, e.queue.priority, e.queue.weight,
                 e.queue.position, e.queue.max_slots, e.queue.position_set, policy.experiment_best,
                 policy.trial_best, policy.trial_latest, e.project, e.workspace, workspace, project,
                 name, description, labels, e.unmanaged, e.external_id);
  DET_RETURN_IF_ERROR(cursor.status());
  // Fields with their own columns may have changed since the configuration was written.
  const auto change = [&](model::ExperimentConfig& config) {
    experiment::SetRetentionPolicy(config.checkpoint_storage, policy);
    if (workspace) config.workspace = *workspace;
    if (project) config.project = *project;
    config.name = name;
    config.description = description;
    config.labels = ToTexts(model::Value::FromJson(labels).value_or(model::Value()));
  };
  const std::string columns = absl::StrJoin(
      {name, description, labels, workspace.value_or(""), project.value_or(""),
       absl::StrCat(workspace.has_value(), project.has_value(), policy.experiment_best, " ",
                    policy.trial_best, " ", policy.trial_latest)},
      absl::string_view("\0", 1));
  static auto& configs = *new ParsedConfigs;
  absl::StatusOr<ParsedConfigs::Config> parsed = configs.Parse(config, columns, change);
  if (!parsed.ok()) {
    return absl::InternalError(absl::StrCat("the configuration of experiment ", ToString(e.id),
                                            " cannot be read: ", parsed.status().message()));
  }
  e.config = *std::move(parsed);
  return e;
}

absl::StatusOr<experiment::Trial> ToTrial(const Result& result, int row, int column) {
  experiment::Trial t;
  model::Value hparams, blocked, suspects, continued_runs;
  Cursor cursor(result, row, column);
  cursor.ReadAll(t.id, t.experiment, t.request, t.task, t.seed, hparams);
  cursor.Read(t.state, model::ParseTrialState);
  cursor.Read(t.end_as, model::ParseTrialState);
  cursor.ReadAll(t.held, t.reason, t.restarts, t.run_id, t.allocation, t.latest_checkpoint,
                 t.waits_for, t.warm_start, t.steps_completed, t.progress, t.runner_state,
                 t.best_metric, t.latest_metric, t.best_steps, t.created_at, t.ended_at, blocked,
                 t.run_time, t.no_restart, suspects, t.log_policy, continued_runs, t.external_id);
  DET_RETURN_IF_ERROR(cursor.status());
  if (blocked.AsList() != nullptr) {
    for (const model::Value& agent : *blocked.AsList()) t.blocked.emplace_back(ToText(&agent));
  }
  if (suspects.AsList() != nullptr) {
    for (const model::Value& agent : *suspects.AsList()) t.suspects.emplace_back(ToText(&agent));
  }
  if (continued_runs.AsList() != nullptr) {
    for (const model::Value& run : *continued_runs.AsList()) {
      t.continued_runs.push_back(static_cast<int>(run.AsNumber().value_or(0)));
    }
  }
  if (hparams.AsObject() != nullptr) t.hparams = std::move(*hparams.MutableObject());
  return t;
}

absl::StatusOr<experiment::Task> ToTask(const Result& result, int row) {
  experiment::Task t;
  model::Value definition;
  Cursor cursor(result, row, 0);
  cursor.Read(t.id);
  cursor.Read(t.kind, model::ParseTaskKind);
  cursor.ReadAll(t.owner, t.owner_name, t.workspace, t.workspace_name, t.project, t.parent,
                 t.forked_from, t.pausable, definition, t.queue.resource_pool, t.queue.priority,
                 t.queue.weight, t.queue.position, t.queue.position_set, t.queue.max_slots);
  cursor.Read(t.state, model::ParseTaskState);
  cursor.Read(t.end_as, model::ParseTaskState);
  cursor.ReadAll(t.reason, t.run_id, t.allocation, t.service_port, t.run_time, t.created_at,
                 t.ended_at);
  DET_RETURN_IF_ERROR(cursor.status());
  t.definition = std::make_shared<const model::TaskDefinition>(ToTaskDefinition(definition));
  return t;
}

absl::StatusOr<experiment::Allocation> ToAllocation(const Result& result, int row) {
  experiment::Allocation a;
  model::Value local_tasks;
  Cursor cursor(result, row, 0);
  cursor.ReadAll(a.id, a.task, a.trial, a.run_id, a.job, a.slots, a.submitted);
  cursor.Read(a.state, model::ParseAllocationState);
  cursor.ReadAll(local_tasks, a.preemption_acked, a.preemption_reason, a.deadline);
  cursor.Read(a.reported, model::ParseExitReason);
  cursor.Read(a.reported_message);
  cursor.Read(a.exit_reason, model::ParseExitReason);
  cursor.ReadAll(a.exit_message, a.exit_code, a.queued_at, a.started_at, a.ended_at,
                 a.resource_pool, a.max_slots, a.fraction, a.granted, a.saved_at);
  DET_RETURN_IF_ERROR(cursor.status());
  a.local_tasks = ToLocalTasks(local_tasks);
  return a;
}

absl::StatusOr<model::MetricReport> ToMetricReport(const Result& result, int row) {
  model::MetricReport r;
  Cursor cursor(result, row, 0);
  cursor.ReadAll(r.trial, r.run_id, r.group, r.steps_completed, r.time, r.metrics, r.batch_metrics);
  DET_RETURN_IF_ERROR(cursor.status());
  return r;
}

absl::StatusOr<model::CheckpointRecord> ToCheckpoint(const Result& result, int row) {
  model::CheckpointRecord c;
  model::Value resources;
  Cursor cursor(result, row, 0);
  cursor.ReadAll(c.id, c.trial, c.allocation, c.steps_completed, resources, c.metadata, c.time);
  cursor.Read(c.state, model::ParseCheckpointState);
  cursor.Read(c.storage);
  DET_RETURN_IF_ERROR(cursor.status());
  c.resources = ToResources(resources);
  return c;
}

LogRecord ToLogRecord(const Result& result, int row) {
  LogRecord record;
  model::LogLine& l = record.line;
  int level = 0;
  Cursor cursor(result, row, 0);
  cursor.ReadAll(record.id, l.task, l.allocation, l.agent, l.sequence, l.time, l.rank, level,
                 l.stdtype, l.source, l.text, l.container);
  l.text = DecodeLogText(l.text);
  l.level = static_cast<model::LogLevel>(level);
  return record;
}

}  // namespace det::store
