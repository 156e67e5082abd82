#include "master/store/postgres/sql_detached.h"

#include <memory>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "master/core/cluster/change.h"
#include "master/core/experiment/detached.h"
#include "master/core/experiment/webhook_payload.h"
#include "master/store/interfaces/canonical.h"
#include "master/store/postgres/metric_rows.h"
#include "master/store/postgres/params.h"
#include "master/store/postgres/query.h"
#include "master/store/postgres/rows.h"
#include "master/store/postgres/webhook_rows.h"

namespace det::store {
namespace {

constexpr size_t kMaxPending = 1000;  // reports in one transaction

// Serializes the creation of experiments with the same external ID. An arbitrary number that no
// other advisory lock uses.
constexpr char kLockExternalId[] = "SELECT pg_advisory_xact_lock(724190, hashtext($1))";
constexpr char kFindExperiment[] = "SELECT id FROM experiments WHERE external_id = $1";
constexpr char kFindTrial[] = "SELECT id FROM trials WHERE experiment = $1 AND external_id = $2";
constexpr char kSetUnmanaged[] =
    "UPDATE experiments SET unmanaged = true, external_id = $2 WHERE id = $1";
constexpr char kReplaceConfig[] =
    "UPDATE experiments SET name = $2, config = $3, description = $4, labels = $5 WHERE id = $1";
constexpr char kReplaceHparams[] = "UPDATE trials SET hparams = $2 WHERE id = $1";
// A trigger adds the values of new trials alone.
constexpr char kDropRunValues[] = "DELETE FROM run_values WHERE trial = $1 AND key LIKE 'hp.%'";
constexpr char kAddRunValues[] =
    "INSERT INTO run_values (trial, key, project, number, text) "
    "SELECT t.id, l.key, t.project, l.number, l.text "
    "FROM trials t CROSS JOIN LATERAL leaves('hp', t.hparams) l WHERE t.id = $1";
constexpr char kSaveExperiment[] =
    "UPDATE experiments SET state = $2, reason = $3, progress = $4, best_metric = $5, "
    "best_trial = $6, ended_at = $7 WHERE id = $1";
constexpr char kTrialsInStates[] =
    "SELECT state, micros(max(ended_at)) FROM trials WHERE experiment = $1 GROUP BY state";
constexpr char kSignOfLife[] =
    "UPDATE trials t SET last_activity = greatest(t.last_activity, $2) FROM experiments e "
    "WHERE t.id = $1 AND e.id = t.experiment AND e.unmanaged AND e.state NOT IN "
    "('DELETING', 'DELETE_FAILED', 'DELETED') RETURNING t.experiment, t.state, t.reason";
constexpr char kNewestCheckpoint[] =
    "SELECT id, steps FROM checkpoints WHERE trial = $1 AND state = 'COMPLETED' "
    "ORDER BY steps DESC, time DESC LIMIT 1";
constexpr char kReporter[] =
    "SELECT e.id, e.unmanaged, e.state, t.run_id FROM trials t "
    "JOIN experiments e ON e.id = t.experiment WHERE t.id = $1";
constexpr char kReporters[] =
    "SELECT t.id, e.id, e.unmanaged, e.state, t.run_id FROM trials t "
    "JOIN experiments e ON e.id = t.experiment WHERE t.id = ANY($1::int[])";
// While a report is stored, the experiment cannot be deleted and no attempt of its trials can
// start.
constexpr char kShareExperiments[] =
    "SELECT FROM experiments e WHERE e.unmanaged AND e.id IN "
    "(SELECT experiment FROM trials WHERE id = ANY($1::int[])) ORDER BY e.id FOR SHARE OF e";
constexpr char kPutStorage[] = R"sql(
INSERT INTO checkpoint_storages AS s (config) VALUES ($1)
ON CONFLICT (md5(config::text)) DO UPDATE SET config = s.config RETURNING id)sql";
constexpr char kFindStorage[] =
    "SELECT id FROM checkpoint_storages WHERE md5(config::text) = md5($1::text)";
constexpr char kPutSource[] =
    "INSERT INTO trial_sources (trial, checkpoint, type, model, version) "
    "VALUES ($1, $2, $3, $4, $5) ON CONFLICT (trial, checkpoint, type) "
    "DO UPDATE SET model = excluded.model, version = excluded.version";
constexpr char kRecordActivity[] =
    "UPDATE trials t SET last_activity = greatest(t.last_activity, a.time) "
    "FROM (SELECT * FROM unnest($1::int[], $2::timestamptz[]) u (trial, time)) a "
    "WHERE t.id = a.trial AND t.last_activity IS NOT NULL";
constexpr char kLost[] =
    "SELECT id FROM trials WHERE state = 'RUNNING' AND last_activity < $1 "
    "ORDER BY last_activity LIMIT $2";
constexpr char kLastActivity[] = "SELECT micros(last_activity) FROM trials WHERE id = $1";

absl::Status Exec(Connection& connection, const Connection::Statement& statement) {
  return connection.Exec(statement.sql, statement.params).status();
}

absl::Status CheckUnmanaged(bool unmanaged, const char* kind, int32_t id) {
  if (unmanaged) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat("only unmanaged ", kind, "s are supported; ",
                                                    kind, " ", id, " is managed by the cluster"));
}

absl::Status CheckNotDeleting(model::ExperimentState state, model::ExperimentId id) {
  if (!model::IsDeletion(state)) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("experiment ", id.value(), " is ", std::string(model::ToString(state))));
}

// Reads an unmanaged experiment and locks its row.
absl::StatusOr<experiment::Experiment> LockExperiment(Connection& connection,
                                                      model::ExperimentId id) {
  DET_ASSIGN_OR_RETURN(
      const Result result,
      connection.Exec(absl::StrCat("SELECT ", kExperimentColumns, " FROM ", kExperimentTables,
                                   " WHERE e.id = $1 FOR UPDATE OF e"),
                      MakeParams(id)));
  if (result.rows() == 0) return NoSuch("experiment", id);
  DET_ASSIGN_OR_RETURN(experiment::Experiment found, ToExperiment(result, 0));
  DET_RETURN_IF_ERROR(CheckUnmanaged(found.unmanaged, "experiment", id.value()));
  DET_RETURN_IF_ERROR(CheckNotDeleting(found.state, id));
  return found;
}

// An unmanaged trial and its experiment, both locked, the experiment first.
struct Locked {
  experiment::Experiment experiment;
  experiment::Trial trial;
  model::ExperimentState state_before;
};

absl::StatusOr<Locked> LockTrial(Connection& connection, model::TrialId id) {
  DET_ASSIGN_OR_RETURN(const Result reporter, connection.Exec(kReporter, MakeParams(id)));
  if (reporter.rows() == 0) return NoSuch("trial", id);
  DET_RETURN_IF_ERROR(CheckUnmanaged(reporter.Bool(0, 1), "trial", id.value()));
  Locked locked;
  DET_ASSIGN_OR_RETURN(
      locked.experiment,
      LockExperiment(connection, model::ExperimentId(static_cast<int32_t>(reporter.Int(0, 0)))));
  DET_ASSIGN_OR_RETURN(const Result trial,
                       connection.Exec(absl::StrCat("SELECT ", kTrialColumns,
                                                    " FROM trials t WHERE t.id = $1 FOR UPDATE"),
                                       MakeParams(id)));
  if (trial.rows() == 0) return NoSuch("trial", id);
  DET_ASSIGN_OR_RETURN(locked.trial, ToTrial(trial, 0));
  locked.state_before = locked.experiment.state;
  return locked;
}

absl::Status Save(Connection& connection, const experiment::Trial& trial) {
  return Exec(connection, ToStatement(cluster::PutTrial{trial}, false));
}

absl::Status Save(Connection& connection, const experiment::Experiment& e) {
  return connection
      .Exec(kSaveExperiment, MakeParams(e.id, std::string(model::ToString(e.state)), e.reason,
                                        e.progress, e.best_metric, e.best_trial, e.ended_at))
      .status();
}

// Saves a trial whose state has changed, and its experiment, whose state follows.
absl::Status SaveState(Connection& connection, Locked& locked, absl::Time now) {
  DET_RETURN_IF_ERROR(Save(connection, locked.trial));
  experiment::Experiment& e = locked.experiment;
  DET_ASSIGN_OR_RETURN(const Result states, connection.Exec(kTrialsInStates, MakeParams(e.id)));
  std::vector<experiment::TrialsInState> trials;
  for (int row = 0; row < states.rows(); ++row) {
    const auto state = model::ParseTrialState(states.Text(row, 0));
    if (state) trials.push_back({*state, states.Maybe(&Result::Time, row, 1)});
  }
  const bool changed = experiment::FollowTrials(e, trials);
  DET_RETURN_IF_ERROR(Save(connection, e));
  if (!changed || !experiment::IsNotifiable(e.state)) return absl::OkStatus();
  return Exec(connection, RaiseStatement(experiment::MakeStateEvent(e, now)));
}

absl::Status SetLastActivity(Connection& connection, model::TrialId id, absl::Time now) {
  return connection.Exec("UPDATE trials SET last_activity = $2 WHERE id = $1", MakeParams(id, now))
      .status();
}

// ---- metrics ----

absl::Status CheckRun(int reported, int current) {
  if (reported == 0 || reported == current) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "invalid run id, ", reported, " (reported) != ", current,
      " (expected): another attempt of the trial has started; start the trial again to report"));
}

// A row of kReporters.
struct Reporter {
  StoredReport report;
  model::ExperimentState state = model::ExperimentState::kActive;
};

absl::StatusOr<std::map<model::TrialId, Reporter>> ReadReporters(Connection& connection,
                                                                 const Params& trials) {
  DET_ASSIGN_OR_RETURN(const Result result, connection.Exec(kReporters, trials));
  std::map<model::TrialId, Reporter> reporters;
  for (int row = 0; row < result.rows(); ++row) {
    Reporter& reporter = reporters[model::TrialId(static_cast<int32_t>(result.Int(row, 0)))];
    reporter.report.experiment = model::ExperimentId(static_cast<int32_t>(result.Int(row, 1)));
    reporter.report.unmanaged = result.Bool(row, 2);
    reporter.state = model::ParseExperimentState(result.Text(row, 3)).value_or(reporter.state);
    reporter.report.run_id = static_cast<int>(result.Int(row, 4));
  }
  return reporters;
}

// Reads the trials, and lets no attempt of the unmanaged ones start, and none be deleted, until the
// transaction ends.
absl::StatusOr<std::map<model::TrialId, Reporter>> LockReporters(Connection& connection,
                                                                 const Params& trials) {
  DET_RETURN_IF_ERROR(connection.Exec(kShareExperiments, trials).status());
  return ReadReporters(connection, trials);
}

// Whether the attempt may report for the trial.
absl::StatusOr<StoredReport> CheckReporter(const std::map<model::TrialId, Reporter>& reporters,
                                           model::TrialId id, int run_id) {
  const auto it = reporters.find(id);
  if (it == reporters.end()) return NoSuch("trial", id);
  const Reporter& reporter = it->second;
  DET_RETURN_IF_ERROR(CheckNotDeleting(reporter.state, reporter.report.experiment));
  DET_RETURN_IF_ERROR(CheckRun(run_id, reporter.report.run_id));
  return reporter.report;
}

// Considers the validations of an unmanaged trial for the best metrics.
absl::StatusOr<bool> RecordValidations(Connection& connection, Locked& locked,
                                       const std::vector<model::MetricReport>& reports) {
  const std::string& name = locked.experiment.config->searcher.metric;
  bool found = false, best = false;
  for (const model::MetricReport& report : reports) {
    if (report.group != "validation") continue;
    const std::optional<double> metric = GetMetricNumber(report.metrics, name);
    if (!metric) continue;
    found = true;
    best |=
        experiment::RecordMetric(locked.experiment, locked.trial, report.steps_completed, *metric);
  }
  if (!found) return false;
  DET_RETURN_IF_ERROR(Save(connection, locked.trial));
  if (best) DET_RETURN_IF_ERROR(Save(connection, locked.experiment));
  return best;
}

}  // namespace

SqlDetached::SqlDetached(Pool* pool, Fence* fence)
    : pool_(*pool),
      fence_(*fence),
      pending_(kMaxPending, [this](const WriteGroup<PendingReport>::Rows& pending) {
        return StorePending(pending);
      }) {}

// ---- experiments and trials ----

absl::Status SqlDetached::AddExperiment(const experiment::Experiment& experiment) {
  return fence_.Run(pool_, [&](Connection& connection) -> absl::Status {
    if (experiment.external_id) {
      const Params external = MakeParams(*experiment.external_id);
      DET_RETURN_IF_ERROR(connection.Exec(kLockExternalId, external).status());
      DET_ASSIGN_OR_RETURN(const Result taken, connection.Exec(kFindExperiment, external));
      if (taken.rows() > 0) {
        return absl::AbortedError(absl::StrCat("the experiment with the external ID ",
                                               *experiment.external_id,
                                               " was created meanwhile; try again"));
      }
    }
    DET_RETURN_IF_ERROR(
        Exec(connection, ToStatement(cluster::PutExperiment{experiment}, /*known=*/false)));
    return connection.Exec(kSetUnmanaged, MakeParams(experiment.id, experiment.external_id))
        .status();
  });
}

absl::Status SqlDetached::ReplaceConfig(const experiment::Experiment& experiment) {
  return fence_.Run(pool_, [&](Connection& connection) -> absl::Status {
    DET_RETURN_IF_ERROR(LockExperiment(connection, experiment.id).status());
    const model::ExperimentConfig& config = *experiment.config;
    return connection
        .Exec(kReplaceConfig, MakeParams(experiment.id, config.name, model::ToValue(config),
                                         config.description, ToDocument(config.labels)))
        .status();
  });
}

absl::StatusOr<std::optional<model::ExperimentId>> SqlDetached::FindExperiment(
    const std::string& external_id) {
  using Found = std::optional<model::ExperimentId>;
  return pool_.Run([&](Connection& connection) -> absl::StatusOr<Found> {
    DET_ASSIGN_OR_RETURN(const Result result,
                         connection.Exec(kFindExperiment, MakeParams(external_id)));
    if (result.rows() == 0) return Found();
    return Found(model::ExperimentId(static_cast<int32_t>(result.Int(0, 0))));
  });
}

absl::StatusOr<model::TrialId> SqlDetached::PutTrial(const experiment::Trial& trial) {
  return fence_.Run(pool_, [&](Connection& connection) -> absl::StatusOr<model::TrialId> {
    DET_RETURN_IF_ERROR(LockExperiment(connection, trial.experiment).status());
    if (trial.external_id) {
      DET_ASSIGN_OR_RETURN(
          const Result found,
          connection.Exec(kFindTrial, MakeParams(trial.experiment, *trial.external_id)));
      if (found.rows() > 0) {
        const model::TrialId id(static_cast<int32_t>(found.Int(0, 0)));
        DET_RETURN_IF_ERROR(
            connection.Exec(kReplaceHparams, MakeParams(id, model::Value(trial.hparams))).status());
        for (const char* sql : {kDropRunValues, kAddRunValues}) {
          DET_RETURN_IF_ERROR(connection.Exec(sql, MakeParams(id)).status());
        }
        return id;
      }
    }
    DET_RETURN_IF_ERROR(Save(connection, trial));
    DET_RETURN_IF_ERROR(connection
                            .Exec("UPDATE trials SET external_id = $2 WHERE id = $1",
                                  MakeParams(trial.id, trial.external_id))
                            .status());
    return trial.id;
  });
}

absl::StatusOr<std::optional<model::TrialId>> SqlDetached::FindTrial(
    model::ExperimentId experiment, const std::string& external_id) {
  using Found = std::optional<model::TrialId>;
  return pool_.Run([&](Connection& connection) -> absl::StatusOr<Found> {
    DET_ASSIGN_OR_RETURN(const Result result,
                         connection.Exec(kFindTrial, MakeParams(experiment, external_id)));
    if (result.rows() == 0) return Found();
    return Found(model::TrialId(static_cast<int32_t>(result.Int(0, 0))));
  });
}

absl::StatusOr<bool> SqlDetached::IsUnmanaged(model::TrialId id) {
  return pool_.Run([&](Connection& connection) -> absl::StatusOr<bool> {
    DET_ASSIGN_OR_RETURN(const Result reporter, connection.Exec(kReporter, MakeParams(id)));
    if (reporter.rows() == 0) return NoSuch("trial", id);
    return reporter.Bool(0, 1);
  });
}

absl::StatusOr<StartedTrial> SqlDetached::StartTrial(model::TrialId id, bool resume,
                                                     absl::Time now) {
  return fence_.Run(pool_, [&](Connection& connection) -> absl::StatusOr<StartedTrial> {
    DET_ASSIGN_OR_RETURN(Locked locked, LockTrial(connection, id));
    DET_RETURN_IF_ERROR(experiment::StartAttempt(locked.trial, resume));
    DET_RETURN_IF_ERROR(SaveState(connection, locked, now));
    DET_RETURN_IF_ERROR(SetLastActivity(connection, id, now));
    StartedTrial started{.experiment = locked.experiment.id, .run_id = locked.trial.run_id};
    if (started.run_id == 1) return started;
    DET_ASSIGN_OR_RETURN(const Result newest, connection.Exec(kNewestCheckpoint, MakeParams(id)));
    if (newest.rows() == 0) return started;
    started.latest_checkpoint.emplace(std::string(newest.Text(0, 0)));
    started.steps_completed = newest.Int(0, 1);
    return started;
  });
}

absl::StatusOr<model::ExperimentId> SqlDetached::PatchTrial(model::TrialId id,
                                                            std::optional<model::TrialState> state,
                                                            absl::Time now) {
  return fence_.Run(pool_, [&](Connection& connection) -> absl::StatusOr<model::ExperimentId> {
    if (!state) {
      // The common case, which reads and locks only the trial.
      DET_ASSIGN_OR_RETURN(const Result alive, connection.Exec(kSignOfLife, MakeParams(id, now)));
      experiment::Trial trial;
      if (alive.rows() > 0) {
        trial.state = model::ParseTrialState(alive.Text(0, 1)).value_or(trial.state);
        trial.reason = std::string(alive.Text(0, 2));
        if (!experiment::WasLost(trial)) {
          return model::ExperimentId(static_cast<int32_t>(alive.Int(0, 0)));
        }
      }
    }
    DET_ASSIGN_OR_RETURN(Locked locked, LockTrial(connection, id));
    if (state) {
      DET_RETURN_IF_ERROR(experiment::ReportState(locked.trial, *state, now));
    } else {
      experiment::ReviveLost(locked.trial);
    }
    DET_RETURN_IF_ERROR(SaveState(connection, locked, now));
    DET_RETURN_IF_ERROR(SetLastActivity(connection, id, now));
    return locked.experiment.id;
  });
}

// ---- reports ----

void SqlDetached::AddMetrics(model::TrialId id, int run_id,
                             std::vector<model::MetricReport> reports, Stored done) {
  bool validates = false;
  for (model::MetricReport& report : reports) {
    report = Canonical(std::move(report));
    report.trial = id;
    report.run_id = run_id;
    validates |= report.group == "validation";
  }
  if (validates || reports.size() != 1) return done(AddTogether(id, run_id, std::move(reports)));
  const auto result = std::make_shared<absl::StatusOr<StoredReport>>();
  pending_.Write({{std::move(reports.front()), result}},
                 [result, done = std::move(done)](const absl::Status& written) mutable {
                   done(written.ok() ? std::move(*result) : written);
                 });
}

absl::StatusOr<StoredReport> SqlDetached::AddTogether(model::TrialId id, int run_id,
                                                      std::vector<model::MetricReport> reports) {
  const Params trial = {ToArray(std::vector<model::TrialId>{id})};
  return fence_.Run(pool_, [&](Connection& connection) -> absl::StatusOr<StoredReport> {
    DET_ASSIGN_OR_RETURN(const auto before, ReadReporters(connection, trial));
    std::optional<Locked> locked;
    if (before.contains(id) && before.at(id).report.unmanaged) {
      DET_ASSIGN_OR_RETURN(locked, LockTrial(connection, id));
    }
    // Read again, because an attempt may have started before the lock.
    DET_ASSIGN_OR_RETURN(const auto reporters, ReadReporters(connection, trial));
    DET_ASSIGN_OR_RETURN(StoredReport stored, CheckReporter(reporters, id, run_id));
    for (const model::MetricReport& report : reports) {
      if (locked) DET_RETURN_IF_ERROR(experiment::CheckSearcherMetric(locked->experiment, report));
    }
    // The whole is repeated if the connection breaks.
    std::vector<model::MetricReport> rows = reports;
    for (model::MetricReport& row : rows) row.run_id = stored.run_id;
    std::vector<const model::MetricReport*> pointers;
    for (const model::MetricReport& row : rows) pointers.push_back(&row);
    DET_ASSIGN_OR_RETURN(std::vector<AddedMetrics> added, StoreReports(connection, pointers));
    for (size_t i = 0; i < rows.size(); ++i) {
      DET_ASSIGN_OR_RETURN(rows[i].metrics, std::move(added[i]));
    }
    if (locked) {
      DET_ASSIGN_OR_RETURN(stored.best, RecordValidations(connection, *locked, rows));
    }
    return stored;
  });
}

absl::Status SqlDetached::StorePending(const WriteGroup<PendingReport>::Rows& pending) {
  std::set<model::TrialId> ids;
  for (const PendingReport* each : pending) ids.insert(each->report.trial);
  const Params trials = {ToArray(std::vector<model::TrialId>(ids.begin(), ids.end()))};
  return fence_.Run(pool_, [&](Connection& connection) -> absl::Status {
    DET_ASSIGN_OR_RETURN(const auto reporters, LockReporters(connection, trials));
    std::vector<model::MetricReport> rows(pending.size());
    std::vector<const model::MetricReport*> valid;
    for (size_t i = 0; i < pending.size(); ++i) {
      const model::MetricReport& report = pending[i]->report;
      *pending[i]->result = CheckReporter(reporters, report.trial, report.run_id);
      if (!pending[i]->result->ok()) continue;
      rows[i] = report;
      rows[i].run_id = (*pending[i]->result)->run_id;
      valid.push_back(&rows[i]);
    }
    DET_ASSIGN_OR_RETURN(const std::vector<AddedMetrics> added, StoreReports(connection, valid));
    for (size_t i = 0, stored = 0; i < pending.size(); ++i) {
      if (!pending[i]->result->ok()) continue;
      const AddedMetrics& own = added[stored++];
      if (!own.ok()) *pending[i]->result = own.status();
    }
    return absl::OkStatus();
  });
}

absl::StatusOr<model::ExperimentId> SqlDetached::SetProgress(model::TrialId id, double progress) {
  return fence_.Run(pool_, [&](Connection& connection) -> absl::StatusOr<model::ExperimentId> {
    DET_ASSIGN_OR_RETURN(Locked locked, LockTrial(connection, id));
    locked.trial.progress = progress;
    locked.experiment.progress = progress;
    DET_RETURN_IF_ERROR(Save(connection, locked.trial));
    DET_RETURN_IF_ERROR(Save(connection, locked.experiment));
    return locked.experiment.id;
  });
}

absl::StatusOr<model::ExperimentId> SqlDetached::SetRunnerState(model::TrialId id,
                                                                const std::string& state) {
  return fence_.Run(pool_, [&](Connection& connection) -> absl::StatusOr<model::ExperimentId> {
    DET_ASSIGN_OR_RETURN(Locked locked, LockTrial(connection, id));
    locked.trial.runner_state = state;
    DET_RETURN_IF_ERROR(Save(connection, locked.trial));
    return locked.experiment.id;
  });
}

absl::StatusOr<model::ExperimentId> SqlDetached::SetReason(model::TrialId id,
                                                           const std::string& reason) {
  return fence_.Run(pool_, [&](Connection& connection) -> absl::StatusOr<model::ExperimentId> {
    DET_ASSIGN_OR_RETURN(Locked locked, LockTrial(connection, id));
    locked.trial.reason = reason;
    DET_RETURN_IF_ERROR(Save(connection, locked.trial));
    return locked.experiment.id;
  });
}

absl::StatusOr<model::ExperimentId> SqlDetached::AddCheckpoint(
    const model::CheckpointRecord& checkpoint) {
  return fence_.Run(pool_, [&](Connection& connection) -> absl::StatusOr<model::ExperimentId> {
    DET_ASSIGN_OR_RETURN(Locked locked, LockTrial(connection, checkpoint.trial));
    DET_ASSIGN_OR_RETURN(
        const Result other,
        connection.Exec("SELECT FROM checkpoints WHERE id = $1 AND trial = $2 AND steps <> $3",
                        MakeParams(checkpoint.id, checkpoint.trial, checkpoint.steps_completed)));
    if (other.rows() > 0) {
      return absl::AlreadyExistsError(
          absl::StrCat("checkpoint ", checkpoint.id.value(), " has other steps; use a new UUID"));
    }
    DET_RETURN_IF_ERROR(Exec(connection, ToStatement(cluster::AddCheckpoint{checkpoint}, false)));
    DET_ASSIGN_OR_RETURN(
        const Result owner,
        connection.Exec("SELECT trial FROM checkpoints WHERE id = $1", MakeParams(checkpoint.id)));
    if (owner.rows() == 0 || owner.Int(0, 0) != checkpoint.trial.value()) {
      return absl::AlreadyExistsError(absl::StrCat("checkpoint ", checkpoint.id.value(),
                                                   " belongs to another trial; use a new UUID"));
    }
    experiment::Trial& trial = locked.trial;
    // A delayed report must not move the trial back.
    if (!trial.latest_checkpoint || checkpoint.steps_completed >= trial.steps_completed) {
      trial.latest_checkpoint = checkpoint.id;
      trial.steps_completed = checkpoint.steps_completed;
      DET_RETURN_IF_ERROR(Save(connection, trial));
    }
    return locked.experiment.id;
  });
}

absl::StatusOr<int32_t> SqlDetached::PutCheckpointStorage(const model::Value& config) {
  // Each process of a trial registers the storage, so it is usually known.
  const auto known = pool_.Run([&](Connection& connection) -> absl::StatusOr<int32_t> {
    DET_ASSIGN_OR_RETURN(const Result result, connection.Exec(kFindStorage, MakeParams(config)));
    return result.rows() == 0 ? 0 : static_cast<int32_t>(result.Int(0, 0));
  });
  if (!known.ok() || *known != 0) return known;
  return fence_.Run(pool_, [&](Connection& connection) -> absl::StatusOr<int32_t> {
    DET_ASSIGN_OR_RETURN(const Result result, connection.Exec(kPutStorage, MakeParams(config)));
    return static_cast<int32_t>(result.Int(0, 0));
  });
}

absl::StatusOr<model::Value> SqlDetached::GetCheckpointStorage(int32_t id) {
  return pool_.Run([&](Connection& connection) -> absl::StatusOr<model::Value> {
    DET_ASSIGN_OR_RETURN(
        const Result result,
        connection.Exec("SELECT config FROM checkpoint_storages WHERE id = $1", MakeParams(id)));
    if (result.rows() > 0) return ToValue(result, 0, 0);
    return absl::NotFoundError(absl::StrCat("checkpoint storage ", id, " not found"));
  });
}

absl::Status SqlDetached::PutTrialSource(const TrialSource& source) {
  return fence_.Run(pool_, [&](Connection& connection) -> absl::Status {
    DET_ASSIGN_OR_RETURN(const Result trial,
                         connection.Exec("SELECT FROM trials WHERE id = $1 FOR KEY SHARE",
                                         MakeParams(source.trial)));
    if (trial.rows() == 0) return NoSuch("trial", source.trial);
    return connection
        .Exec(kPutSource, MakeParams(source.trial, source.checkpoint, source.type, source.model,
                                     source.version))
        .status();
  });
}

absl::StatusOr<std::vector<model::TrialId>> SqlDetached::ListTrialsBySource(
    const model::CheckpointId& checkpoint, const std::string& type) {
  using Ids = std::vector<model::TrialId>;
  return pool_.Run([&](Connection& connection) -> absl::StatusOr<Ids> {
    DET_ASSIGN_OR_RETURN(
        const Result result,
        connection.Exec("SELECT DISTINCT trial FROM trial_sources WHERE checkpoint = $1 "
                        "AND ($2 = '' OR type = $2) ORDER BY trial",
                        MakeParams(checkpoint, type)));
    Ids ids;
    for (int row = 0; row < result.rows(); ++row) {
      ids.emplace_back(static_cast<int32_t>(result.Int(row, 0)));
    }
    return ids;
  });
}

// ---- lost trials ----

absl::Status SqlDetached::RecordActivity(const std::map<model::TrialId, absl::Time>& activity) {
  ArrayBuilder trials, times;
  for (const auto& [trial, time] : activity) {
    trials.Add(ToParam(trial));
    times.Add(ToParam(time));
  }
  const Params params = {std::move(trials).Finish(), std::move(times).Finish()};
  return fence_.Run(pool_, [&](Connection& connection) {
    return connection.Exec(kRecordActivity, params).status();
  });
}

absl::StatusOr<std::vector<model::ExperimentId>> SqlDetached::EndLostTrials(absl::Time before,
                                                                            absl::Time now,
                                                                            int limit) {
  using Ids = std::vector<int32_t>;
  DET_ASSIGN_OR_RETURN(const Ids lost,
                       pool_.Run([&](Connection& connection) -> absl::StatusOr<Ids> {
                         DET_ASSIGN_OR_RETURN(const Result result,
                                              connection.Exec(kLost, MakeParams(before, limit)));
                         Ids ids;
                         for (int row = 0; row < result.rows(); ++row) {
                           ids.push_back(static_cast<int32_t>(result.Int(row, 0)));
                         }
                         return ids;
                       }));
  std::vector<model::ExperimentId> experiments;
  for (const int32_t id : lost) {
    const auto ended = fence_.Run(
        pool_, [&](Connection& connection) -> absl::StatusOr<std::optional<model::ExperimentId>> {
          DET_ASSIGN_OR_RETURN(Locked locked, LockTrial(connection, model::TrialId(id)));
          DET_ASSIGN_OR_RETURN(const Result last, connection.Exec(kLastActivity, MakeParams(id)));
          const absl::Time at = last.Time(0, 0);
          // A sign of life may have arrived meanwhile.
          if (at >= before || !experiment::EndLost(locked.trial, at)) return std::nullopt;
          DET_RETURN_IF_ERROR(SaveState(connection, locked, now));
          return locked.experiment.id;
        });
    // An experiment that is being deleted does not matter any more.
    if (absl::IsNotFound(ended.status()) || absl::IsFailedPrecondition(ended.status())) continue;
    DET_RETURN_IF_ERROR(ended.status());
    if (*ended) experiments.push_back(**ended);
  }
  return experiments;
}

}  // namespace det::store
