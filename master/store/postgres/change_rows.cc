// Conversion of changes to statements.
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/str_cat.h"
#include "master/store/interfaces/canonical.h"
#include "master/store/interfaces/task_document.h"
#include "master/store/postgres/agent_rows.h"
#include "master/store/postgres/params.h"
#include "master/store/postgres/rows.h"
#include "master/store/postgres/scheduling_rows.h"
#include "master/store/postgres/webhook_rows.h"

namespace det::store {
namespace {

using Statement = Connection::Statement;

// If the project was deleted concurrently, uses Uncategorized (1).
constexpr char kInsertExperiment[] = R"sql(
INSERT INTO experiments (id, name, job, owner, request_id, config, original_config, context_hash,
  warm_start, forked_from, state, reason, progress, best_metric, best_trial, created_at, ended_at,
  owner_name, resource_pool, priority, weight, position, max_slots, position_set,
  save_experiment_best, save_trial_best, save_trial_latest, project, description, labels)
VALUES ($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15,$16,$17,$18,$19,$20,$21,$22,$23,$24,$25,
  $26,$27,coalesce((SELECT id FROM projects WHERE id = $28::int FOR KEY SHARE), 1),$29,$30)
ON CONFLICT (id) DO UPDATE SET name = excluded.name, config = excluded.config,
  description = excluded.description, labels = excluded.labels,
  state = excluded.state, reason = excluded.reason, progress = excluded.progress,
  best_metric = excluded.best_metric, best_trial = excluded.best_trial,
  ended_at = excluded.ended_at, resource_pool = excluded.resource_pool,
  priority = excluded.priority, weight = excluded.weight, position = excluded.position,
  max_slots = excluded.max_slots, position_set = excluded.position_set,
  save_experiment_best = excluded.save_experiment_best,
  save_trial_best = excluded.save_trial_best, save_trial_latest = excluded.save_trial_latest,
  archived = false, retained = false)sql";

constexpr char kUpdateExperiment[] = R"sql(
UPDATE experiments SET state = $2, reason = $3, progress = $4, best_metric = $5, best_trial = $6,
  ended_at = $7, resource_pool = $8, priority = $9, weight = $10, position = $11, max_slots = $12,
  position_set = $13, archived = false, retained = false WHERE id = $1)sql";

constexpr char kInsertTrials[] = R"sql(
INSERT INTO trials (id, experiment, request, task, seed, hparams, state, end_as, held, reason,
  restarts, run_id, allocation, latest_checkpoint, waits_for, warm_start, steps_completed, progress,
  runner_state, best_metric, latest_metric, best_steps, created_at, ended_at, blocked, run_time,
  no_restart, suspects, log_policy, continued_runs, project)
)sql";
constexpr char kTrialValues[] = R"sql(
VALUES ($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15,$16,$17,$18,$19,$20,$21,$22,$23,$24,$25,
  $26,$27,$28,$29,$30, coalesce((SELECT e.project FROM experiments e WHERE e.id = $2), 1))
)sql";
// The same of many trials: an array for each column.
constexpr char kTrialArrays[] = R"sql(
SELECT u.*, coalesce((SELECT e.project FROM experiments e WHERE e.id = u.experiment), 1)
FROM unnest($1::int[], $2::int[], $3::text[], $4::text[], $5::bigint[], $6::json[], $7::text[],
  $8::text[], $9::boolean[], $10::text[], $11::int[], $12::int[], $13::text[], $14::text[],
  $15::int[], $16::text[], $17::bigint[], $18::float8[], $19::text[], $20::float8[],
  $21::float8[], $22::bigint[], $23::timestamptz[], $24::timestamptz[], $25::json[],
  $26::bigint[], $27::text[], $28::json[], $29::text[],
  $30::json[]) u (id, experiment)
)sql";
constexpr char kTrialConflict[] = R"sql(
ON CONFLICT (id) DO UPDATE SET hparams = excluded.hparams, state = excluded.state,
  end_as = excluded.end_as, held = excluded.held, reason = excluded.reason, restarts = excluded.restarts,
  run_id = excluded.run_id, allocation = excluded.allocation,
  latest_checkpoint = excluded.latest_checkpoint, waits_for = excluded.waits_for,
  warm_start = excluded.warm_start, steps_completed = excluded.steps_completed,
  progress = excluded.progress, runner_state = excluded.runner_state,
  best_metric = excluded.best_metric, latest_metric = excluded.latest_metric,
  best_steps = excluded.best_steps, ended_at = excluded.ended_at, blocked = excluded.blocked,
  run_time = excluded.run_time, no_restart = excluded.no_restart,
  suspects = excluded.suspects, log_policy = excluded.log_policy,
  continued_runs = excluded.continued_runs)sql";
const std::string& PutTrialSql() {
  static const auto& kSql =
      *new std::string(absl::StrCat(kInsertTrials, kTrialValues, kTrialConflict));
  return kSql;
}
const std::string& PutTrialsSql() {
  static const auto& kSql =
      *new std::string(absl::StrCat(kInsertTrials, kTrialArrays, kTrialConflict));
  return kSql;
}

// What never changes is only inserted.
constexpr char kPutTask[] = R"sql(
INSERT INTO tasks (id, kind, owner, owner_name, workspace, project, parent, forked_from, pausable,
  definition, resource_pool, priority, weight, position, position_set, max_slots, state, end_as,
  reason, run_id, allocation, service_port, run_time, created_at, ended_at)
VALUES ($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15,$16,$17,$18,$19,$20,$21,$22,$23,$24,$25)
ON CONFLICT (id) DO UPDATE SET resource_pool = excluded.resource_pool,
  priority = excluded.priority, weight = excluded.weight, position = excluded.position,
  position_set = excluded.position_set, max_slots = excluded.max_slots, state = excluded.state,
  end_as = excluded.end_as, reason = excluded.reason, run_id = excluded.run_id,
  allocation = excluded.allocation, service_port = excluded.service_port,
  run_time = excluded.run_time, ended_at = excluded.ended_at)sql";

constexpr char kPutAllocation[] = R"sql(
INSERT INTO allocations (id, task, trial, run_id, job, slots, submitted, state, shares,
  preemption_acked, preemption_reason, deadline, reported, reported_message, exit_reason,
  exit_message, exit_code, queued_at, started_at, ended_at, resource_pool, max_slots, fraction,
  granted, saved_at, workspace)
VALUES ($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11,$12,$13,$14,$15,$16,$17,$18,$19,$20,$21,$22,$23,$24,$25,
  coalesce((SELECT p.workspace FROM trials t JOIN experiments e ON e.id = t.experiment
    JOIN projects p ON p.id = e.project WHERE t.id = $3),
    (SELECT k.workspace FROM tasks k WHERE k.id = $2)))
ON CONFLICT (id) DO UPDATE SET slots = excluded.slots, submitted = excluded.submitted,
  state = excluded.state, shares = excluded.shares, preemption_acked = excluded.preemption_acked,
  preemption_reason = excluded.preemption_reason, deadline = excluded.deadline,
  reported = excluded.reported, reported_message = excluded.reported_message,
  exit_reason = excluded.exit_reason, exit_message = excluded.exit_message,
  exit_code = excluded.exit_code, started_at = excluded.started_at,
  ended_at = excluded.ended_at, resource_pool = excluded.resource_pool,
  max_slots = excluded.max_slots, fraction = excluded.fraction, granted = excluded.granted,
  saved_at = excluded.saved_at,
  workspace = CASE WHEN allocations.started_at IS NULL THEN excluded.workspace
              ELSE allocations.workspace END)sql";

// Deletes searcher events up to the snapshot.
constexpr char kPutSearcher[] = R"sql(
WITH past AS (DELETE FROM searcher_events WHERE experiment = $1 AND sequence <= $2)
INSERT INTO searchers (experiment, sequence, snapshot) VALUES ($1,$2,$3)
ON CONFLICT (experiment) DO UPDATE SET sequence = excluded.sequence, snapshot = excluded.snapshot
WHERE searchers.sequence <= excluded.sequence)sql";

constexpr char kAddSearcherEvents[] = R"sql(
INSERT INTO searcher_events (experiment, sequence, events) VALUES ($1,$2,$3)
ON CONFLICT DO NOTHING)sql";

// Does not overwrite later changes of the checkpoint's files.
constexpr char kPutCheckpoint[] = R"sql(
INSERT INTO checkpoints (id, trial, allocation, steps, resources, size, metadata, time, state,
  storage)
VALUES ($1,$2,$3,$4,$5,$6,$7,$8,$9,$10)
ON CONFLICT (id) DO UPDATE SET allocation = excluded.allocation,
  steps = excluded.steps, resources = excluded.resources, size = excluded.size,
  metadata = excluded.metadata, time = excluded.time, storage = excluded.storage
WHERE checkpoints.trial = excluded.trial
  AND checkpoints.state NOT IN ('ERROR', 'PARTIALLY_DELETED'))sql";

constexpr char kMarkDamaged[] = R"sql(
UPDATE checkpoints SET state = 'ERROR',
  metadata = (metadata::jsonb || jsonb_build_object('damage', $3::text))::json
WHERE id = $1 AND trial = $2 AND state = 'COMPLETED')sql";

constexpr char kMarkDeleting[] = R"sql(
WITH doomed AS (UPDATE checkpoints c SET state = 'DELETING', globs = NULL FROM trials t
  WHERE t.experiment = $1 AND c.trial = t.id
  AND c.state IN ('COMPLETED', 'ERROR', 'PARTIALLY_DELETED')
  AND NOT EXISTS (SELECT FROM held_checkpoints h WHERE h.checkpoint = c.id))
UPDATE experiments SET state = 'DELETING', reason = '' WHERE id = $1)sql";

constexpr char kDropCheckpoints[] = R"sql(
UPDATE checkpoints c SET state = 'DELETING', globs = NULL
WHERE c.id = ANY($1::text[]) AND c.state IN ('COMPLETED', 'ERROR', 'PARTIALLY_DELETED')
  AND NOT EXISTS (SELECT FROM held_checkpoints h WHERE h.checkpoint = c.id))sql";

// In the same order as the fakes, without duplicates.
constexpr char kTrimCheckpoint[] = R"sql(
UPDATE checkpoints c SET state = 'PARTIALLY_DELETED', globs = (
  SELECT jsonb_agg(DISTINCT g.glob COLLATE "C" ORDER BY g.glob COLLATE "C")
  FROM jsonb_array_elements_text(coalesce(c.globs, '[]') || $2::jsonb) g (glob))
WHERE c.id = $1 AND c.state IN ('COMPLETED', 'ERROR', 'PARTIALLY_DELETED')
  AND NOT EXISTS (SELECT FROM held_checkpoints h WHERE h.checkpoint = c.id))sql";

constexpr char kRetainOthers[] = R"sql(
WITH same AS (UPDATE experiments SET retained = true
  WHERE id = $2 AND save_experiment_best = $3 AND save_trial_best = $4 AND save_trial_latest = $5
  RETURNING id)
UPDATE checkpoints c SET state = 'DELETING', globs = NULL
WHERE c.id = ANY($1::text[]) AND c.state IN ('COMPLETED', 'ERROR', 'PARTIALLY_DELETED')
  AND EXISTS (SELECT FROM same)
  AND NOT EXISTS (SELECT FROM held_checkpoints h WHERE h.checkpoint = c.id))sql";

constexpr char kPutRetention[] =
    "UPDATE experiments SET save_experiment_best = $2, save_trial_best = $3, "
    "save_trial_latest = $4, retained = false WHERE id = $1";

constexpr char kSetExperimentDetails[] =
    "UPDATE experiments SET name = coalesce($2, name), description = coalesce($3, description), "
    "labels = coalesce($4::jsonb, labels), notes = coalesce($5, notes) WHERE id = $1";

constexpr char kAddMetrics[] = R"sql(
INSERT INTO metrics (trial, run_id, group_name, steps, time, metrics, batch)
SELECT * FROM unnest($1::int[], $2::int[], $3::text[], $4::bigint[], $5::timestamptz[],
  $6::json[], $7::json[])
ON CONFLICT DO NOTHING)sql";

// Skips lines of deleted experiments, which would never be removed. The task of a trial is
// "<experiment>.<trial>"; the experiment of another task is NULL.
constexpr char kAddLogLines[] = R"sql(
WITH deleted_tasks AS MATERIALIZED (SELECT t.task
  FROM (SELECT l.task, substring(l.task FROM '^([0-9]{1,18})[.][0-9]+$')::bigint AS experiment
    FROM (SELECT DISTINCT task FROM unnest($1::text[]) l (task)) l) t, highest_deleted d
  WHERE t.experiment <= d.experiment AND NOT EXISTS (SELECT FROM experiments e
    WHERE e.id = t.experiment AND e.state <> 'DELETED'))
INSERT INTO task_logs (task, allocation, agent, sequence, time, rank, level, stdtype, source, text,
  container)
SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::timestamptz[],
  $6::int[], $7::smallint[], $8::text[], $9::text[], $10::text[], $11::text[]) l (task)
WHERE l.task NOT IN (SELECT task FROM deleted_tasks)
ON CONFLICT DO NOTHING)sql";

// An arbitrary number that no other advisory lock uses.
constexpr char kLockLog[] = "SELECT pg_advisory_xact_lock(7241900301)";

model::Value ToValue(const std::vector<experiment::LocalTask>& local_tasks) {
  model::Value::List list;
  for (const experiment::LocalTask& local_task : local_tasks) {
    model::Value::List slots;
    for (const int slot : local_task.placement.slots) slots.emplace_back(slot);
    model::Value::Object object;
    object["agent"] = local_task.placement.agent.value();
    object["slots"] = std::move(slots);
    object["started"] = local_task.started;
    object["exited"] = local_task.exited;
    object["exit_code"] = local_task.exit_code;
    object["signal"] = local_task.signal;
    object["message"] = local_task.message;
    if (!local_task.suspect.empty()) object["suspect"] = local_task.suspect;
    list.emplace_back(std::move(object));
  }
  return list;
}

model::Value ToValue(const std::vector<model::AgentId>& agents) {
  model::Value::List list;
  for (const model::AgentId& agent : agents) list.emplace_back(agent.value());
  return list;
}

model::Value ToValue(const std::vector<int>& numbers) {
  return model::Value::List(numbers.begin(), numbers.end());
}

// States are stored as their text.
template <class State>
std::string Text(State state) {
  return std::string(model::ToString(state));
}

Statement Put(const experiment::Experiment& e, bool known) {
  if (known) {
    return {kUpdateExperiment,
            MakeParams(e.id, Text(e.state), e.reason, e.progress, e.best_metric, e.best_trial,
                       e.ended_at, e.queue.resource_pool, e.queue.priority, e.queue.weight,
                       e.queue.position, e.queue.max_slots, e.queue.position_set)};
  }
  const model::CheckpointStorageConfig& storage = e.config->checkpoint_storage;
  return {
      kInsertExperiment,
      MakeParams(e.id, e.config->name, e.job, e.owner, e.request_id, model::ToValue(*e.config),
                 e.original_config, e.context_hash, e.warm_start, e.forked_from, Text(e.state),
                 e.reason, e.progress, e.best_metric, e.best_trial, e.created_at, e.ended_at,
                 e.owner_name, e.queue.resource_pool, e.queue.priority, e.queue.weight,
                 e.queue.position, e.queue.max_slots, e.queue.position_set,
                 storage.save_experiment_best, storage.save_trial_best, storage.save_trial_latest,
                 e.project, e.config->description, ToDocument(e.config->labels))};
}

Params ToParams(const experiment::Trial& t) {
  const std::optional<std::string> end_as =
      t.end_as ? std::optional(Text(*t.end_as)) : std::nullopt;
  return MakeParams(t.id, t.experiment, t.request, t.task, t.seed, model::Value(t.hparams),
                    Text(t.state), end_as, t.held, t.reason, t.restarts, t.run_id, t.allocation,
                    t.latest_checkpoint, t.waits_for, t.warm_start, t.steps_completed, t.progress,
                    t.runner_state, t.best_metric, t.latest_metric, t.best_steps, t.created_at,
                    t.ended_at, ToValue(t.blocked), t.run_time, t.no_restart, ToValue(t.suspects),
                    t.log_policy, ToValue(t.continued_runs));
}

Statement Put(const experiment::Task& t) {
  const std::optional<std::string> end_as =
      t.end_as ? std::optional(Text(*t.end_as)) : std::nullopt;
  return {kPutTask,
          MakeParams(t.id, Text(t.kind), t.owner, t.owner_name, t.workspace, t.project, t.parent,
                     t.forked_from, t.pausable, ToDocument(*t.definition), t.queue.resource_pool,
                     t.queue.priority, t.queue.weight, t.queue.position, t.queue.position_set,
                     t.queue.max_slots, Text(t.state), end_as, t.reason, t.run_id, t.allocation,
                     t.service_port, t.run_time, t.created_at, t.ended_at)};
}

Statement Put(const experiment::Allocation& a) {
  return {kPutAllocation,
          MakeParams(a.id, a.task, a.trial, a.run_id, a.job, a.slots, a.submitted, Text(a.state),
                     ToValue(a.local_tasks), a.preemption_acked, a.preemption_reason, a.deadline,
                     Text(a.reported), a.reported_message, Text(a.exit_reason), a.exit_message,
                     a.exit_code, a.queued_at, a.started_at, a.ended_at, a.resource_pool,
                     a.max_slots, a.fraction, a.granted, a.saved_at)};
}

Statement Put(const model::CheckpointRecord& c) {
  return {kPutCheckpoint,
          MakeParams(c.id, c.trial, c.allocation, c.steps_completed, ToDocument(c.resources),
                     ComputeTotalSize(c), c.metadata, c.time, Text(c.state), c.storage)};
}

}  // namespace

model::Value ToDocument(const model::Resources& resources) {
  model::Value::Object object;
  for (const auto& [path, size] : resources) object.emplace(path, size);
  return object;
}

model::Value ToDocument(const std::vector<std::string>& texts) {
  model::Value::List list;
  for (const std::string& text : texts) list.emplace_back(text);
  return list;
}

Statement ToStatement(const cluster::Change& change, bool known) {
  struct Visitor {
    bool known;
    Statement operator()(const cluster::PutExperiment& put) { return Put(put.experiment, known); }
    Statement operator()(const cluster::PutTrial& put) {
      return {PutTrialSql(), ToParams(put.trial)};
    }
    Statement operator()(const cluster::PutTask& put) { return Put(put.task); }
    Statement operator()(const cluster::PutAllocation& put) { return Put(put.allocation); }
    Statement operator()(const cluster::PutSearcher& put) {
      return {kPutSearcher, MakeParams(put.experiment, put.sequence, put.snapshot)};
    }
    Statement operator()(const cluster::AddSearcherEvents& add) {
      return {kAddSearcherEvents, MakeParams(add.experiment, add.sequence, add.events)};
    }
    Statement operator()(const cluster::AddMetrics& add) { return InsertMetrics({&add.report}); }
    Statement operator()(const cluster::AddCheckpoint& add) { return Put(add.checkpoint); }
    Statement operator()(const cluster::MarkDamaged& mark) {
      return {kMarkDamaged, MakeParams(mark.id, mark.trial, mark.damage)};
    }
    Statement operator()(const cluster::SetProject& set) {
      return {
          "UPDATE experiments SET project = coalesce((SELECT id FROM projects "
          "WHERE id = $2::int FOR KEY SHARE), project) WHERE id = $1",
          MakeParams(set.experiment, set.to.project)};
    }
    Statement operator()(const cluster::SetExperimentDetails& set) {
      const cluster::ExperimentDetails& texts = set.details;
      const Param labels = texts.labels ? ToParam(ToDocument(*texts.labels)) : Param{};
      return {kSetExperimentDetails,
              {ToParam(set.experiment), ToParam(texts.name), ToParam(texts.description), labels,
               ToParam(texts.notes)}};
    }
    Statement operator()(const cluster::SetArchived& set) {
      return {"UPDATE experiments SET archived = $2 WHERE id = $1",
              MakeParams(set.experiment, set.archived)};
    }
    Statement operator()(const cluster::MarkDeleting& mark) {
      return {kMarkDeleting, MakeParams(mark.experiment)};
    }
    Statement operator()(const cluster::PutRetention& put) {
      return {kPutRetention, MakeParams(put.experiment, put.policy.experiment_best,
                                        put.policy.trial_best, put.policy.trial_latest)};
    }
    Statement operator()(const cluster::DropCheckpoints& drop) {
      return {kDropCheckpoints, {ToArray(drop.ids)}};
    }
    Statement operator()(const cluster::TrimCheckpoint& trim) {
      return {kTrimCheckpoint, MakeParams(trim.id, ToDocument(trim.globs))};
    }
    Statement operator()(const cluster::ApplyRetention& retain) {
      const experiment::RetentionPolicy& policy = retain.policy;
      return {kRetainOthers,
              {ToArray(retain.drop), ToParam(retain.experiment), ToParam(policy.experiment_best),
               ToParam(policy.trial_best), ToParam(policy.trial_latest)}};
    }
    Statement operator()(const cluster::AddLogLine& add) { return InsertLogLines({&add.line}); }
    Statement operator()(const cluster::RaiseWebhooks& raise) {
      return RaiseStatement(raise.event);
    }
    Statement operator()(const cluster::PutAgent& put) { return Put(put.agent); }
    Statement operator()(const cluster::DropAgent& drop) { return Drop(drop); }
    Statement operator()(const cluster::AddCapacity& add) { return Add(add); }
    Statement operator()(const cluster::PutAgentState& put) { return Put(put.agent); }
    Statement operator()(const cluster::PutPool& put) { return Put(put.pool); }
    Statement operator()(const cluster::DropPool& drop) { return Drop(drop); }
    Statement operator()(const cluster::PutDefaultPools& put) { return Put(put); }
    Statement operator()(const cluster::SetQuota& set) { return Put(set.quota); }
    Statement operator()(const cluster::DropQuota& drop) { return Drop(drop); }
  };
  return std::visit(Visitor{known}, change);
}

Statement PutTrials(const std::vector<const experiment::Trial*>& trials) {
  if (trials.size() == 1) return {PutTrialSql(), ToParams(*trials[0])};
  std::vector<ArrayBuilder> columns;
  for (const experiment::Trial* trial : trials) {
    const Params row = ToParams(*trial);
    columns.resize(row.size());
    for (size_t i = 0; i < row.size(); ++i) columns[i].Add(row[i]);
  }
  Params arrays;
  for (ArrayBuilder& column : columns) arrays.push_back(std::move(column).Finish());
  return {PutTrialsSql(), std::move(arrays)};
}

Statement InsertMetrics(const std::vector<const model::MetricReport*>& reports) {
  ArrayBuilder trials, runs, groups, steps, times, metrics, batches;
  for (const model::MetricReport* r : reports) {
    trials.Add(ToParam(r->trial));
    runs.Add(ToParam(r->run_id));
    groups.Add(ToParam(r->group));
    steps.Add(ToParam(r->steps_completed));
    times.Add(ToParam(r->time));
    metrics.Add(ToParam(r->metrics));
    batches.Add(r->batch_metrics.is_null() ? Param{} : ToParam(r->batch_metrics));
  }
  return {kAddMetrics,
          {std::move(trials).Finish(), std::move(runs).Finish(), std::move(groups).Finish(),
           std::move(steps).Finish(), std::move(times).Finish(), std::move(metrics).Finish(),
           std::move(batches).Finish()}};
}

Statement InsertLogLines(const std::vector<const model::LogLine*>& lines) {
  ArrayBuilder tasks, allocations, agents, sequences, times, ranks, levels, stdtypes, sources,
      texts, containers;
  for (const model::LogLine* l : lines) {
    tasks.Add(ToParam(l->task));
    allocations.Add(ToParam(l->allocation));
    agents.Add(ToParam(l->agent));
    sequences.Add(ToParam(l->sequence));
    times.Add(ToParam(l->time));
    ranks.Add(ToParam(l->rank));
    levels.Add(ToParam(static_cast<int>(Canonical(l->level))));
    stdtypes.Add(ToParam(l->stdtype));
    sources.Add(ToParam(l->source));
    texts.Add(ToParam(EncodeLogText(l->text)));
    containers.Add(ToParam(l->container));
  }
  return {kAddLogLines,
          {std::move(tasks).Finish(), std::move(allocations).Finish(), std::move(agents).Finish(),
           std::move(sequences).Finish(), std::move(times).Finish(), std::move(ranks).Finish(),
           std::move(levels).Finish(), std::move(stdtypes).Finish(), std::move(sources).Finish(),
           std::move(texts).Finish(), std::move(containers).Finish()}};
}

Statement LockLog() { return {kLockLog, {}}; }

}  // namespace det::store
