#include "master/app/config_file.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/file.h"
#include "master/app/config_fields.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace det::app {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// The error message; "OK" if there is none.
std::string Error(const std::string& yaml) {
  Config config;
  const absl::Status status = ReadConfigText(yaml, "master.yaml", &config);
  return status.ok() ? "OK" : std::string(status.message());
}

Config Read(const std::string& yaml) {
  Config config;
  const absl::Status status = ReadConfigText(yaml, "master.yaml", &config);
  EXPECT_TRUE(status.ok()) << status << "\n" << yaml;
  return config;
}

TEST(ConfigFileTest, KeepsDefaults_WhenEmpty) {
  Config config;
  config.data_dir = "/own";
  ASSERT_TRUE(ReadConfigText("", "m", &config).ok());
  ASSERT_TRUE(ReadConfigText("port: null\nresource_pools: []\ndb: {}\n", "m", &config).ok());
  EXPECT_EQ(config.data_dir, "/own");
  EXPECT_EQ(config.port, 8080);
  EXPECT_EQ(config.db_url, "");
  EXPECT_THAT(config.resource_pools, IsEmpty());
  EXPECT_EQ(config.default_compute_pool, "default");
}

TEST(ConfigFileTest, ReadsRetention) {
  const Config config =
      Read("retention_policy: {log_retention_days: 30, audit_retention_days: 400}");
  EXPECT_EQ(config.log_days, 30);
  EXPECT_EQ(config.audit_days, 400);
  EXPECT_EQ(Read("").log_days, -1);
  EXPECT_THAT(Error("retention_policy: {log_retention_days: -2}"), HasSubstr("from -1 to 32767"));
}

TEST(ConfigFileTest, HidesSecrets) {
  const std::string shown = ToDisplayedConfig(Read(R"(
port: 9090
db: {url: "postgresql://u:hidden@h/d"}
security: {initial_user_password: hidden}
resource_pools: [{pool_name: default, scheduler: {type: fifo}}]
)"))
                                .ToJson();
  EXPECT_THAT(shown, HasSubstr(R"("port":9090)"));
  EXPECT_THAT(shown, HasSubstr(R"("pool_name":"default")"));
  EXPECT_THAT(shown, HasSubstr(R"("type":"fifo")"));
  EXPECT_THAT(shown, HasSubstr(R"("url":"********")"));
  EXPECT_THAT(shown, testing::Not(HasSubstr("hidden")));
}

TEST(ConfigFileTest, ShowsFieldsThatExistingClientsRead) {
  const model::Value shown = ToDisplayedConfig(Read("resource_pools: [{pool_name: default}]"));
  EXPECT_TRUE(shown.AsObject()->contains("task_container_defaults"));
  const model::Value& pool = shown.Find("resource_pools")->AsList()->at(0);
  EXPECT_TRUE(pool.AsObject()->contains("task_container_defaults"));
}

TEST(ConfigFileTest, ReadsFieldsWithFlags) {
  const Config config = Read(R"(
data_dir: /data
bind: 0.0.0.0
port: 9090
cluster_name: lab
agent_reconnect_wait: 25s
checkpoint_roots: [/mnt/a, /mnt/b]
checkpoint_storage: {type: shared_fs, host_path: /mnt/checkpoints}
log: {level: debug, json: true}
security: {initial_user_password: secret}
db: {url: "postgresql://u@h/d"}
)");
  EXPECT_EQ(config.data_dir, "/data");
  EXPECT_EQ(config.bind, "0.0.0.0");
  EXPECT_EQ(config.port, 9090);
  EXPECT_EQ(config.cluster_name, "lab");
  EXPECT_EQ(config.agent_reconnect_timeout, absl::Seconds(25));
  EXPECT_THAT(config.checkpoint_roots, ElementsAre("/mnt/a", "/mnt/b"));
  EXPECT_EQ(config.checkpoint_storage.host_path, "/mnt/checkpoints");
  EXPECT_EQ(config.log_level, "debug");
  EXPECT_TRUE(config.log_json);
  EXPECT_EQ(config.admin_password, "secret");
  EXPECT_EQ(config.db_url, "postgresql://u@h/d");
  EXPECT_THAT(config.warnings, IsEmpty());
}

TEST(ConfigFileTest, ReadsAuthorization) {
  const AuthzOptions defaults = Read("").authz;
  EXPECT_EQ(defaults.type, "rbac");
  EXPECT_FALSE(defaults.rbac_ui_enabled);
  EXPECT_FALSE(defaults.strict_job_queue);
  const Config config = Read(
      "security: {authz: {type: basic, rbac_ui_enabled: true, strict_job_queue_control: true, "
      "fallback: basic}}");
  EXPECT_EQ(config.authz.type, "basic");
  EXPECT_TRUE(config.authz.rbac_ui_enabled);
  EXPECT_TRUE(config.authz.strict_job_queue);
  EXPECT_THAT(config.warnings, ElementsAre(HasSubstr("security.authz.fallback: without effect")));
  EXPECT_THAT(Error("security: {authz: {type: permissive}}"), HasSubstr("use basic"));
  EXPECT_THAT(Error("security: {authz: {type: none}}"), HasSubstr("security.authz.type"));
}

TEST(ConfigFileTest, ReadsRoleOfCreators) {
  EXPECT_TRUE(Read("").authz.assign_role_to_creator);
  EXPECT_EQ(Read("").authz.creator_role, 2);
  const AuthzOptions given =
      Read("security: {authz: {workspace_creator_assign_role: {enabled: false, role_id: 5}}}")
          .authz;
  EXPECT_FALSE(given.assign_role_to_creator);
  EXPECT_EQ(given.creator_role, 5);
  for (const char* id : {"1", "77", "-1"}) {
    EXPECT_THAT(Error(absl::StrCat(
                    "security: {authz: {workspace_creator_assign_role: {role_id: ", id, "}}}")),
                HasSubstr("2 (WorkspaceAdmin)"));
  }
}

TEST(ConfigFileTest, DisplaysDefaultsOfTasks) {
  const model::Value shown = ToDisplayedConfig(Read(R"(
task_container_defaults:
  environment_variables: [A=B]
  work_dir: /ignored
resource_pools:
- pool_name: default
- pool_name: other
  task_container_defaults: {preemption_timeout: 7}
)"));
  EXPECT_EQ(shown.Find("task_container_defaults")->ToJson(),
            R"({"bind_mounts":null,"environment_variables":["A=B"],"log_policies":null,)"
            R"("preemption_timeout":3600})");
  const model::Value::List& pools = *shown.Find("resource_pools")->AsList();
  EXPECT_TRUE(pools.at(0).Find("task_container_defaults")->is_null());
  EXPECT_EQ(pools.at(1).Find("task_container_defaults")->ToJson(), R"({"preemption_timeout":7})");
}

TEST(ConfigFileTest, ReadsCheckpointRetention) {
  const Config config = Read(R"(
checkpoint_storage:
  host_path: /mnt
  storage_path: ./a/b/
  save_experiment_best: 2
  save_trial_best: 3
  save_trial_latest: 0
  propagation: rshared
)");
  EXPECT_EQ(config.checkpoint_storage, (model::CheckpointStorageConfig{.host_path = "/mnt",
                                                                       .storage_path = "a/b/",
                                                                       .save_experiment_best = 2,
                                                                       .save_trial_best = 3,
                                                                       .save_trial_latest = 0}));
  EXPECT_THAT(config.warnings, ElementsAre(HasSubstr("checkpoint_storage.propagation: without")));
  EXPECT_EQ(Read("checkpoint_storage: {storage_path: a}").checkpoint_storage.host_path, "");
  EXPECT_EQ(Read("").checkpoint_storage, model::CheckpointStorageConfig());
}

TEST(ConfigFileTest, ReadsLimitsAndOrigins) {
  const Config config = Read(R"(
limits: {requests_per_second: 20, streams_per_user: 3, body_mib: 256}
cors: {allow_origins: ["https://a.example", "http://b.example:8000"]}
)");
  EXPECT_EQ(config.requests_per_second, 20);
  EXPECT_EQ(config.streams_per_user, 3);
  EXPECT_EQ(config.max_body_mib, 256);
  EXPECT_THAT(config.allow_origins, ElementsAre("https://a.example", "http://b.example:8000"));
  EXPECT_THAT(Read("cors: {allow_origins: [\"*\"]}").allow_origins, ElementsAre("*"));
  for (const char* bad : {"a.example", "https://", "https://a.example/", "https://a.example/x"}) {
    EXPECT_THAT(Error(std::string("cors: {allow_origins: [\"") + bad + "\"]}"),
                HasSubstr("is not an origin; use https://host"))
        << bad;
  }
  EXPECT_THAT(Error("limits: {requests_per_second: 0}"), HasSubstr("limits.requests_per_second"));
  EXPECT_THAT(Error("limits: {body_mib: 2000}"), HasSubstr("limits.body_mib"));
}

TEST(ConfigFileTest, ReadsFeatureSwitches) {
  EXPECT_THAT(Read("").feature_switches, ElementsAre());
  EXPECT_THAT(Read("feature_switches: [streaming_updates, other]").feature_switches,
              ElementsAre("streaming_updates", "other"));
  EXPECT_THAT(Error("feature_switches: streaming_updates"), HasSubstr("feature_switches"));
}

TEST(ConfigFileTest, BuildsDatabaseUrlFromParts) {
  EXPECT_EQ(
      Read("db: {host: h, user: u, password: \"it's \\\\\", name: d, ssl_mode: require}").db_url,
      R"(port=5432 host='h' user='u' password='it\'s \\' dbname='d' sslmode='require')");
}

TEST(ConfigFileTest, ReadsPoolsQuotasAndTopology) {
  const Config config = Read(R"(
default_aux_resource_pool: small
resource_manager:
  type: agent
  default_compute_resource_pool: gpus
resource_pools:
- pool_name: gpus
  description: the large ones
  scheduler:
    type: fair_share
    fitting_policy: worst
    preemption: true
    default_priority: 50
    allow_heterogeneous_fits: false
    backfill: false
    hold_after: 10m
    maintenance_lead: 20m
- pool_name: small
  max_aux_containers_per_agent: 7
  shared_devices: true
  workspaces: [w1, w2]
quotas:
- {scope: user, name: ann, max_slots: 2.5}
- {scope: workspace, name: ann, slot_hours: 500}
topology:
- {switch: leaf-1, agents: [n1, n2], islands: [[0, 1], [2, 3]]}
- {switch: leaf-2, agents: [n3]}
)");
  EXPECT_EQ(config.default_compute_pool, "gpus");
  EXPECT_EQ(config.default_aux_pool, "small");
  EXPECT_THAT(config.resource_pools,
              ElementsAre(model::ResourcePool{.name = "gpus",
                                              .description = "the large ones",
                                              .policy = model::SchedulingPolicy::kFairShare,
                                              .fitting = model::FittingPolicy::kWorst,
                                              .preemption = true,
                                              .heterogeneous = false,
                                              .backfill = false,
                                              .hold_after = absl::Minutes(10),
                                              .default_priority = 50,
                                              .maintenance_lead = absl::Minutes(20)},
                          model::ResourcePool{.name = "small",
                                              .max_aux_per_agent = 7,
                                              .shared_devices = true,
                                              .workspaces = {"w1", "w2"}}));
  using Scope = model::Quota::Scope;
  EXPECT_THAT(
      config.quotas,
      ElementsAre(model::Quota{.scope = Scope::kUser, .name = "ann", .max_slots = 2.5},
                  model::Quota{.scope = Scope::kWorkspace, .name = "ann", .slot_hours = 500}));
  const agents::Topology topology = {{"n1", {"leaf-1", {{0, 1}, {2, 3}}}},
                                     {"n2", {"leaf-1", {{0, 1}, {2, 3}}}},
                                     {"n3", {"leaf-2", {}}}};
  EXPECT_EQ(config.topology, topology);
}

TEST(ConfigFileTest, InheritsManagersScheduler) {
  const Config config = Read(R"(
resource_manager: {scheduler: {type: fifo, preemption: true, hold_after: 60}}
resource_pools:
- {pool_name: default}
- {pool_name: b, scheduler: {type: priority, preemption: null}}
- {pool_name: c, scheduler: null}
)");
  ASSERT_EQ(config.resource_pools.size(), 3u);
  using model::SchedulingPolicy;
  EXPECT_EQ(config.resource_pools[0].policy, SchedulingPolicy::kFifo);
  EXPECT_TRUE(config.resource_pools[0].preemption);
  EXPECT_EQ(config.resource_pools[1].policy, SchedulingPolicy::kPriority);
  EXPECT_TRUE(config.resource_pools[1].preemption);
  EXPECT_EQ(config.resource_pools[1].hold_after, absl::Minutes(1));
  EXPECT_EQ(config.resource_pools[2].policy, SchedulingPolicy::kFifo);
}

TEST(ConfigFileTest, CreatesDefaultPool) {
  for (const char* more : {"", "resource_pools: []\n", "resource_pools: null\n"}) {
    const Config config =
        Read(std::string("resource_manager: {scheduler: {type: fair_share}}\n") + more);
    ASSERT_EQ(config.resource_pools.size(), 1u) << more;
    EXPECT_EQ(config.resource_pools[0].name, "default");
    EXPECT_EQ(config.resource_pools[0].policy, model::SchedulingPolicy::kFairShare);
  }
}

TEST(ConfigFileTest, ReportsAllProblemsInFileOrder) {
  EXPECT_EQ(
      Error("prot: 8080\n"
            "bind: [a]\n"
            "resource_manager: {scheduler: {type: fare_share}}\n"
            "resource_pools:\n"
            "- {pool_name: a}\n"
            "- {pool_name: a, scheduler: {default_priority: 100}}\n"),
      "master.yaml:1: prot: unknown field; did you mean port?\n"
      "master.yaml:2: bind: expected a string, found a list\n"
      "master.yaml:3: resource_manager.scheduler.type: expected one of priority, fair_share, "
      "fifo, found \"fare_share\"; did you mean fair_share?\n"
      "master.yaml:6: resource_pools[1].scheduler.default_priority: expected an integer from 1 "
      "to 99, found 100\n"
      "master.yaml:6: resource_pools[1].pool_name: \"a\" is listed twice");
}

TEST(ConfigFileTest, RejectsInvalidValues) {
  const std::pair<const char*, const char*> cases[] = {
      {"- a", "master.yaml: expected a map such as \"port: 8080\", found a list"},
      {"port: 70000", "master.yaml:1: port: expected an integer from 0 to 65535, found 70000"},
      {"checkpoint_roots: [x]", "checkpoint_roots: \"x\" is relative; start it with /"},
      {"checkpoint_storage: {host_path: x}",
       "checkpoint_storage.host_path: \"x\" is a relative path"},
      {"checkpoint_storage: {host_path: /a, storage_path: ../b}",
       "checkpoint_storage.storage_path: \"../b\" is not below host_path /a"},
      {"checkpoint_storage: {save_trial_best: -1}", "checkpoint_storage.save_trial_best: expected"},
      {"checkpoint_storage: {type: directory}", "expected one of shared_fs, s3, gcs, azure"},
      {"checkpoint_storage: {type: s3}", "checkpoint_storage.bucket: required"},
      {"checkpoint_storage: {type: s3, bucket: b, host_path: /x}", "only valid for shared_fs"},
      {"checkpoint_storage: {type: azure, container: c}",
       "requires exactly one of connection_string"},
      {"checkpoint_roots: [mnt]", "\"mnt\" is relative; start it with /, or name a bucket"},
      {"db: {url: a, host: b}", "db.host: is also part of url"},
      {"lease: {renew_every: 4}", "lease.length: is less than twice lease.renew_every"},
      {"db: {user: b}", "db: has no server; set host or url"},
      {"log: {level: warn}", "\"warn\" was removed; use warning"},
      {"agent_reconnect_wait: soon", "expected seconds >= 0, or a duration such as 90m, 2h"},
      {"security: {initial_user_password_file: /nonexistent/file}", "/nonexistent/file"},
      {"security: {tls: {certificate: c}}", "security.tls.certificate: unknown field"},
      {"resource_manager: {type: kubernetes}", "expected agent, found \"kubernetes\""},
      {"resource_pools: [{}]", "resource_pools[0].pool_name: required but missing"},
      {"resource_pools: [a]", "resource_pools[0]: expected a list of maps, found \"a\""},
      {"resource_pools: [{pool_name: a/b}]", "\"a/b\" is not a valid pool name"},
      {"resource_pools: [{pool_name: default, provider: {type: aws}}]",
       "resource_pools[0].provider: this master does not start machines"},
      {"resource_pools: [{pool_name: default, preemption: true}]",
       "resource_pools[0].preemption: unknown field; did you mean "
       "resource_manager.scheduler.preemption"},
      {"resource_pools: [{pool_name: default, scheduler: {type: round_robin}}]",
       "\"round_robin\" was removed; use fifo or fair_share"},
      {"resource_pools: [{pool_name: gpus}, {pool_name: default}]\n"
       "default_compute_resource_pool: gpu",
       "master.yaml:2: default_compute_resource_pool: there is no pool \"gpu\"; did you mean "
       "gpus?"},
      {"resource_manager: {default_aux_resource_pool: a}\ndefault_aux_resource_pool: b",
       "resource_manager.default_aux_resource_pool: differs from default_aux_resource_pool"},
      {"quotas: [{scope: team, name: a, max_slots: 1}]",
       "quotas[0].scope: expected one of user, workspace, found \"team\""},
      {"quotas: [{scope: user, name: a}]", "quotas[0]: has no limit; set max_slots, slot_hours"},
      {"quotas: [{scope: user, name: a, max_slots: 1}, {scope: user, name: a, slot_hours: 1}]",
       "quotas[1].name: \"a\" has another quota"},
      {"quotas: [{scope: user, name: a, max_slots: -1}]", "expected a number >= 0, found -1"},
      {"topology: [{switch: s}]", "topology[0].agents: required but missing"},
      {"topology: [{switch: s, agents: [a, a]}]", "topology[0].agents: \"a\" is listed twice"},
      {"topology: [{agents: [a], islands: [[0, 1], [1]]}]",
       "topology[0].islands: slot 1 is listed twice"},
      {"topology: [{agents: [a], islands: [0]}]", "expected a list of lists of integers"},
      {"webhooks: {allow_networks: [10.0.0.0/40]}",
       "webhooks.allow_networks: \"10.0.0.0/40\" is not a network; expected one such as 10.0.0.0/8 "
       "or fd00::/8"},
      {"webhooks: {base_url: example.org}",
       "webhooks.base_url: expected http://... or https://..."},
      {"a: [", "master.yaml:1: not valid YAML"},
  };
  for (const auto& [yaml, message] : cases) {
    const std::string error = Error(yaml);
    EXPECT_THAT(error, HasSubstr(message)) << yaml;
    EXPECT_EQ(error.find('\n'), error.npos) << yaml << ":\n" << error;
  }
}

TEST(ConfigFileTest, RequiresDefaultPool) {
  EXPECT_EQ(Error("port: 1\nresource_pools: [{pool_name: a}]\n"),
            "master.yaml: default_compute_resource_pool: required, as no pool is called default; "
            "the pools are a\n"
            "master.yaml: default_aux_resource_pool: required, as no pool is called default; the "
            "pools are a");
}

TEST(ConfigFileTest, WarnsAboutDeprecatedFields) {
  EXPECT_THAT(
      Read("telemetry: {enabled: false}\nlog: {color: true}\n"
           "resource_pools: [{pool_name: default, kubernetes_namespace: n}]\n")
          .warnings,
      ElementsAre("master.yaml:1: telemetry: without effect: this master sends no telemetry",
                  "master.yaml:2: log.color: without effect: log lines are never coloured",
                  "master.yaml:3: resource_pools[0].kubernetes_namespace: without effect: tasks "
                  "run on this cluster's agents"));
}

TEST(ConfigFileTest, ReadsPasswordFile) {
  const base::TempDir dir = *base::TempDir::Create();
  const std::string file = dir.path() + "/password";
  ASSERT_TRUE(base::WriteFileAtomically(file, "pass word\r\nmore\n", 0600).ok());
  const std::string line = "initial_user_password_file: " + file;
  EXPECT_EQ(Read("security: {" + line + "}").admin_password, "pass word");
  EXPECT_THAT(Error("security: {initial_user_password: a, " + line + "}"),
              HasSubstr("initial_user_password is also set"));
  ASSERT_TRUE(base::WriteFileAtomically(file, "\n").ok());
  EXPECT_THAT(Error("security: {" + line + "}"), HasSubstr("is empty"));
}

TEST(ConfigFileTest, ReportsMissingFile) {
  Config config;
  const absl::Status status = ReadConfigFile("/nonexistent/master.yaml", &config);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("--config: "));
  EXPECT_THAT(std::string(status.message()), HasSubstr("/nonexistent/master.yaml"));
}

TEST(ConfigFieldsTest, MatchesDefaultsOfStructs) {
  for (const model::Field& field : ConfigFields().fields()) {
    if (field.target == nullptr || field.default_json == nullptr) continue;
    if (field.role == model::Field::Role::kList) continue;
    EXPECT_EQ(ValueAt(field, ConfigFields().GetType(field)).ToJson(), field.default_json)
        << field.path;
  }
}

TEST(ConfigFieldsTest, HasValidRows) {
  std::set<std::string> paths;
  for (const model::Field& field : ConfigFields().fields()) {
    using Role = model::Field::Role;
    const std::string path = field.path;
    EXPECT_TRUE(paths.insert(path).second) << path;
    EXPECT_EQ(field.target != nullptr, field.role == Role::kValue || field.role == Role::kList)
        << path;
    EXPECT_NE(ConfigFields().Expected(field), "") << path;
    const size_t dot = path.rfind('.');
    if (dot == path.npos) continue;
    std::string around = path.substr(0, dot);
    if (around.ends_with("[]")) around.resize(around.size() - 2);
    EXPECT_NE(ConfigFields().Find(around), nullptr) << path;
  }
}

TEST(ConfigFieldsTest, MatchesDocumentation) {
  const auto page = base::ReadFile("docs/reference/master-config.md");
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_EQ(*page, MasterConfigPage())
      << "run: bazel run //tools:master_config_doc > docs/reference/master-config.md";
  // The example of the page is valid.
  const size_t begin = page->find("```yaml\n") + 8;
  EXPECT_EQ(Error(page->substr(begin, page->find("```", begin) - begin)), "OK");
}

}  // namespace
}  // namespace det::app
