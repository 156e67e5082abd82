#include "master/app/config_file.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
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

TEST(ConfigFileTest, ReadsWhetherTheProxyConnectsDirectly) {
  EXPECT_FALSE(Read("").direct_proxy);
  EXPECT_TRUE(Read("proxy: {direct: true}").direct_proxy);
  EXPECT_THAT(Error("proxy: {direct: sometimes}"), HasSubstr("proxy.direct"));
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

// What a text means: "path=value" for each member that differs from the default, without sections,
// then the warnings; or the error.
std::string Meaning(const std::string& yaml) {
  Config config;
  const absl::Status status = ReadConfigText(yaml, "m", &config);
  if (!status.ok()) return std::string(status.message());
  FileConfig file;
  file.config = config;
  FileConfig defaults;
  std::string text;
  for (const model::Field& field : ConfigFields().fields()) {
    if (field.role != model::Field::Role::kValue ||
        std::string_view(field.path).find("[]") != std::string_view::npos) {
      continue;
    }
    const std::string value = ValueAt(field, field.target(&file, 0)).ToJson();
    if (value == ValueAt(field, field.target(&defaults, 0)).ToJson()) continue;
    // Two paths lead to the same member.
    if (std::string_view(field.path).starts_with("resource_manager.default_")) continue;
    absl::StrAppend(&text, field.path, "=", value, "\n");
  }
  for (const std::string& warning : config.warnings) absl::StrAppend(&text, warning, "\n");
  return text;
}

// Every key of the master's configuration of Determined, with its meaning here.
const std::vector<std::pair<const char*, const char*>>& DeterminedKeys() {
  static const auto& keys = *new std::vector<std::pair<const char*, const char*>>{
      {"config_file: f", "m:1: config_file: without effect: the file is chosen with --config"},
      {"log: {level: debug}", "log.level=\"debug\""},
      {"log: {level: trace}", "m:1: log.level: \"trace\" was removed; use debug"},
      {"log: {level: warn}", "m:1: log.level: \"warn\" was removed; use warning"},
      {"log: {color: false}", "m:1: log.color: without effect"},
      {"db: {user: u, password: p, host: h, port: \"5433\", name: d}",
       "db.url=\"port=5433 host='h' user='u' password='p' dbname='d'\""},
      {"db: {host: h, ssl_mode: verify-ca, ssl_root_cert: f}",
       "db.url=\"port=5432 host='h' sslmode='verify-ca' sslrootcert='f'\""},
      {"db: {user: postgres, port: 5432, name: determined}",
       "m:1: db: has no server; set host or url, such as host: /var/run/postgresql"},
      {"db: {host: h, migrations: m}",
       "db.url=\"port=5432 host='h'\"\nm:1: db.migrations: without"},
      {"db: {host: h, views_and_triggers: m}",
       "db.url=\"port=5432 host='h'\"\nm:1: db.views_and_triggers: without effect"},
      {"security: {default_task: {user: root, uid: 0, group: root, gid: 0}}",
       "m:1: security.default_task: without effect: tasks run as the agent's own user"},
      {"security: {tls: {cert: c, key: k}}", "security.tls.cert=\"c\"\nsecurity.tls.key=\"k\"\n"},
      {"security: {ssh: {key_type: RSA, rsa_key_size: 1024}}", "m:1: security.ssh: without effect"},
      {"security: {authz: {type: basic}}", "security.authz.type=\"basic\"\n"},
      {"security: {authz: {type: rbac, rbac_ui_enabled: true}}",
       "security.authz.rbac_ui_enabled=true\n"},
      {"security: {authz: {strict_job_queue_control: true}}",
       "security.authz.strict_job_queue_control=true\n"},
      {"security: {authz: {fallback: basic}}", "m:1: security.authz.fallback: without effect"},
      {"security: {authz: {_strict_ntsc_enabled: true}}",
       "m:1: security.authz._strict_ntsc_enabled: without effect"},
      {"security: {authz: {workspace_creator_assign_role: {enabled: true, role_id: 5}}}",
       "security.authz.workspace_creator_assign_role.role_id=5\n"},
      {"security: {token: {max_lifespan_days: 30, default_lifespan_days: 30}}",
       "m:1: security.token: without effect: the lifetime is set for each access token"},
      {"security: {initial_user_password: p}", "security.initial_user_password=\"p\"\n"},
      {"checkpoint_storage: {type: shared_fs, host_path: /tmp, storage_path: "
       "determined-checkpoint, "
       "save_experiment_best: 0, save_trial_best: 1, save_trial_latest: 1}",
       "checkpoint_storage.host_path=\"/tmp\"\n"
       "checkpoint_storage.storage_path=\"determined-checkpoint\"\n"},
      {"checkpoint_storage: {type: s3, bucket: b, prefix: p, access_key: a, secret_key: s, "
       "endpoint_url: http://h}",
       "checkpoint_storage.type=\"s3\"\n"},
      {"checkpoint_storage: {type: gcs, bucket: b, prefix: p}",
       "checkpoint_storage.type=\"gcs\"\n"},
      {"checkpoint_storage: {type: azure, container: c, connection_string: s}",
       "checkpoint_storage.type=\"azure\"\n"},
      {"checkpoint_storage: {type: directory, container_path: /c}",
       "m:1: checkpoint_storage.type: expected one of shared_fs, s3, gcs, azure"},
      {"checkpoint_storage: {host_path: /tmp, propagation: rprivate}",
       "checkpoint_storage.host_path=\"/tmp\"\nm:1: checkpoint_storage.propagation: without"},
      {"checkpoint_storage: {host_path: /tmp, container_path: /c, checkpoint_path: p, "
       "tensorboard_path: t}",
       "checkpoint_storage.host_path=\"/tmp\"\nm:1: checkpoint_storage.container_path: without"},
      {"port: \"8081\"", "port=8081\n"},
      {"root: /usr/share/determined/master", "m:1: root: without effect: the dashboard is part of"},
      {"telemetry: {enabled: true, segment_master_key: a, segment_webui_key: b, otel_enabled: "
       "false, otel_endpoint: \"h:1\", cluster_id: c}",
       "m:1: telemetry: without effect: this master sends no telemetry"},
      {"enable_cors: true", "m:1: enable_cors: without effect: use cors.allow_origins"},
      {"launch_error: \"false\"", "launch_error=false\n"},
      {"tensorboard_timeout: 60", "tensorboard_timeout=60\n"},
      {"notebook_timeout: \"300\"", "notebook_timeout=300\n"},
      {"cluster_name: lab", "cluster_name=\"lab\"\n"},
      {"ui_customization: {logo_paths: {dark_horizontal: a, dark_vertical: b, light_horizontal: c, "
       "light_vertical: d}}",
       "m:1: ui_customization: without effect"},
      {"logging: {type: default}", ""},
      {"logging: {type: elastic, host: h, port: 9200, security: {username: u, password: p, tls: "
       "{enabled: true, skip_verify: false, certificate: c, certificate_name: n}}}",
       "m:1: logging.type: \"elastic\" was removed; use default, task logs are stored in the"},
      {"retention_policy: {log_retention_days: \"90\"}",
       "retention_policy.log_retention_days=90\n"},
      {"retention_policy: {log_retention_days: null, schedule: \"0 1 * * *\"}",
       "m:1: retention_policy.schedule: without effect"},
      {"observability: {enable_prometheus: false}", "m:1: observability: without effect"},
      {"cache: {cache_dir: /var/cache/determined}", "m:1: cache.cache_dir: without effect"},
      {"webhooks: {base_url: \"http://h\", signing_key: k}",
       "webhooks.signing_key=\"k\"\nwebhooks.base_url=\"http://h\"\n"},
      {"feature_switches: [a]", "feature_switches=[\"a\"]\n"},
      {"reserved_ports: [80]", "m:1: reserved_ports: without effect"},
      {"scim: {enabled: false}", "m:1: scim: without effect: external identity providers"},
      {"scim: {enabled: true, auth: {type: basic, username: u, password: p}}",
       "m:1: scim: external identity providers are not supported; remove it"},
      {"saml: {enabled: \"true\", provider: Okta}", "m:1: saml: external identity providers"},
      {"oidc: {enabled: true, provider: Okta, client_id: c, client_secret: s, idp_sso_url: u, "
       "idp_recipient_url: r, authentication_claim: e, scim_authentication_attribute: userName}",
       "m:1: oidc: external identity providers are not supported; remove it"},
      {"oidc: {enabled: \"false\"}", "m:1: oidc: without effect"},
      {"oidc: {enabled: no}", "m:1: oidc: without effect"},
      {"oidc: {enabled: \"Off\"}", "m:1: oidc: without effect"},
      {"oidc: {enabled: 0}", "m:1: oidc: without effect"},
      {"oidc: {enabled: 1}", "m:1: oidc: external identity providers are not supported"},
      {"det_cloud: {enabled: false, login_url: u, always_redirect: false}",
       "m:1: det_cloud: without effect"},
      {"integrations: {pachyderm: {address: a}}", "m:1: integrations: without effect"},
      {"__internal: {audit_logging_enabled: true}",
       "m:1: __internal.audit_logging_enabled: without effect: every change is recorded"},
      {"__internal: {external_sessions: {login_uri: u}}",
       "m:1: __internal.external_sessions: external identity providers are not supported"},
      {"__internal: {proxied_servers: [{path_prefix: /a, destination: \"h:1\"}]}",
       "m:1: __internal.proxied_servers: this master does not forward requests"},
      {"__internal: {preemption_timeout: 5}",
       "m:1: __internal.preemption_timeout: was moved; write it as "
       "task_container_defaults.preemption_timeout"},
      {"determined_master_ip: h", "m:1: determined_master_ip: "},
      {"scheduler: {type: priority}",
       "m:1: scheduler: was moved; write it as "
       "resource_manager.scheduler"},
      {"provisioner: {max_instances: 1}", "m:1: provisioner: this master does not start machines"},
      {"resource_manager: {type: agent, cluster_name: c, name: n, metadata: {a: b}}",
       "m:1: resource_manager.cluster_name: without effect: set cluster_name at the top level"},
      {"resource_manager: {type: kubernetes, max_slots_per_pod: 4, slot_type: cuda}",
       "m:1: resource_manager.type: expected agent, found \"kubernetes\""},
      {"resource_manager: {type: slurm, master_host: h, master_port: 1, host: h, port: 1}",
       "m:1: resource_manager.type: expected agent, found \"slurm\""},
      {"resource_manager: {type: pbs}",
       "m:1: resource_manager.type: expected agent, found \"pbs\""},
      {"{resource_manager: {default_aux_resource_pool: a, default_compute_resource_pool: b}, "
       "resource_pools: [{pool_name: a}, {pool_name: b}]}",
       "default_compute_resource_pool=\"b\"\ndefault_aux_resource_pool=\"a\"\n"},
      {"default_gpu_resource_pool: a",
       "m:1: default_gpu_resource_pool: was renamed; write default_compute_resource_pool"},
      {"default_cpu_resource_pool: a",
       "m:1: default_cpu_resource_pool: was renamed; write default_aux_resource_pool"},
      {"resource_manager: {default_gpu_resource_pool: a}",
       "m:1: resource_manager.default_gpu_resource_pool: was renamed; write "
       "default_compute_resource_pool"},
      {"resource_manager: {default_cpu_resource_pool: a}",
       "m:1: resource_manager.default_cpu_resource_pool: was renamed; write "
       "default_aux_resource_pool"},
      {"resource_manager: {no_default_resource_pools: false}", ""},
      {"resource_manager: {no_default_resource_pools: \"yes\"}",
       "m:1: resource_manager.no_default_resource_pools: not supported: every task has a pool"},
      {"resource_manager: {require_authentication: true}",
       "m:1: resource_manager.require_authentication: without effect: agents always authenticate"},
      {"resource_manager: {client_ca: f}", "resource_manager.client_ca=\"f\"\n"},
      {"resource_manager: {scheduler: {type: priority, fitting_policy: worst, "
       "allow_heterogeneous_fits: false, preemption: true, default_priority: \"42\"}}",
       ""},
      {"resource_manager: {scheduler: {type: round_robin}}",
       "m:1: resource_manager.scheduler.type: \"round_robin\" was removed; use fifo or fair_share"},
      {"resource_pools: [{pool_name: default, description: d, max_aux_containers_per_agent: "
       "\"7\"}]",
       ""},
      {"resource_pools: [{pool_name: default, max_cpu_containers_per_agent: 7}]",
       "m:1: resource_pools[0].max_cpu_containers_per_agent: was renamed; write "
       "max_aux_containers_per_agent"},
      {"resource_pools: [{pool_name: default, agent_reattach_enabled: true}]",
       "m:1: resource_pools[0].agent_reattach_enabled: without effect: agents always reattach"},
      {"resource_pools: [{pool_name: default, agent_reconnect_wait: 25s}]",
       "m:1: resource_pools[0].agent_reconnect_wait: is not supported per pool; set "
       "agent_reconnect_wait at the top level"},
      {"resource_pools: [{pool_name: default, provider: {type: aws}}]",
       "m:1: resource_pools[0].provider: this master does not start machines"},
      {"resource_pools: [{pool_name: default, kubernetes_namespace: n}]",
       "m:1: resource_pools[0].kubernetes_namespace: without effect"},
      {"additional_resource_managers: [{resource_manager: {type: kubernetes}}]",
       "m:1: additional_resource_managers: only agents of this cluster are supported"},
      {"task_container_defaults: {shm_size_bytes: 1, network_mode: bridge, nccl_port_range: "
       "\"1:2\", "
       "gloo_port_range: \"1:2\", image: i, registry_auth: {}, force_pull_image: false, "
       "add_capabilities: [], drop_capabilities: [], devices: [], work_dir: w, cpu_pod_spec: {}, "
       "gpu_pod_spec: {}, checkpoint_gc_pod_spec: {}, kubernetes: {}, slurm: {}, pbs: {}}",
       "m:1: task_container_defaults.shm_size_bytes: without effect: tasks run as processes"},
      {"task_container_defaults: {startup_hook: x}", ""},
      {"task_container_defaults: {preemption_timeout: 5, environment_variables: [A=B], "
       "bind_mounts: "
       "[{host_path: /a, container_path: b}], log_policies: [{pattern: p, action: "
       "{type: cancel_retries}}], dtrain_network_interface: eth0}",
       ""},
  };
  return keys;
}

TEST(ConfigFileTest, AcceptsOrRefusesEveryKeyOfDetermined) {
  for (const auto& [yaml, meaning] : DeterminedKeys()) {
    const std::string actual = Meaning(yaml);
    EXPECT_THAT(actual, testing::StartsWith(meaning)) << yaml;
    if (*meaning == '\0') {
      EXPECT_EQ(actual, "") << yaml;
    }
    EXPECT_THAT(actual, testing::Not(HasSubstr("unknown field"))) << yaml;
  }
  const Config pool = Read(
      "resource_pools: [{pool_name: default, max_aux_containers_per_agent: \"7\", scheduler: "
      "{default_priority: \"7\", preemption: \"yes\"}}]");
  EXPECT_EQ(pool.resource_pools.at(0).max_aux_per_agent, 7);
  EXPECT_EQ(pool.resource_pools.at(0).default_priority, 7);
  EXPECT_TRUE(pool.resource_pools.at(0).preemption);
}

// Keys of other resource managers are harmless beside agents.
TEST(ConfigFileTest, IgnoresKeysOfOtherResourceManagers) {
  for (const char* key : {"default_namespace",
                          "max_slots_per_pod",
                          "master_service_name",
                          "slot_type",
                          "slot_resource_requests",
                          "default_scheduler",
                          "kubeconfig_path",
                          "determined_master_scheme",
                          "determined_master_host",
                          "determined_master_port",
                          "determined_master_ip",
                          "internal_task_gateway",
                          "leave_kubernetes_resources",
                          "fluent",
                          "master_host",
                          "master_port",
                          "host",
                          "port",
                          "protocol",
                          "security",
                          "container_run_type",
                          "auth_file",
                          "rendezvous_network_interface",
                          "proxy_network_interface",
                          "user_name",
                          "group_name",
                          "sudo_authorized",
                          "singularity_image_root",
                          "apptainer_image_root",
                          "job_storage_root",
                          "path",
                          "ld_library_path",
                          "launcher_jvm_args",
                          "tres_supported",
                          "gres_supported",
                          "job_project_source",
                          "partition_overrides"}) {
    EXPECT_THAT(
        Meaning(absl::StrCat("resource_manager: {", key, ": x}")),
        HasSubstr(absl::StrCat("resource_manager.", key,
                               ": without effect: it belongs to Kubernetes, Slurm or PBS")));
  }
}

TEST(ConfigFileTest, ReadsScalarsInOtherForms) {
  for (const char* yes : {"true", "yes", "on", "1", "\"true\"", "\"True\"", "\"1\"", "'yes'"}) {
    EXPECT_TRUE(Read(absl::StrCat("standby: ", yes)).standby) << yes;
  }
  for (const char* no : {"false", "no", "off", "0", "\"false\"", "\"0\""}) {
    EXPECT_FALSE(Read(absl::StrCat("launch_error: ", no)).launch_error) << no;
  }
  EXPECT_EQ(Read("agent_reconnect_wait: \"25\"").agent_reconnect_timeout, absl::Seconds(25));
  EXPECT_EQ(Read("quotas: [{scope: user, name: 7, max_slots: \"2.5\"}]").quotas.at(0).max_slots,
            2.5);
  EXPECT_EQ(Read("cluster_name: 7").cluster_name, "7");
  EXPECT_EQ(Read("log: {level: INFO}").log_level, "info");
  EXPECT_EQ(Read("db: {host: h, name: 2024}").db_url, "port=5432 host='h' dbname='2024'");
}

TEST(ConfigFileTest, RefusesScalarsOfOtherTypes) {
  EXPECT_EQ(Error("port: \"80a\""),
            "master.yaml:1: port: expected an integer from 0 to 65535, found \"80a\"");
  EXPECT_EQ(Error("port: [8080]"),
            "master.yaml:1: port: expected an integer from 0 to 65535, found a list");
  EXPECT_EQ(Error("port: \"\""),
            "master.yaml:1: port: expected an integer from 0 to 65535, found \"\"");
  EXPECT_EQ(Error("standby: maybe"),
            "master.yaml:1: standby: expected true or false, found \"maybe\"");
  EXPECT_EQ(Error("standby: 2"), "master.yaml:1: standby: expected true or false, found 2");
  EXPECT_EQ(Error("cluster_name: [a]"),
            "master.yaml:1: cluster_name: expected a string, found a list");
  EXPECT_EQ(Error("cluster_name: true"),
            "master.yaml:1: cluster_name: expected a string, found true; put it in quotes");
  // 007 is the number 7: the text of a secret must not change.
  EXPECT_EQ(Error("security: {initial_user_password: 007}"),
            "master.yaml:1: security.initial_user_password: expected a string, found 7; put it in "
            "quotes");
}

TEST(ConfigFileTest, TakesEmptySectionsAsAbsent) {
  for (const char* yaml :
       {"security:\n", "security:\n  tls:\n", "db:\n", "resource_pools:\n", "log: ~\n", "port:\n",
        "feature_switches:\n", "resource_manager:\n  scheduler:\n", "oidc:\n", "logging:\n",
        "__internal:\n", "checkpoint_storage:\n", "task_container_defaults:\n",
        "resource_pools: []\n", "retention_policy: {log_retention_days: }\n"}) {
    EXPECT_EQ(Meaning(yaml), "") << yaml;
  }
}

TEST(ConfigFileTest, ReadsOverrides) {
  const std::vector<const char*> environment = {"DET_DB_HOST=h",
                                                "DET_DB_PORT=5433",
                                                "DET_DB_PASSWORD=007",
                                                "DET_CLUSTER_NAME=variable",
                                                "DET_CHECKPOINT_ROOTS=/a, /b",
                                                "DET_FEATURE_SWITCHES=[x, y]",
                                                "DET_LAUNCH_ERROR=false",
                                                "DET_BIND=",
                                                "DET_USER=u",
                                                "DET_TELEMETRY_ENABLED=false",
                                                "DET_CACHE_DIR=/c",
                                                nullptr};
  std::vector<Override> overrides = FindVariables(ConfigFields(), environment.data());
  overrides.push_back({"--db-name", "db.name", "flag"});
  Config config;
  ASSERT_TRUE(ReadConfigText("{bind: 0.0.0.0, cluster_name: file, db: {host: f, user: f}}", "m",
                             &config, overrides)
                  .ok());
  EXPECT_EQ(config.db_url, "port=5433 host='h' user='f' password='007' dbname='flag'");
  EXPECT_EQ(config.cluster_name, "variable");
  EXPECT_EQ(config.bind, "0.0.0.0");
  EXPECT_THAT(config.checkpoint_roots, ElementsAre("/a", "/b"));
  EXPECT_THAT(config.feature_switches, ElementsAre("x", "y"));
  EXPECT_FALSE(config.launch_error);
  EXPECT_THAT(config.warnings,
              ElementsAre(HasSubstr("DET_TELEMETRY_ENABLED: telemetry: without effect")));
  const absl::Status bad = ReadConfigText("", "m", &config, {{"DET_PORT", "port", "x"}});
  EXPECT_EQ(bad.message(), "DET_PORT: port: expected an integer from 0 to 65535, found \"x\"");
}

TEST(ConfigFileTest, RefusesIdentityProviderOfVariable) {
  const auto read = [](const std::vector<const char*>& variables, const std::string& yaml) {
    std::vector<const char*> environment = variables;
    environment.push_back(nullptr);
    Config config;
    const absl::Status status =
        ReadConfigText(yaml, "m", &config, FindVariables(ConfigFields(), environment.data()));
    return status.ok() ? absl::StrJoin(config.warnings, "\n") : std::string(status.message());
  };
  EXPECT_EQ(read({"DET_SAML_PROVIDER=Okta", "DET_SAML_ENABLED=true"}, ""),
            "DET_SAML_PROVIDER: saml: external identity providers are not supported; remove it");
  EXPECT_EQ(read({"DET_SAML_ENABLED=true", "DET_SAML_PROVIDER=Okta"}, ""),
            "DET_SAML_ENABLED: saml: external identity providers are not supported; remove it");
  EXPECT_THAT(read({"DET_OIDC_ENABLED=yes"}, "oidc: {enabled: false}"),
              HasSubstr("oidc: external identity providers are not supported"));
  EXPECT_THAT(read({"DET_SCIM_ENABLED=off"}, ""),
              HasSubstr("DET_SCIM_ENABLED: scim: without effect"));
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
