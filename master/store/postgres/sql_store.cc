#include "master/store/postgres/sql_store.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <tuple>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "master/store/interfaces/canonical.h"
#include "master/store/postgres/metric_rows.h"
#include "master/store/postgres/migrations.h"
#include "master/store/postgres/params.h"
#include "master/store/postgres/postgres_store.h"
#include "master/store/postgres/query.h"
#include "master/store/postgres/rows.h"
#include "master/store/postgres/scheduling_rows.h"
#include "master/store/postgres/sql_lease.h"

namespace det::store {
namespace {

constexpr int kReaders = 24;  // maximum; less than the 32 connections of the embedded server
constexpr size_t kMaxRows = 5000;
constexpr int kOldestServer = 140000;

constexpr char kTakeOver[] =
    "UPDATE fencing SET epoch = epoch + 1, commit_seq = 0, leader = '' RETURNING epoch";
// Must equal the condition of the index experiments_live.
constexpr char kLive[] =
    "e.state NOT IN ('COMPLETED', 'CANCELED', 'ERROR', 'DELETING', 'DELETE_FAILED', 'DELETED') "
    "AND NOT e.unmanaged";
constexpr char kHighest[] =
    "SELECT greatest((SELECT max(id) FROM experiments), d.experiment), "
    "greatest((SELECT max(id) FROM trials), d.trial), "
    "greatest((SELECT max(submitted) FROM allocations), d.submitted) FROM highest_deleted d";
constexpr char kDropOrphans[] =
    "DELETE FROM contexts x WHERE NOT EXISTS "
    "(SELECT FROM experiments e WHERE e.context_hash = x.hash)";
constexpr char kDropWriters[] = "DELETE FROM writers WHERE touched < now() - interval '1 day'";
// Trials whose latest checkpoint was deleted, and their latest existing one.
constexpr char kOlderCheckpoints[] = R"sql(
SELECT t.id, n.id, coalesce(n.steps, 0)
FROM trials t JOIN checkpoints c ON c.id = t.latest_checkpoint
LEFT JOIN LATERAL (SELECT o.id, o.steps FROM checkpoints o
  WHERE o.trial = t.id AND o.state = 'COMPLETED'
  ORDER BY o.steps DESC, o.time DESC LIMIT 1) n ON true
WHERE t.experiment = $1 AND c.state <> 'COMPLETED')sql";
constexpr char kFence[] = "SELECT fence($1, $2)";
constexpr char kCommittedAlready[] = "RS002";

// The row that a change replaces; empty for changes that append rows or are too rare to matter.
using Key = std::tuple<size_t, std::string>;
struct GetWriteKey {
  std::optional<std::string> operator()(const cluster::PutExperiment& put) const {
    return ToString(put.experiment.id);
  }
  std::optional<std::string> operator()(const cluster::PutTrial& put) const {
    return ToString(put.trial.id);
  }
  std::optional<std::string> operator()(const cluster::PutAllocation& put) const {
    return put.allocation.id.value();
  }
  std::optional<std::string> operator()(const cluster::PutSearcher& put) const {
    return ToString(put.experiment);
  }
  std::optional<std::string> operator()(const cluster::PutAgentState& put) const {
    return put.agent.id.value();
  }
  template <class Other>
  std::optional<std::string> operator()(const Other&) const {
    return std::nullopt;
  }
};

// Returns the changes of a batch without those that a later change of the same row replaces.
std::vector<const cluster::Change*> RemoveOverwritten(const std::vector<cluster::Change>& changes) {
  std::vector<const cluster::Change*> newest;
  std::set<Key> seen;
  for (auto change = changes.rbegin(); change != changes.rend(); ++change) {
    std::optional<std::string> id = std::visit(GetWriteKey(), *change);
    if (!id || seen.emplace(change->index(), *std::move(id)).second) newest.push_back(&*change);
  }
  std::reverse(newest.begin(), newest.end());
  return newest;
}

}  // namespace

SqlStore::SqlStore(const std::string& connection_string)
    : committer_(connection_string, 1),
      writer_(connection_string, 1),
      readers_(connection_string, kReaders),
      gc_pool_(connection_string, 1),
      lease_(connection_string, 1),
      metrics_(kMaxRows,
               [this](const WriteGroup<PendingMetrics>::Rows& pending) {
                 return StorePending(pending);
               }),
      logs_(kMaxRows, [this](const WriteGroup<model::LogLine>::Rows& lines) {
        return fence_.Write(writer_, {LockLog(), InsertLogLines(lines)});
      }) {}

absl::Status SqlStore::Prepare() {
  return committer_.Run([](Connection& connection) -> absl::Status {
    DET_ASSIGN_OR_RETURN(const Result result,
                         connection.Exec("SELECT current_setting('server_version_num')::int, "
                                         "current_setting('server_encoding'), "
                                         "current_setting('server_version')"));
    if (result.Int(0, 0) < kOldestServer) {
      return absl::FailedPreconditionError(absl::StrCat("the database server is PostgreSQL ",
                                                        std::string(result.Text(0, 2)),
                                                        "; version 14 or newer is required"));
    }
    if (result.Text(0, 1) != "UTF8") {
      return absl::FailedPreconditionError(
          absl::StrCat("the database's encoding is ", std::string(result.Text(0, 1)),
                       "; create one with CREATE DATABASE ... ENCODING 'UTF8' TEMPLATE template0"));
    }
    return Migrate(connection, AllMigrations());
  });
}

absl::StatusOr<cluster::Image> SqlStore::Load() {
  return committer_.Run([this](Connection& connection) -> absl::StatusOr<cluster::Image> {
    DET_RETURN_IF_ERROR(connection.ExecScript("BEGIN"));
    absl::StatusOr<cluster::Image> image = LoadFrom(connection);
    const absl::Status ended = connection.ExecScript(image.ok() ? "COMMIT" : "ROLLBACK");
    if (image.ok() && !ended.ok()) return ended;
    if (image.ok()) summary_backfill_.Start();
    return image;
  });
}

absl::StatusOr<cluster::Image> SqlStore::LoadFrom(Connection& connection) {
  cluster::Image image;
  // Comes first: from here on no older master can change what is read below.
  DET_RETURN_IF_ERROR(SeizeFencing(connection));
  DET_ASSIGN_OR_RETURN(const Result epoch, connection.Exec(kTakeOver));
  fence_.Set(epoch.Int(0, 0));
  known_experiments_.clear();
  DET_RETURN_IF_ERROR(connection.Exec(kDropOrphans).status());
  DET_RETURN_IF_ERROR(connection.Exec(kDropWriters).status());

  DET_RETURN_IF_ERROR(AddExperiments(connection, kLive, {}, image));
  for (const auto& experiment : image.experiments) known_experiments_.insert(experiment.id);
  DET_ASSIGN_OR_RETURN(
      const Result allocations,
      connection.Exec(absl::StrCat("SELECT ", kAllocationColumns, " FROM allocations a ",
                                   "WHERE a.state <> 'TERMINATED' ORDER BY a.id")));
  for (int row = 0; row < allocations.rows(); ++row) {
    DET_ASSIGN_OR_RETURN(image.allocations.emplace_back(), ToAllocation(allocations, row));
  }
  DET_ASSIGN_OR_RETURN(const Result highest, connection.Exec(kHighest));
  image.last_experiment = static_cast<int32_t>(highest.Int(0, 0));
  image.last_trial = static_cast<int32_t>(highest.Int(0, 1));
  image.last_submitted = highest.Int(0, 2);
  DET_RETURN_IF_ERROR(AddScheduling(connection, image));
  return image;
}

absl::Status SqlStore::AddExperiments(Connection& connection, const std::string& condition,
                                      const Params& params, cluster::Image& image) {
  DET_ASSIGN_OR_RETURN(
      const Result experiments,
      connection.Exec(absl::StrCat("SELECT ", kExperimentColumns, " FROM ", kExperimentTables,
                                   " WHERE ", condition, " ORDER BY e.id"),
                      params));
  for (int row = 0; row < experiments.rows(); ++row) {
    DET_ASSIGN_OR_RETURN(image.experiments.emplace_back(), ToExperiment(experiments, row));
  }
  // Selects by ID instead of a join, so that ended experiments, which are many, are not read.
  std::vector<model::ExperimentId> ids;
  for (const experiment::Experiment& each : image.experiments) ids.push_back(each.id);
  const Params these = {ToArray(ids)};
  constexpr char kOfThese[] = " WHERE x.experiment = ANY($1::int[])";
  DET_ASSIGN_OR_RETURN(
      const Result trials,
      connection.Exec(absl::StrCat("SELECT ", kTrialColumns, " FROM trials t ",
                                   "WHERE t.experiment = ANY($1::int[]) ORDER BY t.id"),
                      these));
  for (int row = 0; row < trials.rows(); ++row) {
    DET_ASSIGN_OR_RETURN(image.trials.emplace_back(), ToTrial(trials, row));
  }
  DET_ASSIGN_OR_RETURN(
      const Result searchers,
      connection.Exec(
          absl::StrCat("SELECT x.experiment, x.sequence, x.snapshot FROM searchers x", kOfThese),
          these));
  for (int row = 0; row < searchers.rows(); ++row) {
    const model::ExperimentId id(static_cast<int32_t>(searchers.Int(row, 0)));
    DET_ASSIGN_OR_RETURN(model::Value snapshot, ToValue(searchers, row, 2));
    image.searchers[id] = {id, searchers.Int(row, 1), std::move(snapshot)};
  }
  DET_ASSIGN_OR_RETURN(
      const Result events,
      connection.Exec(
          absl::StrCat("SELECT x.experiment, x.sequence, x.events FROM ", "searcher_events x",
                       kOfThese, " ORDER BY x.experiment, x.sequence"),
          these));
  for (int row = 0; row < events.rows(); ++row) {
    const model::ExperimentId id(static_cast<int32_t>(events.Int(row, 0)));
    DET_ASSIGN_OR_RETURN(model::Value list, ToValue(events, row, 2));
    image.searcher_events.push_back({id, events.Int(row, 1), std::move(list)});
  }
  return absl::OkStatus();
}

absl::Status SqlStore::UseCompletedCheckpoints(Connection& connection, model::ExperimentId id,
                                               cluster::Image& image) {
  DET_ASSIGN_OR_RETURN(const Result older, connection.Exec(kOlderCheckpoints, MakeParams(id)));
  for (int row = 0; row < older.rows(); ++row) {
    for (experiment::Trial& trial : image.trials) {
      if (trial.id.value() != older.Int(row, 0)) continue;
      trial.latest_checkpoint.reset();
      if (!older.IsNull(row, 1)) trial.latest_checkpoint.emplace(std::string(older.Text(row, 1)));
      trial.steps_completed = older.Int(row, 2);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<cluster::Image> SqlStore::LoadExperiment(model::ExperimentId id) {
  return readers_.Run([&](Connection& connection) -> absl::StatusOr<cluster::Image> {
    cluster::Image image;
    DET_RETURN_IF_ERROR(AddExperiments(connection, "e.id = $1", MakeParams(id), image));
    if (image.experiments.empty()) return NoSuch("experiment", id);
    DET_RETURN_IF_ERROR(UseCompletedCheckpoints(connection, id, image));
    return image;
  });
}

std::vector<Connection::Statement> SqlStore::ToStatements(
    int64_t sequence, const std::vector<cluster::Change>& changes) const {
  std::vector<Connection::Statement> statements = {{kFence, MakeParams(fence_.epoch(), sequence)}};
  std::vector<const model::LogLine*> lines;
  std::vector<const experiment::Trial*> trials;  // consecutive ones, which are put together
  const auto put_trials = [&] {
    if (!trials.empty()) statements.push_back(PutTrials(trials));
    trials.clear();
  };
  // Executed after all rows of the batch, because they change rows that the batch may add, or check
  // what uses a checkpoint.
  std::vector<Connection::Statement> behind;
  for (const cluster::Change* change : RemoveOverwritten(changes)) {
    if (std::holds_alternative<cluster::SetProject>(*change) ||
        std::holds_alternative<cluster::SetExperimentDetails>(*change) ||
        std::holds_alternative<cluster::MarkDeleting>(*change) ||
        std::holds_alternative<cluster::DropCheckpoints>(*change) ||
        std::holds_alternative<cluster::TrimCheckpoint>(*change) ||
        std::holds_alternative<cluster::ApplyRetention>(*change) ||
        std::holds_alternative<cluster::RaiseWebhooks>(*change)) {
      behind.push_back(ToStatement(*change, false));
      continue;
    }
    if (const auto* add = std::get_if<cluster::AddLogLine>(change)) {
      lines.push_back(&add->line);
      continue;
    }
    if (const auto* trial = std::get_if<cluster::PutTrial>(change)) {
      trials.push_back(&trial->trial);
      continue;
    }
    put_trials();
    const auto* put = std::get_if<cluster::PutExperiment>(change);
    const bool known = put != nullptr && known_experiments_.contains(put->experiment.id);
    statements.push_back(ToStatement(*change, known));
  }
  put_trials();
  std::move(behind.begin(), behind.end(), std::back_inserter(statements));
  // Last, so that the lock on the log is held for the shortest time.
  if (!lines.empty()) {
    statements.push_back(LockLog());
    statements.push_back(InsertLogLines(lines));
  }
  return statements;
}

absl::Status SqlStore::Commit(int64_t sequence, const std::vector<cluster::Change>& changes) {
  if (fence_.epoch() == 0) return absl::FailedPreconditionError("Commit before Load; load first");
  const std::vector<Connection::Statement> statements = ToStatements(sequence, changes);
  // If the connection breaks, the pool repeats this, which then has no effect.
  const absl::Status status = committer_.Run([&](Connection& connection) {
    absl::Status done = connection.ExecAll(statements);
    if (!done.ok() && connection.sqlstate() == kCommittedAlready) return absl::OkStatus();
    if (!done.ok() && connection.sqlstate() == kFencedState) return fence_.ReportFenced();
    return done;
  });
  if (!status.ok()) return status;
  for (const cluster::Change& change : changes) {
    if (const auto* put = std::get_if<cluster::PutExperiment>(&change)) {
      // An ended experiment may continue with another configuration; its row is then written
      // completely.
      if (model::IsTerminal(put->experiment.state)) {
        known_experiments_.erase(put->experiment.id);
      } else {
        known_experiments_.insert(put->experiment.id);
      }
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<LeaseRecord> SqlStore::ReadLease() {
  return lease_.Run([](Connection& connection) { return store::ReadLease(connection); });
}

absl::StatusOr<bool> SqlStore::ClaimLease(std::optional<int64_t> expected) {
  return lease_.Run(
      [&](Connection& connection) { return store::ClaimLease(connection, expected); });
}

absl::Status SqlStore::RenewLease(const std::string& leader) {
  if (fence_.epoch() == 0)
    return absl::FailedPreconditionError("RenewLease before Load; load first");
  const absl::StatusOr<bool> renewed = lease_.Run([&](Connection& connection) {
    return store::RenewLease(connection, fence_.epoch(), leader);
  });
  DET_RETURN_IF_ERROR(renewed.status());
  return *renewed ? absl::OkStatus() : fence_.ReportFenced();
}

void SqlStore::AddMetrics(std::vector<model::MetricReport> reports, Done done) {
  const auto refused = std::make_shared<absl::Status>();
  std::vector<PendingMetrics> pending;
  pending.reserve(reports.size());
  for (model::MetricReport& report : reports) {
    pending.push_back({Canonical(std::move(report)), refused});
  }
  metrics_.Write(std::move(pending),
                 [refused, done = std::move(done)](absl::Status written) mutable {
                   done(written.ok() ? *refused : std::move(written));
                 });
}

absl::Status SqlStore::StorePending(const WriteGroup<PendingMetrics>::Rows& pending) {
  std::vector<const model::MetricReport*> reports;
  for (const PendingMetrics* each : pending) reports.push_back(&each->report);
  return fence_.Run(writer_, [&](Connection& connection) -> absl::Status {
    DET_ASSIGN_OR_RETURN(const std::vector<AddedMetrics> added, StoreReports(connection, reports));
    for (const PendingMetrics* each : pending) *each->refused = absl::OkStatus();
    for (size_t i = 0; i < pending.size(); ++i) pending[i]->refused->Update(added[i].status());
    return absl::OkStatus();
  });
}

void SqlStore::AddLogLines(std::vector<model::LogLine> lines, Done done) {
  logs_.Write(std::move(lines), std::move(done));
}

absl::Status SqlStore::Ping() {
  return readers_.Run([](Connection& connection) { return connection.Exec("SELECT 1").status(); });
}

absl::StatusOr<std::unique_ptr<Store>> OpenPostgresStore(const std::string& connection_string) {
  auto store = std::make_unique<SqlStore>(connection_string);
  DET_RETURN_IF_ERROR(store->Prepare());
  return store;
}

std::unique_ptr<Store> OpenPostgresAsStandby(const std::string& connection_string) {
  return std::make_unique<SqlStore>(connection_string);
}

}  // namespace det::store
