#include "master/store/postgres/sql_garbage_collection.h"

#include <map>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "master/store/interfaces/canonical.h"
#include "master/store/postgres/params.h"
#include "master/store/postgres/rows.h"

namespace det::store {
namespace {

using Ids = std::vector<model::ExperimentId>;

constexpr char kDue[] =
    "SELECT id FROM experiments WHERE NOT retained AND state IN ('COMPLETED', 'CANCELED', 'ERROR') "
    "AND NOT unmanaged AND id > $1 ORDER BY id LIMIT $2";
constexpr char kDoomed[] =
    "SELECT c.id, t.experiment, s.config FROM checkpoints c JOIN trials t ON t.id = c.trial "
    "LEFT JOIN checkpoint_storages s ON s.id = c.storage "
    "WHERE c.state = 'DELETING' AND c.id > $1 ORDER BY c.id LIMIT $2";
constexpr char kSetDeleted[] =
    "UPDATE checkpoints SET state = 'DELETED' WHERE id = ANY($1::text[]) AND state = 'DELETING'";
constexpr char kTrimmed[] =
    "SELECT c.id, t.experiment, s.config, c.resources, c.globs FROM checkpoints c "
    "JOIN trials t ON t.id = c.trial LEFT JOIN checkpoint_storages s ON s.id = c.storage "
    "WHERE c.globs IS NOT NULL AND c.id > $1 ORDER BY c.id LIMIT $2";
constexpr char kSetTrimmed[] =
    "UPDATE checkpoints SET resources = $3, size = $4, globs = NULL, "
    "state = CASE WHEN $5::boolean THEN state ELSE 'DELETED' END "
    "WHERE id = $1 AND globs = $2::jsonb AND state = 'PARTIALLY_DELETED'";
constexpr char kDeletions[] = "SELECT id FROM experiments WHERE state = 'DELETING' ORDER BY id";
constexpr char kReleases[] = R"sql(
SELECT e.id FROM experiments e WHERE e.state = 'DELETED' AND (
  EXISTS (SELECT FROM trials t JOIN checkpoints c ON c.trial = t.id WHERE t.experiment = e.id
    AND NOT EXISTS (SELECT FROM held_checkpoints h WHERE h.checkpoint = c.id))
  OR NOT EXISTS (SELECT FROM trials t WHERE t.experiment = e.id))
ORDER BY e.id)sql";
constexpr char kOfDeletedProjects[] = R"sql(
SELECT e.id FROM projects p JOIN workspaces w ON w.id = p.workspace
JOIN experiments e ON e.project = p.id
WHERE (p.state = 'DELETING' OR w.state = 'DELETING')
  AND e.state IN ('COMPLETED', 'CANCELED', 'ERROR', 'DELETE_FAILED') ORDER BY e.id)sql";
constexpr char kFail[] =
    "UPDATE experiments SET state = 'DELETE_FAILED', reason = $2 "
    "WHERE id = $1 AND state = 'DELETING'";
constexpr char kHeld[] = R"sql(
SELECT h.checkpoint, min(h.holder) FROM held_checkpoints h JOIN checkpoints c ON c.id = h.checkpoint
JOIN trials t ON t.id = c.trial WHERE t.experiment = $1 GROUP BY 1 ORDER BY 1)sql";

constexpr char kKeepExperimentLogs[] =
    "UPDATE experiments SET log_days = $2 WHERE id = $1 RETURNING id";
constexpr char kForgetTrialLogs[] =
    "UPDATE trials SET log_days = NULL WHERE experiment = $1 AND log_days IS NOT NULL";
constexpr char kSetTrialLogDays[] = "UPDATE trials SET log_days = $2 WHERE id = $1 RETURNING id";
constexpr char kTrialLogDays[] =
    "SELECT coalesce(t.log_days, e.log_days, "
    "(e.config #>> '{retention_policy,log_retention_days}')::int) "
    "FROM trials t JOIN experiments e ON e.id = t.experiment WHERE t.id = $1";
// Finds the due tasks that have lines first, because there are fewer of them than lines.
constexpr char kOldLogs[] = R"sql(
WITH due AS MATERIALIZED (
  SELECT t.task FROM trials t JOIN experiments e ON e.id = t.experiment
  CROSS JOIN LATERAL (SELECT coalesce(t.log_days, e.log_days,
    (e.config #>> '{retention_policy,log_retention_days}')::int, $2::int) AS days) kept
  WHERE isfinite(t.ended_at) AND t.ended_at < $1 AND kept.days >= 0
    AND t.ended_at < $1::timestamptz - make_interval(days => kept.days)
    AND EXISTS (SELECT FROM task_logs l WHERE l.task = t.task)
  UNION ALL
  SELECT k.id FROM tasks k WHERE isfinite(k.ended_at) AND $2::int >= 0
    AND k.ended_at < $1::timestamptz - make_interval(days => $2::int)
    AND EXISTS (SELECT FROM task_logs l WHERE l.task = k.id)),
removed AS (DELETE FROM task_logs WHERE ctid = ANY(ARRAY(
  SELECT l.ctid FROM due JOIN task_logs l ON l.task = due.task LIMIT $3)) RETURNING 1)
SELECT count(*) FROM removed)sql";
constexpr char kOldAudit[] = R"sql(
WITH removed AS (DELETE FROM audit WHERE id = ANY(ARRAY(
  SELECT id FROM audit WHERE at < $1 ORDER BY at LIMIT $2)) RETURNING 1)
SELECT count(*) FROM removed)sql";

// One statement per table, in the order of deletion.
constexpr const char* kBulk[] = {
    "WITH removed AS (DELETE FROM task_logs WHERE ctid = ANY(ARRAY("
    "SELECT l.ctid FROM task_logs l JOIN trials t ON t.task = l.task WHERE t.experiment = $1 "
    "LIMIT $2)) RETURNING 1) SELECT count(*) FROM removed",
    "WITH removed AS (DELETE FROM metrics WHERE ctid = ANY(ARRAY("
    "SELECT m.ctid FROM metrics m JOIN trials t ON t.id = m.trial WHERE t.experiment = $1 "
    "LIMIT $2)) RETURNING 1) SELECT count(*) FROM removed",
    "WITH removed AS (DELETE FROM searcher_events WHERE ctid = ANY(ARRAY("
    "SELECT ctid FROM searcher_events WHERE experiment = $1 LIMIT $2)) RETURNING 1) "
    "SELECT count(*) FROM removed",
};

// Executed together, and only for an experiment that is being deleted; after LockLog(), so that no
// line is inserted between the first statement and the last.
constexpr const char* kRest[] = {
    "DELETE FROM task_logs l USING trials t WHERE t.experiment = $1 AND l.task = t.task",
    "UPDATE highest_deleted SET experiment = greatest(experiment, $1), "
    "trial = greatest(trial, (SELECT max(id) FROM trials WHERE experiment = $1)), "
    "submitted = greatest(submitted, (SELECT max(a.submitted) FROM allocations a "
    "JOIN trials t ON t.id = a.trial WHERE t.experiment = $1))",
    "INSERT INTO deleted_usage (owner, workspace, began_at, ended_at, slots, experiment, "
    "allocation, resource_pool) SELECT coalesce(nullif(e.owner_name, ''), e.owner::text), "
    "coalesce(w.name, ''), a.started_at, a.ended_at, a.granted * a.fraction, e.id, a.id, "
    "a.resource_pool "
    "FROM experiments e LEFT JOIN projects p ON p.id = e.project "
    "JOIN trials t ON t.experiment = e.id JOIN allocations a ON a.task = t.task "
    "LEFT JOIN workspaces w ON w.id = coalesce(a.workspace, p.workspace) "
    "WHERE e.id = $1 AND isfinite(a.ended_at) AND isfinite(a.started_at) AND a.granted > 0",
    // Only the newest month counts.
    "DELETE FROM deleted_usage WHERE ended_at < "
    "(SELECT date_trunc('month', max(ended_at), 'UTC') FROM deleted_usage) AND $1 > 0",
    "DELETE FROM allocations a USING trials t WHERE t.experiment = $1 AND a.task = t.task",
    "DELETE FROM searchers WHERE experiment = $1",
    "DELETE FROM checkpoints c USING trials t "
    "WHERE t.experiment = $1 AND c.trial = t.id AND c.state = 'DELETED'",
    "DELETE FROM webhook_fired f USING trials t WHERE t.experiment = $1 AND f.trial = t.id",
    "DELETE FROM trial_sources s USING trials t WHERE t.experiment = $1 AND s.trial = t.id",
    "DELETE FROM run_values v USING trials t WHERE t.experiment = $1 AND v.trial = t.id",
    "DELETE FROM run_metadata d USING trials t WHERE t.experiment = $1 AND d.trial = t.id",
    // Must come first: waits until summaries that are being computed are complete.
    "DELETE FROM unsummarized u USING trials t WHERE t.experiment = $1 AND u.trial = t.id",
    "DELETE FROM metric_summaries s USING trials t WHERE t.experiment = $1 AND s.trial = t.id",
    "DELETE FROM other_values o USING trials t WHERE t.experiment = $1 AND o.trial = t.id",
    "DELETE FROM metric_peaks p USING trials t WHERE t.experiment = $1 AND p.trial = t.id",
    "DELETE FROM trials t WHERE t.experiment = $1 "
    "AND NOT EXISTS (SELECT FROM checkpoints c WHERE c.trial = t.id)",
    "UPDATE trials SET project = 0 WHERE experiment = $1",
    "DELETE FROM experiments e WHERE e.id = $1 "
    "AND NOT EXISTS (SELECT FROM trials t WHERE t.experiment = e.id)",
    "UPDATE experiments SET state = 'DELETED', reason = '', external_id = NULL "
    "WHERE id = $1 AND state = 'DELETING'",
};

absl::StatusOr<Ids> SelectIds(Pool& pool, const char* sql, const Params& params) {
  return pool.Run([&](Connection& connection) -> absl::StatusOr<Ids> {
    DET_ASSIGN_OR_RETURN(const Result result, connection.Exec(sql, params));
    Ids ids;
    for (int row = 0; row < result.rows(); ++row) {
      ids.emplace_back(static_cast<int32_t>(result.Int(row, 0)));
    }
    return ids;
  });
}

// Adds to the checkpoints, which are the rows of the result, where their files are: in the
// registered storage of the third column, else in that of the experiment. Groups them by
// experiment, because configurations are large and many checkpoints share one.
template <class Checkpoints>
absl::Status AddStorage(Connection& connection, const Result& rows, Checkpoints& checkpoints) {
  std::map<model::ExperimentId, experiment::Experiment> experiments;
  for (size_t row = 0; row < checkpoints.size(); ++row) {
    auto& each = checkpoints[row];
    if (!experiments.contains(each.experiment)) {
      DET_ASSIGN_OR_RETURN(const Result result,
                           connection.Exec(absl::StrCat("SELECT ", kExperimentColumns, " FROM ",
                                                        kExperimentTables, " WHERE e.id = $1"),
                                           MakeParams(each.experiment)));
      if (result.rows() == 0) {
        return absl::InternalError(absl::StrCat("checkpoint ", each.id.value(),
                                                " belongs to experiment ", each.experiment.value(),
                                                ", which does not exist"));
      }
      DET_ASSIGN_OR_RETURN(experiments[each.experiment], ToExperiment(result, 0));
    }
    const experiment::Experiment& experiment = experiments.at(each.experiment);
    DET_ASSIGN_OR_RETURN(const model::Value registered, ToValue(rows, static_cast<int>(row), 2));
    each.storage =
        registered.is_null() ? experiment.config->checkpoint_storage : ToStorageConfig(registered);
    each.outside = IsOutside(experiment, each.storage);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Ids> SqlGarbageCollection::ListDueRetentions(model::ExperimentId after, int limit) {
  return SelectIds(pool_, kDue, MakeParams(after, limit));
}

absl::StatusOr<std::vector<CheckpointToDelete>> SqlGarbageCollection::ListCheckpointsToDelete(
    const model::CheckpointId& after, int limit) {
  using Doomed = std::vector<CheckpointToDelete>;
  return pool_.Run([&](Connection& connection) -> absl::StatusOr<Doomed> {
    DET_ASSIGN_OR_RETURN(const Result result, connection.Exec(kDoomed, MakeParams(after, limit)));
    Doomed doomed;
    for (int row = 0; row < result.rows(); ++row) {
      doomed.push_back({model::CheckpointId(std::string(result.Text(row, 0))),
                        model::ExperimentId(static_cast<int32_t>(result.Int(row, 1))),
                        {}});
    }
    DET_RETURN_IF_ERROR(AddStorage(connection, result, doomed));
    return doomed;
  });
}

absl::Status SqlGarbageCollection::MarkCheckpointsDeleted(
    const std::vector<model::CheckpointId>& ids) {
  return fence_.Run(pool_, [&](Connection& connection) {
    return connection.Exec(kSetDeleted, {ToArray(ids)}).status();
  });
}

absl::StatusOr<std::vector<CheckpointToTrim>> SqlGarbageCollection::ListCheckpointsToTrim(
    const model::CheckpointId& after, int limit) {
  using Trimmed = std::vector<CheckpointToTrim>;
  return pool_.Run([&](Connection& connection) -> absl::StatusOr<Trimmed> {
    DET_ASSIGN_OR_RETURN(const Result result, connection.Exec(kTrimmed, MakeParams(after, limit)));
    Trimmed trimmed;
    for (int row = 0; row < result.rows(); ++row) {
      CheckpointToTrim& each = trimmed.emplace_back();
      each.id = model::CheckpointId(std::string(result.Text(row, 0)));
      each.experiment = model::ExperimentId(static_cast<int32_t>(result.Int(row, 1)));
      DET_ASSIGN_OR_RETURN(const model::Value resources, ToValue(result, row, 3));
      DET_ASSIGN_OR_RETURN(const model::Value globs, ToValue(result, row, 4));
      each.resources = ToResources(resources);
      each.globs = ToTexts(globs);
    }
    DET_RETURN_IF_ERROR(AddStorage(connection, result, trimmed));
    return trimmed;
  });
}

absl::Status SqlGarbageCollection::MarkCheckpointTrimmed(const CheckpointToTrim& trimmed,
                                                         const model::Resources& left) {
  int64_t size = 0;
  for (const auto& [path, bytes] : left) size += bytes;
  return fence_.Run(pool_, [&](Connection& connection) {
    return connection
        .Exec(kSetTrimmed, MakeParams(trimmed.id, ToDocument(trimmed.globs), ToDocument(left), size,
                                      model::HasFiles(left)))
        .status();
  });
}

absl::StatusOr<Ids> SqlGarbageCollection::ListDeletions() {
  return SelectIds(pool_, kDeletions, {});
}
absl::StatusOr<Ids> SqlGarbageCollection::ListReleased() { return SelectIds(pool_, kReleases, {}); }

absl::StatusOr<Ids> SqlGarbageCollection::ListOfDeletedProjects() {
  return SelectIds(pool_, kOfDeletedProjects, {});
}

absl::StatusOr<bool> SqlGarbageCollection::RemoveRows(model::ExperimentId id, int limit) {
  return fence_.Run(pool_, [&](Connection& connection) -> absl::StatusOr<bool> {
    DET_ASSIGN_OR_RETURN(
        const Result found,
        connection.Exec("SELECT FROM experiments WHERE id = $1 AND state = 'DELETING'",
                        MakeParams(id)));
    if (found.rows() == 0) return true;
    for (const char* sql : kBulk) {
      DET_ASSIGN_OR_RETURN(const Result deleted, connection.Exec(sql, MakeParams(id, limit)));
      if (deleted.Int(0, 0) > 0) return false;
    }
    const auto [lock, none] = LockLog();
    DET_RETURN_IF_ERROR(connection.Exec(lock, none).status());
    for (const char* sql : kRest) {
      DET_RETURN_IF_ERROR(connection.Exec(sql, MakeParams(id)).status());
    }
    return true;
  });
}

absl::Status SqlGarbageCollection::MarkDeletionFailed(model::ExperimentId id,
                                                      const std::string& reason) {
  return fence_.Run(pool_, [&](Connection& connection) {
    return connection.Exec(kFail, MakeParams(id, reason)).status();
  });
}

absl::Status SqlGarbageCollection::SetExperimentLogDays(model::ExperimentId id, int days) {
  return fence_.Run(pool_, [&](Connection& connection) -> absl::Status {
    DET_ASSIGN_OR_RETURN(const Result found,
                         connection.Exec(kKeepExperimentLogs, MakeParams(id, days)));
    if (found.rows() == 0) {
      return absl::NotFoundError(absl::StrCat("experiment ", id.value(), " not found"));
    }
    return connection.Exec(kForgetTrialLogs, MakeParams(id)).status();
  });
}

absl::Status SqlGarbageCollection::SetTrialLogDays(model::TrialId id, int days) {
  return fence_.Run(pool_, [&](Connection& connection) -> absl::Status {
    DET_ASSIGN_OR_RETURN(const Result found,
                         connection.Exec(kSetTrialLogDays, MakeParams(id, days)));
    if (found.rows() > 0) return absl::OkStatus();
    return absl::NotFoundError(absl::StrCat("trial ", id.value(), " not found"));
  });
}

absl::StatusOr<std::optional<int>> SqlGarbageCollection::GetTrialLogDays(model::TrialId id) {
  return pool_.Run([&](Connection& connection) -> absl::StatusOr<std::optional<int>> {
    DET_ASSIGN_OR_RETURN(const Result found, connection.Exec(kTrialLogDays, MakeParams(id)));
    if (found.rows() == 0)
      return absl::NotFoundError(absl::StrCat("trial ", id.value(), " not found"));
    if (found.IsNull(0, 0)) return std::nullopt;
    return static_cast<int>(found.Int(0, 0));
  });
}

absl::StatusOr<int> SqlGarbageCollection::RemoveExpiredLogs(absl::Time now, int days, int limit) {
  return fence_.Run(pool_, [&](Connection& connection) -> absl::StatusOr<int> {
    DET_ASSIGN_OR_RETURN(const Result removed,
                         connection.Exec(kOldLogs, MakeParams(now, days, limit)));
    return static_cast<int>(removed.Int(0, 0));
  });
}

absl::StatusOr<bool> SqlGarbageCollection::RemoveExpiredAudit(absl::Time until, int limit) {
  return RemovePortion(kOldAudit, MakeParams(until, limit), limit);
}

absl::StatusOr<bool> SqlGarbageCollection::RemovePortion(const char* sql, const Params& params,
                                                         int limit) {
  return fence_.Run(pool_, [&](Connection& connection) -> absl::StatusOr<bool> {
    DET_ASSIGN_OR_RETURN(const Result deleted, connection.Exec(sql, params));
    return deleted.Int(0, 0) < limit;
  });
}

absl::StatusOr<std::vector<HeldCheckpoint>> SqlGarbageCollection::ListHeldCheckpoints(
    model::ExperimentId id) {
  using Held = std::vector<HeldCheckpoint>;
  return pool_.Run([&](Connection& connection) -> absl::StatusOr<Held> {
    DET_ASSIGN_OR_RETURN(const Result result, connection.Exec(kHeld, MakeParams(id)));
    Held held;
    for (int row = 0; row < result.rows(); ++row) {
      held.push_back({model::CheckpointId(std::string(result.Text(row, 0))),
                      std::string(result.Text(row, 1))});
    }
    return held;
  });
}

}  // namespace det::store
