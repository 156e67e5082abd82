#include "master/store/postgres/postgres_store.h"

#include <signal.h>

#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/time.h"
#include "base/installation.h"
#include "master/store/postgres/connection.h"
#include "master/store/postgres/migrations.h"
#include "master/store/postgres/params.h"
#include "master/store/postgres/testing/test_server.h"
#include "master/store/testing/make_rows.h"
#include "master/store/testing/store_contract.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace det::store {
namespace {

using ::testing::HasSubstr;

std::unique_ptr<Store> OpenStore(const std::string& connection_string) {
  absl::StatusOr<std::unique_ptr<Store>> store = OpenPostgresStore(connection_string);
  EXPECT_TRUE(store.ok()) << store.status();
  return store.ok() ? *std::move(store) : nullptr;
}

std::unique_ptr<Connection> Connect(const std::string& connection_string) {
  absl::StatusOr<std::unique_ptr<Connection>> connection = Connection::Open(connection_string);
  EXPECT_TRUE(connection.ok()) << connection.status();
  return connection.ok() ? *std::move(connection) : nullptr;
}

class PostgresBackend final : public StoreBackend {
 public:
  std::unique_ptr<Store> Open() override { return OpenStore(connection_string_); }

 private:
  const std::string connection_string_ = TestServer::Get().MakeDatabase();
};

INSTANTIATE_TEST_SUITE_P(Postgres, StoreContractTest,
                         ::testing::Values([] { return std::make_unique<PostgresBackend>(); }));

// Ends all connections to the database except the one that executes this.
void CutConnections(const std::string& database) {
  const auto connection = Connect(database);
  EXPECT_TRUE(connection
                  ->ExecScript("SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                               "WHERE datname = current_database() AND pid <> pg_backend_pid()")
                  .ok());
}

TEST(PostgresStoreTest, ReconnectsAfterDisconnect) {
  const std::string database = TestServer::Get().MakeDatabase();
  const auto store = OpenStore(database);
  ASSERT_TRUE(store->Load().ok());
  ASSERT_TRUE(store->Commit(1, {cluster::PutExperiment{MakeExperiment(1)}}).ok());
  ASSERT_TRUE(store->Ping().ok());
  ASSERT_TRUE(store->AddLogLines({MakeLine("1.1", 1, "one")}).ok());
  CutConnections(database);
  EXPECT_TRUE(store->Ping().ok());
  EXPECT_TRUE(store->Commit(2, {cluster::PutExperiment{MakeExperiment(2)}}).ok());
  EXPECT_TRUE(store->AddLogLines({MakeLine("1.1", 2, "two")}).ok());
  EXPECT_EQ(store->ListExperiments({})->total, 2);
}

// Calls until the server is back; before that, only UNAVAILABLE may be returned.
template <class Call>
void AwaitOk(const Call& call) {
  absl::Status status;
  while (!(status = call()).ok()) {
    ASSERT_TRUE(absl::IsUnavailable(status)) << status;
    std::this_thread::yield();
  }
}

TEST(PostgresStoreTest, RecoversWithServer) {
  const std::string database = TestServer::Get().MakeDatabase();
  const auto store = OpenStore(database);
  ASSERT_TRUE(store->Load().ok());
  ASSERT_TRUE(store->Commit(1, {cluster::PutExperiment{MakeExperiment(1)}}).ok());
  ASSERT_EQ(::kill(TestServer::Get().pid(), SIGKILL), 0);
  const std::vector<cluster::Change> next = {cluster::PutExperiment{MakeExperiment(2)}};
  AwaitOk([&] { return store->Commit(2, next); });
  AwaitOk([&] { return store->AddLogLines({MakeLine("1.1", 1, "one")}); });
  AwaitOk([&] { return store->ListExperiments({}).status(); });
  EXPECT_EQ(store->ListExperiments({})->total, 2);
  EXPECT_EQ(store->ListLogs({.task = model::TaskId("1.1")})->size(), 1u);
}

// A master that was stopped during a transaction holds a lock on the row that a new master needs.
TEST(PostgresStoreTest, TakesOverFromMasterHangingInTransaction) {
  const std::string database = TestServer::Get().MakeDatabase();
  const auto older = OpenStore(database);
  ASSERT_TRUE(older->Load().ok());
  const auto batch = Connect(database);
  const auto write = Connect(database);
  ASSERT_TRUE(batch->ExecScript("BEGIN; SELECT fence(1, 1)").ok());
  ASSERT_TRUE(write->ExecScript("BEGIN; SELECT hold_epoch(1)").ok());
  const auto newer = OpenStore(database);
  EXPECT_TRUE(*newer->ClaimLease(std::nullopt));
  EXPECT_TRUE(newer->Load().ok());
  EXPECT_FALSE(batch->ExecScript("COMMIT").ok());
  EXPECT_FALSE(write->ExecScript("COMMIT").ok());
  EXPECT_TRUE(absl::IsAborted(older->Commit(1, {})));
}

TEST(PostgresStoreTest, DoesNotBlockBulkWritesOnBatches) {
  const std::string database = TestServer::Get().MakeDatabase();
  const auto store = OpenStore(database);
  ASSERT_TRUE(store->Load().ok());
  const auto batch = Connect(database);
  const auto write = Connect(database);
  // With row locks in conflict, each of these would block forever.
  ASSERT_TRUE(batch->ExecScript("BEGIN; SELECT fence(1, 1)").ok());
  ASSERT_TRUE(write->ExecScript("BEGIN; SELECT hold_epoch(1)").ok());
  EXPECT_TRUE(store->AddMetrics({MakeReport(1, "training", 1, 0.5)}).ok());
  ASSERT_TRUE(batch->ExecScript("ROLLBACK").ok());
  EXPECT_TRUE(store->Commit(1, {}).ok());
}

TEST(PostgresStoreTest, ReadsLeaseOnTablesOfAnyVersion) {
  const std::string database = TestServer::Get().MakeDatabase();
  const auto standby = OpenPostgresAsStandby(database);
  EXPECT_EQ(*standby->ReadLease(), LeaseRecord());
  const auto connection = Connect(database);
  const std::vector<Migration> old(AllMigrations().begin(), AllMigrations().begin() + 4);
  ASSERT_TRUE(Migrate(*connection, old).ok());
  ASSERT_TRUE(connection->ExecScript("UPDATE fencing SET epoch = 4").ok());
  EXPECT_EQ(*standby->ReadLease(), (LeaseRecord{.epoch = 4, .renewals = {}, .leader = ""}));
  const auto leader = OpenStore(database);
  ASSERT_TRUE(*leader->ClaimLease(std::nullopt));
  EXPECT_EQ(*standby->ReadLease(), (LeaseRecord{.epoch = 5, .renewals = 1, .leader = ""}));
}

// For each SQLSTATE, the error of the database and its classification.
TEST(PostgresStoreTest, ClassifiesTransientErrors) {
  const std::pair<const char*, const char*> kTransient[] = {
      {"53100", "its disk is full"},
      {"53300", "too many connections"},
      {"53200", "it is out of memory"},
      {"53000", "it has insufficient resources"},
      {"25006", "it is read-only"},
      {"57P01", "it is shutting down"},
      {"57P02", "it crashed"},
      {"57P03", "it is starting or stopping"},
      {"57014", "the statement was canceled"},
      {"08006", "the connection broke"},
      {"40001", "transactions conflicted"},
      {"40P01", "transactions conflicted"},
      {"55P03", "another session holds"},
      {"58030", "it has an I/O error"},
  };
  const std::string database = TestServer::Get().MakeDatabase();
  const auto store = OpenStore(database);
  ASSERT_TRUE(store->Load().ok());
  const auto connection = Connect(database);
  int64_t sequence = 0;
  for (const auto& [code, words] : kTransient) {
    // Every inserted row raises the error.
    ASSERT_TRUE(connection
                    ->ExecScript(absl::StrCat(
                        "CREATE OR REPLACE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS "
                        "$$ BEGIN RAISE EXCEPTION 'no luck' USING ERRCODE = '",
                        code,
                        "'; END $$;"
                        "CREATE TRIGGER fail BEFORE INSERT ON experiments EXECUTE FUNCTION fail();"
                        "CREATE TRIGGER fail BEFORE INSERT ON metrics EXECUTE FUNCTION fail()"))
                    .ok());
    ++sequence;
    const std::vector<cluster::Change> batch = {
        cluster::PutExperiment{MakeExperiment(static_cast<int>(sequence))}};
    for (const absl::Status& status :
         {store->Commit(sequence, batch), store->AddMetrics({MakeReport(1, "training", 1, 0.5)})}) {
      EXPECT_TRUE(absl::IsUnavailable(status)) << code << ": " << status;
      EXPECT_THAT(std::string(status.message()), HasSubstr(words));
      EXPECT_THAT(std::string(status.message()), HasSubstr("no luck"));
    }
    ASSERT_TRUE(
        connection->ExecScript("DROP TRIGGER fail ON experiments; DROP TRIGGER fail ON metrics")
            .ok());
    // The committer repeats the same batch.
    EXPECT_TRUE(store->Commit(sequence, batch).ok()) << code;
  }
  EXPECT_EQ(store->ListExperiments({})->total, sequence);
}

TEST(PostgresStoreTest, ClassifiesPermanentErrors) {
  const std::string database = TestServer::Get().MakeDatabase();
  const auto store = OpenStore(database);
  ASSERT_TRUE(store->Load().ok());
  ASSERT_TRUE(Connect(database)->ExecScript("DROP TABLE experiments CASCADE").ok());
  const absl::Status status = store->Commit(1, {cluster::PutExperiment{MakeExperiment(1)}});
  EXPECT_TRUE(absl::IsInternal(status)) << status;
}

TEST(PostgresStoreTest, WaitsWhileDatabaseIsReadOnly) {
  const std::string database = TestServer::Get().MakeDatabase();
  const std::string name = database.substr(database.rfind('=') + 1);
  const auto store = OpenStore(database);
  ASSERT_TRUE(store->Load().ok());
  ASSERT_TRUE(Connect(database)
                  ->ExecScript(absl::StrCat("ALTER DATABASE ", name,
                                            " SET default_transaction_read_only = on"))
                  .ok());
  CutConnections(database);
  const std::vector<cluster::Change> batch = {cluster::PutExperiment{MakeExperiment(1)}};
  const absl::Status status = store->Commit(1, batch);
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("it is read-only"));
  ASSERT_TRUE(Connect(database)
                  ->ExecScript(absl::StrCat("BEGIN READ WRITE; ALTER DATABASE ", name,
                                            " RESET default_transaction_read_only; COMMIT"))
                  .ok());
  CutConnections(database);
  EXPECT_TRUE(store->Commit(1, batch).ok());
  EXPECT_EQ(store->ListExperiments({})->total, 1);
}

TEST(PostgresStoreTest, ShowsLogIdsInOrder) {
  const std::string database = TestServer::Get().MakeDatabase();
  const auto store = OpenStore(database);
  ASSERT_TRUE(store->Load().ok());
  // The master's own lines are stored by commits, those of agents by the writer.
  constexpr int kLines = 200;
  std::thread commits([&] {
    for (int i = 1; i <= kLines; ++i) {
      EXPECT_TRUE(store->Commit(i, {cluster::AddLogLine{MakeLine("1.1", 0, "own")}}).ok());
    }
  });
  std::thread writes([&] {
    for (int i = 1; i <= kLines; ++i) {
      EXPECT_TRUE(store->AddLogLines({MakeLine("1.1", i, "task")}).ok());
    }
  });
  // A client that follows a log by the ID of the last line misses no line.
  LogQuery query = {.task = model::TaskId("1.1")};
  int seen = 0;
  while (seen < 2 * kLines) {
    const std::vector<LogRecord> records = *store->ListLogs(query);
    for (const LogRecord& record : records) {
      query.after_id = record.id;
      ++seen;
    }
  }
  commits.join();
  writes.join();
  EXPECT_EQ(seen, 2 * kLines);
  EXPECT_TRUE(store->ListLogs(query)->empty());
}

TEST(PostgresStoreTest, AcceptsUrl) {
  const std::string database = TestServer::Get().MakeDatabase();
  // "host=DIR user=U dbname=postgres dbname=D", of which the last dbname applies.
  const std::string host = database.substr(5, database.find(' ') - 5);
  const std::string name = database.substr(database.rfind('=') + 1);
  const auto store = OpenStore(absl::StrCat("postgresql://resolute@/", name,
                                            "?host=", absl::StrReplaceAll(host, {{"/", "%2F"}})));
  ASSERT_NE(store, nullptr);
  EXPECT_TRUE(store->Ping().ok());
}

TEST(PostgresStoreTest, ReportsUnreachableServer) {
  const auto store = OpenPostgresStore("host=/nonexistent dbname=postgres");
  EXPECT_TRUE(absl::IsUnavailable(store.status())) << store.status();
  EXPECT_THAT(std::string(store.status().message()), HasSubstr("cannot reach the database"));
}

TEST(PostgresStoreTest, RejectsOtherEncodings) {
  const std::string database = TestServer::Get().MakeDatabase();
  const auto connection = Connect(database);
  ASSERT_TRUE(
      connection->ExecScript("CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0").ok());
  const auto store = OpenPostgresStore(absl::StrCat(database, " dbname=latin"));
  EXPECT_TRUE(absl::IsFailedPrecondition(store.status())) << store.status();
  EXPECT_THAT(std::string(store.status().message()), HasSubstr("LATIN1"));
}

TEST(MigrationsTest, AppliesOnceInOrder) {
  const auto connection = Connect(TestServer::Get().MakeDatabase());
  const std::vector<Migration> steps = {{1, "first", "CREATE TABLE a (x int)"},
                                        {2, "second", "ALTER TABLE a ADD COLUMN y int"}};
  EXPECT_TRUE(Migrate(*connection, {steps[0]}).ok());
  EXPECT_TRUE(Migrate(*connection, steps).ok());
  EXPECT_TRUE(Migrate(*connection, steps).ok());
  EXPECT_TRUE(connection->Exec("SELECT x, y FROM a").ok());
}

TEST(MigrationsTest, RejectsNewerDatabase) {
  const auto connection = Connect(TestServer::Get().MakeDatabase());
  const std::vector<Migration> steps = {{1, "first", "SELECT 1"}, {2, "second", "SELECT 1"}};
  EXPECT_TRUE(Migrate(*connection, steps).ok());
  const absl::Status status = Migrate(*connection, {steps[0]});
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("newer master"));
}

TEST(MigrationsTest, ReportsVersionToInstall_WhenDatabaseIsNewer) {
  const auto connection = Connect(TestServer::Get().MakeDatabase());
  const std::vector<Migration> steps = {{1, "first", "SELECT 1"}, {2, "second", "SELECT 1"}};
  EXPECT_TRUE(Migrate(*connection, steps).ok());
  EXPECT_TRUE(connection->ExecScript("UPDATE schema_migrations SET version = '7.8.9'").ok());
  const absl::Status status = Migrate(*connection, {steps[0]});
  EXPECT_THAT(std::string(status.message()), HasSubstr("version 7.8.9, migration 2 second"));
  EXPECT_THAT(std::string(status.message()), HasSubstr("install 7.8.9"));
}

// A table as older masters created it.
TEST(MigrationsTest, AcceptsTableWithoutVersions) {
  const auto connection = Connect(TestServer::Get().MakeDatabase());
  ASSERT_TRUE(connection
                  ->ExecScript("CREATE TABLE schema_migrations (number int PRIMARY KEY, name text "
                               "NOT NULL, applied_at timestamptz NOT NULL DEFAULT now()); "
                               "INSERT INTO schema_migrations (number, name) VALUES (1, 'first')")
                  .ok());
  const std::vector<Migration> steps = {{1, "first", "SELECT nonsense"},
                                        {2, "second", "CREATE TABLE b (x int)"}};
  EXPECT_TRUE(Migrate(*connection, steps).ok());
  const auto versions = connection->Exec("SELECT version FROM schema_migrations ORDER BY number");
  EXPECT_EQ(versions->Text(0, 0), "");
  EXPECT_EQ(versions->Text(1, 0), base::kVersion);
}

TEST(MigrationsTest, AppliesAllOrNone) {
  const auto connection = Connect(TestServer::Get().MakeDatabase());
  const std::vector<Migration> steps = {{1, "good", "CREATE TABLE b (x int)"},
                                        {2, "bad", "SELECT nonsense"}};
  EXPECT_FALSE(Migrate(*connection, steps).ok());
  EXPECT_FALSE(connection->Exec("SELECT x FROM b").ok());
  EXPECT_TRUE(Migrate(*connection, {steps[0]}).ok());
}

TEST(MigrationsTest, RollsBackFailedMigration) {
  const auto connection = Connect(TestServer::Get().MakeDatabase());
  const std::vector<Migration> steps = {{1, "half", "CREATE TABLE b (x int); SELECT nonsense"}};
  const absl::Status status = Migrate(*connection, steps);
  EXPECT_THAT(std::string(status.message()), HasSubstr("migration 1 (half)"));
  EXPECT_TRUE(connection->ExecScript("CREATE TABLE b (x int)").ok());
}

TEST(MigrationsTest, NumbersMigrationsFromOne) {
  int expected = 0;
  for (const Migration& migration : AllMigrations()) EXPECT_EQ(migration.number, ++expected);
  EXPECT_GE(expected, 1);
}

// A database without workspaces and projects gets one for each name that was used.
TEST(MigrationsTest, AssignsOldExperimentsToNamedProjects) {
  const std::string database = TestServer::Get().MakeDatabase();
  const auto connection = Connect(database);
  const std::vector<Migration> old(AllMigrations().begin(), AllMigrations().begin() + 8);
  ASSERT_TRUE(Migrate(*connection, old).ok());
  const auto insert = [&](int id, const std::string& workspace, const std::string& project) {
    model::ExperimentConfig config = *MakeConfig("old");
    config.workspace = workspace;
    config.project = project;
    config.description = "words";
    config.labels = {"a", "b"};
    const absl::Status inserted =
        connection
            ->Exec(
                "INSERT INTO experiments (id, name, job, owner, request_id, config, "
                "original_config, context_hash, state, reason, progress, created_at, "
                "owner_name, resource_pool, priority, weight, position, position_set) "
                "VALUES ($1, 'old', $2, 1, '', $3, '', '', 'COMPLETED', '', 0, now(), "
                "'', 'default', 42, 1, 0, false)",
                MakeParams(id, absl::StrCat("exp-", id), model::ToValue(config)))
            .status();
    EXPECT_TRUE(inserted.ok()) << inserted;
  };
  insert(1, "", "");
  insert(2, "vision", "cats");
  insert(3, "vision", "dogs");
  insert(4, "speech", "cats");
  insert(5, "vision", "cats");
  const auto store = OpenStore(database);
  const auto where = [&](int id) {
    const auto read = store->GetExperiment(model::ExperimentId(id));
    EXPECT_TRUE(read.ok()) << read.status();
    if (!read.ok()) return std::string();
    const experiment::Experiment& e = read->experiment;
    EXPECT_EQ(e.config->description, "words");
    EXPECT_EQ(e.config->labels, (std::vector<std::string>{"a", "b"}));
    const auto project = store->projects().GetProject(e.project);
    EXPECT_TRUE(project.ok()) << project.status();
    EXPECT_EQ(project->workspace, e.workspace);
    return absl::StrCat(e.config->workspace, "/", e.config->project);
  };
  EXPECT_EQ(where(1), "Uncategorized/Uncategorized");
  EXPECT_EQ(where(2), "vision/cats");
  EXPECT_EQ(where(3), "vision/dogs");
  EXPECT_EQ(where(4), "speech/cats");
  EXPECT_EQ(where(5), "vision/cats");
  EXPECT_EQ(store->workspaces().ListWorkspaces({})->total, 3);
}

// A database without queue positions gets them in the order of creation.
TEST(MigrationsTest, QueuesOldExperimentsAsConfigured) {
  const std::string database = TestServer::Get().MakeDatabase();
  const auto connection = Connect(database);
  const std::vector<Migration> old(AllMigrations().begin(), AllMigrations().begin() + 4);
  ASSERT_TRUE(Migrate(*connection, old).ok());
  const auto insert = [&](int id, const model::ResourcesConfig& resources) {
    model::ExperimentConfig config = *MakeConfig("old");
    config.resources = resources;
    const std::string job = absl::StrCat("exp-", id);
    EXPECT_TRUE(connection
                    ->Exec("INSERT INTO experiments (id, name, job, owner, request_id, config, "
                           "original_config, context_hash, state, reason, progress, created_at) "
                           "VALUES ($1, 'old', $2, 1, '', $3, '', '', 'ACTIVE', '', 0, now())",
                           MakeParams(id, job, model::ToValue(config)))
                    .ok());
    EXPECT_TRUE(connection
                    ->Exec("INSERT INTO trials (id, experiment, request, task, seed, hparams, "
                           "state, reason, restarts, run_id, steps_completed, progress, "
                           "runner_state, best_steps, created_at) VALUES ($1, $1, '1', $2, 1, "
                           "'{}', 'RUNNING', '', 0, 1, 0, 0, '', 0, now())",
                           MakeParams(id, absl::StrCat(id, ".", id)))
                    .ok());
    for (const bool live : {false, true}) {
      EXPECT_TRUE(
          connection
              ->Exec("INSERT INTO allocations (id, task, trial, run_id, job, slots, submitted, "
                     "state, shares, preemption_acked, preemption_reason, reported, "
                     "reported_message, exit_reason, exit_message, queued_at, started_at, "
                     "ended_at) VALUES ($1, 't', $2, $3::int, $4, 2, 1, $5, '[]', false, '', "
                     "'NONE', '', 'NONE', '', now(), '2023-11-14 10:00Z', $6::timestamptz)",
                     MakeParams(absl::StrCat(id, live), id, live ? 1 : 0, job,
                                live ? "RUNNING" : "TERMINATED",
                                live ? std::nullopt : std::optional("2023-11-14 10:01:40Z")))
              .ok());
    }
  };
  ASSERT_TRUE(connection
                  ->ExecScript("INSERT INTO users (username, password_hash, admin, active, "
                               "display_name) VALUES ('ann', '', true, true, '')")
                  .ok());
  model::ResourcesConfig resources;
  insert(7, resources);
  resources.max_slots = 4;
  resources.weight = 0.5;
  resources.priority = 3;
  resources.resource_pool = "gpus";
  insert(8, resources);
  const auto store = OpenStore(database);
  const absl::StatusOr<cluster::Image> image = store->Load();
  ASSERT_TRUE(image.ok()) << image.status();
  ASSERT_EQ(image->experiments.size(), 2u);
  EXPECT_EQ(image->experiments[0].queue, (experiment::QueuePlace{"default", 42, 1, 7, false, {}}));
  EXPECT_EQ(image->experiments[1].queue, (experiment::QueuePlace{"gpus", 3, 0.5, 8, false, 4}));
  EXPECT_EQ(image->experiments[1].owner_name, "ann");
  EXPECT_EQ(image->trials[0].run_time, absl::Seconds(100));
  ASSERT_EQ(image->allocations.size(), 2u);
  EXPECT_EQ(image->allocations[0].granted, 2);
  EXPECT_EQ(image->allocations[0].resource_pool, "default");
  EXPECT_EQ(image->allocations[1].resource_pool, "gpus");
  EXPECT_EQ(image->usage.users.at("ann"), 400);
}

// Kills the server process of the connection.
TEST(ConnectionTest, ReportsLostServerAsUnavailable) {
  const std::string database = TestServer::Get().MakeDatabase();
  const auto connection = Connect(database);
  const auto pid = connection->Exec("SELECT pg_backend_pid()");
  ASSERT_TRUE(pid.ok());
  ASSERT_EQ(::kill(static_cast<pid_t>(pid->Int(0, 0)), SIGKILL), 0);
  const absl::Status status = connection->Exec("SELECT 1").status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_FALSE(connection->alive());
  EXPECT_TRUE(absl::IsUnavailable(connection->ExecAll({{"SELECT 2", {}}})));
  // The supervisor restarts the server.
  AwaitOk([&] { return Connection::Open(database).status(); });
}

TEST(ConnectionTest, RollsBackAllStatements_WhenOneFails) {
  const auto connection = Connect(TestServer::Get().MakeDatabase());
  ASSERT_TRUE(connection->ExecScript("CREATE TABLE c (x int PRIMARY KEY)").ok());
  const std::string insert = "INSERT INTO c VALUES ($1)";
  std::vector<Connection::Statement> statements;
  for (int i = 0; i < 1000; ++i) statements.push_back({insert, {{absl::StrCat(i)}}});
  statements.push_back({insert, {{"7"}}});
  const absl::Status rejected = connection->ExecAll(statements);
  EXPECT_TRUE(absl::IsInternal(rejected)) << rejected;
  EXPECT_EQ(connection->sqlstate(), "23505");
  EXPECT_EQ(connection->Exec("SELECT count(*) FROM c")->Int(0, 0), 0);
  statements.pop_back();
  EXPECT_TRUE(connection->ExecAll(statements).ok());
  EXPECT_EQ(connection->Exec("SELECT count(*) FROM c")->Int(0, 0), 1000);
}

}  // namespace
}  // namespace det::store
