#include "master/app/config_fields.h"

#include <utility>

#include "master/app/config_field_rows.h"
#include "master/core/model/field_rows.h"

namespace det::app {
namespace {

using Owner = FileConfig;
using Role = model::Field::Role;
using model::Field;
using model::FieldTarget;
using model::kMaxInt;
using model::MakeChoiceTarget;
using model::MakeDurationTarget;
using model::MakeListTarget;
using model::Section;

// Accepted while `enabled` is not true (config_file.cc).
constexpr char kLogin[] =
    "external identity providers are not supported; refused if `enabled` is true";

#define DET_DATABASE(name, words) \
  { .path = "db." #name, .description = words, .target = DET_AT(db.name), .default_json = "\"\"" }

// Number of checkpoints to keep.
#define DET_KEPT(name, json, words)                                                   \
  {                                                                                   \
    .path = "checkpoint_storage." #name, .description = words,                        \
    .target = DET_AT(config.checkpoint_storage.name), .default_json = json, .min = 0, \
    .max = kMaxInt                                                                    \
  }

#define DET_BUCKET(name, types, words, is_secret)                                                \
  {                                                                                              \
    .path = "checkpoint_storage." #name, .description = words,                                   \
    .target = DET_AT(config.checkpoint_storage.name), .default_json = "\"\"", .only_for = types, \
    .secret = is_secret                                                                          \
  }

constexpr Field kFields[] = {
    {.path = "data_dir",
     .description =
         "Directory for all data of the master. Default: $DET_DATA_DIR, else /var/lib/resolute "
         "for root, else ~/.local/share/resolute.",
     .target = DET_AT(config.data_dir)},
    {.path = "bind",
     .description = "Address to listen on; 0.0.0.0 means all addresses of the machine.",
     .target = DET_AT(config.bind),
     .default_json = "\"127.0.0.1\""},
    {.path = "port",
     .description = "Port for HTTP and gRPC; 0 means any free port. With TLS the default is 8443.",
     .target = DET_AT(config.port),
     .default_json = "8080",
     .min = 0,
     .max = 65535},
    {.path = "cluster_name",
     .description = "Name of the cluster, shown to users.",
     .target = DET_AT(config.cluster_name),
     .default_json = "\"\""},
    {.path = "agent_reconnect_wait",
     .description = "How long an agent may be disconnected before its tasks fail.",
     .target = DET_TARGET(MakeDurationTarget(c.config.agent_reconnect_timeout)),
     .default_json = "3600",
     .min = 0,
     .max = kMaxInt},
    {.path = "standby",
     .description =
         "Whether this master is a standby, which takes over when the leader's lease expires; "
         "requires db.",
     .target = DET_AT(config.standby),
     .default_json = "false"},
    {.path = "checkpoint_roots",
     .description =
         "Folders, buckets (s3://NAME, gcs://NAME, azure://NAME) and servers (https://HOST:PORT) "
         "in which users may store checkpoints. If it is empty, all folders are allowed except "
         "system folders and the data directory. The master accesses a bucket without "
         "credentials, or a server of another provider than Amazon, Google and Microsoft, only "
         "if it is listed here or is the cluster's own.",
     .target = DET_AT(config.checkpoint_roots),
     .default_json = "[]"},
    {.path = "default_compute_resource_pool",
     .description = "Resource pool of experiments that do not set one.",
     .target = DET_AT(config.default_compute_pool),
     .default_json = "\"default\""},
    {.path = "default_aux_resource_pool",
     .description = "Resource pool of tasks without slots that do not set one.",
     .target = DET_AT(config.default_aux_pool),
     .default_json = "\"default\""},
    {.path = "launch_error",
     .description =
         "Whether an experiment that requests more slots than the agents of its pool have "
         "is refused; false: it waits for them, with a warning.",
     .target = DET_AT(config.launch_error),
     .default_json = "true"},

    Section("db",
            "PostgreSQL database, given by url, or by host and the other fields. By default the "
            "master runs an embedded PostgreSQL in the data directory."),
    {.path = "db.url",
     .description = "postgresql://user:password@host:port/name",
     .target = DET_AT(config.db_url),
     .default_json = "\"\"",
     .secret = true},
    DET_DATABASE(host, "Host of the server."),
    {.path = "db.port",
     .description = "Port of the server.",
     .target = DET_AT(db.port),
     .default_json = "5432",
     .min = 1,
     .max = 65535},
    DET_DATABASE(user, "Role to log in as."),
    {.path = "db.password",
     .description = "Password of the role.",
     .target = DET_AT(db.password),
     .default_json = "\"\"",
     .secret = true},
    DET_DATABASE(name, "Database on the server."),
    {.path = "db.ssl_mode",
     .description = "TLS mode of the connection: libpq's sslmode.",
     .target = DET_AT(db.ssl_mode),
     .default_json = "\"\"",
     .choices = "disable|allow|prefer|require|verify-ca|verify-full"},
    DET_DATABASE(ssl_root_cert,
                 "File with the certificate of the authority that signed the "
                 "server's certificate."),
    WithoutEffect("db.migrations", "the migrations are part of the program"),
    WithoutEffect("db.views_and_triggers", "the migrations are part of the program"),

    Section("lease", "Lease that decides which of several masters on one PostgreSQL (db) leads."),
    {.path = "lease.renew_every",
     .description = "How often the leader renews the lease.",
     .target = DET_TARGET(MakeDurationTarget(c.config.lease.renew_every)),
     .default_json = "2",
     .min = 1,
     .max = 3600},
    {.path = "lease.length",
     .description =
         "Time without a renewal after which a standby takes over, and the leader disconnects "
         "its agents; at least twice renew_every, and equal for all masters of a cluster.",
     .target = DET_TARGET(MakeDurationTarget(c.config.lease.length)),
     .default_json = "6",
     .min = 2,
     .max = 86400},

    Section("log", "The master's log."),
    {.path = "log.level",
     .description = "Minimum level of log lines.",
     .target = DET_AT(config.log_level),
     .default_json = "\"info\"",
     .choices = "debug|info|warning|error",
     .removed = "trace: use debug|warn: use warning|fatal: use error"},
    {.path = "log.json",
     .description = "Whether log lines are JSON.",
     .target = DET_AT(config.log_json),
     .default_json = "false"},
    WithoutEffect("log.color", "log lines are never coloured"),

    Section("security", "Authentication and TLS."),
    {.path = "security.initial_user_password",
     .description = "Password of the users admin and determined.",
     .target = DET_AT(config.admin_password),
     .default_json = "\"\"",
     .secret = true},
    {.path = "security.initial_user_password_file",
     .description = "File whose first line is that password.",
     .target = DET_AT(password_file),
     .default_json = "\"\""},
    Section("security.tls", "TLS on the port; plaintext is then refused. See docs/security.md."),
    {.path = "security.tls.cert",
     .description = "PEM file with the master's certificate; reloaded when it changes.",
     .target = DET_AT(config.tls_cert),
     .default_json = "\"\""},
    {.path = "security.tls.key",
     .description = "PEM file with the key of the certificate.",
     .target = DET_AT(config.tls_key),
     .default_json = "\"\""},
    Section("security.authz", "What decides what users may do. See docs/api.md."),
    {.path = "security.authz.type",
     .description =
         "rbac: roles decide. basic: every user may work with everything, and owners and "
         "administrators change the rest; assigned roles have no effect.",
     .target = DET_AT(config.authz.type),
     .default_json = "\"rbac\"",
     .choices = "rbac|basic",
     .removed = "permissive: use basic"},
    {.path = "security.authz.rbac_ui_enabled",
     .description = "Whether clients offer to manage groups and roles also with type basic.",
     .target = DET_AT(config.authz.rbac_ui_enabled),
     .default_json = "false"},
    {.path = "security.authz.strict_job_queue_control",
     .description = "Whether only administrators change the order and the priority of jobs.",
     .target = DET_AT(config.authz.strict_job_queue),
     .default_json = "false"},
    Section("security.authz.workspace_creator_assign_role",
            "The role of users in the workspaces that they create."),
    {.path = "security.authz.workspace_creator_assign_role.enabled",
     .description = "Whether the user who creates a workspace gets a role in it; without one, only "
                    "cluster administrators can assign roles in it.",
     .target = DET_AT(config.authz.assign_role_to_creator),
     .default_json = "true"},
    {.path = "security.authz.workspace_creator_assign_role.role_id",
     .description = "ID of a built-in role that can be assigned in a workspace, as `det rbac "
                    "list-roles` shows it; 2 is WorkspaceAdmin.",
     .target = DET_AT(config.authz.creator_role),
     .default_json = "2"},
    WithoutEffect("security.authz._strict_ntsc_enabled", "tasks have permissions like experiments"),
    WithoutEffect("security.authz.fallback",
                  "every part of this master supports both types, so that there is nothing to fall "
                  "back to; remove it"),
    WithoutEffect("security.default_task", "tasks run as the agent's own user"),
    WithoutEffect("security.ssh", "keys of shells are of the type ED25519"),
    WithoutEffect("security.token", "the lifetime is set for each access token"),

    Section("limits", "Limits for each caller. Tasks and agents are not limited."),
    {.path = "limits.requests_per_second",
     .description = "Calls per second of one token, with bursts of twice as many. Further calls "
                    "get status 429 and the time after which to retry.",
     .target = DET_AT(config.requests_per_second),
     .default_json = "1000",
     .min = 1,
     .max = kMaxInt},
    {.path = "limits.tasks_per_user",
     .description = "Live notebooks, shells and TensorBoards of one user; 0: no limit.",
     .target = DET_AT(config.tasks_per_user),
     .default_json = "0",
     .min = 0,
     .max = kMaxInt},
    {.path = "limits.streams_per_user",
     .description = "Maximum number of open streams (logs, watches) of a user.",
     .target = DET_AT(config.streams_per_user),
     .default_json = "100",
     .min = 1,
     .max = kMaxInt},
    {.path = "limits.body_mib",
     .description = "Maximum size of an HTTP request body in MiB, also after decompression.",
     .target = DET_AT(config.max_body_mib),
     .default_json = "128",
     .min = 1,
     .max = 1024},

    Section("cors", "Web pages of other origins that may call this master from a browser."),
    {.path = "cors.allow_origins",
     .description = "Allowed origins, such as \"https://notebooks.example.org\"; \"*\" is all of "
                    "them.",
     .target = DET_AT(config.allow_origins),
     .default_json = "[]"},

    Section("proxy", "Access to notebooks, TensorBoards and ports of tasks (docs/tasks.md)."),
    {.path = "proxy.direct",
     .description = "Whether the master first tries to connect to the agent's address, which is "
                    "faster than through the agent's connection. Useful only if programs of tasks "
                    "listen on all addresses and the master can reach the ports of agents.",
     .target = DET_AT(config.direct_proxy),
     .default_json = "false"},

    Section("webhooks", "Delivery of webhooks (docs/webhooks.md)."),
    {.path = "webhooks.signing_key",
     .description = "Key for signatures of deliveries, which receivers can verify. By default "
                    "the master generates one and stores it in webhook.key in the data directory.",
     .target = DET_AT(config.webhook_signing_key),
     .default_json = "\"\"",
     .secret = true},
    {.path = "webhooks.base_url",
     .description = "Public URL of this cluster, for links in deliveries.",
     .target = DET_AT(config.webhook_base_url),
     .default_json = "\"\""},
    {.path = "webhooks.allow_private",
     .description = "Whether webhooks may use private, loopback and link-local addresses. Users "
                    "who create webhooks can then reach everything that the master can reach.",
     .target = DET_AT(config.webhook_allow_private),
     .default_json = "false"},
    {.path = "webhooks.allow_networks",
     .description = "Private networks that webhooks may use: \"10.1.0.0/16\", \"fd00::/8\".",
     .target = DET_AT(config.webhook_networks),
     .default_json = "[]"},

    Section("retention_policy", "Retention of logs and audit records; applied every hour."),
    {.path = "retention_policy.log_retention_days",
     .description = "Days to keep the logs of a trial after its end, unless the experiment or a "
                    "user sets another value; -1 means forever.",
     .target = DET_AT(config.log_days),
     .default_json = "-1",
     .min = -1,
     .max = 32767},
    {.path = "retention_policy.audit_retention_days",
     .description = "Days to keep audit records; -1 means forever.",
     .target = DET_AT(config.audit_days),
     .default_json = "-1",
     .min = -1,
     .max = 32767},
    WithoutEffect("retention_policy.schedule", "expired data is removed every hour"),

    Section("checkpoint_storage",
            "Default storage and retention of checkpoints for experiments; settings of a "
            "workspace override it."),
    {.path = "checkpoint_storage.type",
     .description =
         "shared_fs: a directory that all agents and the master mount at the same path; s3, gcs, "
         "azure: a bucket.",
     .target = DET_AT(config.checkpoint_storage.type),
     .default_json = "\"shared_fs\"",
     .choices = "shared_fs|s3|gcs|azure",
     .kind = true},
    {.path = "checkpoint_storage.host_path",
     .description = "Absolute path of the directory. Default: checkpoints/ in the data directory.",
     .target = DET_AT(config.checkpoint_storage.host_path),
     .default_json = "\"\"",
     .only_for = "shared_fs"},
    {.path = "checkpoint_storage.storage_path",
     .description = "Directory below host_path.",
     .target = DET_AT(config.checkpoint_storage.storage_path),
     .default_json = "\"\"",
     .only_for = "shared_fs"},
    {.path = "checkpoint_storage.bucket",
     .description = "Name of the bucket.",
     .target = DET_AT(config.checkpoint_storage.bucket),
     .required = true,
     .only_for = "s3|gcs"},
    DET_BUCKET(prefix, "s3|gcs", "Prefix of all object keys.", false),
    DET_BUCKET(access_key, "s3", "Access key. Default: credentials of the machine.", true),
    DET_BUCKET(secret_key, "s3", "Secret of access_key.", true),
    DET_BUCKET(endpoint_url, "s3", "URL of an S3-compatible server.", false),
    {.path = "checkpoint_storage.container",
     .description = "Name of the container.",
     .target = DET_AT(config.checkpoint_storage.container),
     .required = true,
     .only_for = "azure"},
    DET_BUCKET(connection_string, "azure", "Connection string; alternative to account_url.", true),
    DET_BUCKET(account_url, "azure",
               "URL of the storage account; alternative to "
               "connection_string.",
               false),
    DET_BUCKET(credential, "azure", "Credential for account_url.", true),
    DET_KEPT(save_experiment_best, "0", "Number of best checkpoints of an experiment to keep."),
    DET_KEPT(save_trial_best, "1", "Number of best checkpoints of each trial to keep."),
    DET_KEPT(save_trial_latest, "1", "Number of latest checkpoints of each trial to keep."),
    WithoutEffect("checkpoint_storage.propagation", "tasks are processes and mount nothing"),
    WithoutEffect("checkpoint_storage.container_path", "tasks see host_path itself"),
    WithoutEffect("checkpoint_storage.checkpoint_path", "storage_path is relative to host_path"),
    WithoutEffect("checkpoint_storage.tensorboard_path", "it has no effect"),
};

constexpr char kElastic[] = "task logs are stored in the database";

// Fields that the page lists after those of resources.
constexpr Field kMoreFields[] = {
    Removed("scheduler", "was moved; write it as resource_manager.scheduler"),
    WithoutEffect("determined_master_ip", "tasks use the address of their agent's master"),
    Removed("provisioner",
            "this master does not start machines; remove it, and start agents with --pool"),
    Removed("default_cpu_resource_pool", kAuxPool),
    Removed("default_gpu_resource_pool", kComputePool),
    Removed("additional_resource_managers", "only agents of this cluster are supported; remove it"),
    {.path = "task_container_defaults",
     .description = "Defaults for the configuration of all experiments; templates and "
                    "configurations override them. Its fields are listed at the end of this page.",
     .target = DET_TARGET(&c.task_defaults),
     .default_json = "null"},
    Section("logging", "Where the logs of tasks are stored."),
    {.path = "logging.type",
     .description = "default: the database.",
     .target = DET_AT(logging_type),
     .default_json = "\"default\"",
     .choices = "default",
     .removed = "elastic: use default, task logs are stored in the database"},
    WithoutEffect("logging.host", kElastic),
    WithoutEffect("logging.port", kElastic),
    WithoutEffect("logging.security", kElastic),
    WithoutEffect("config_file", "the file is chosen with --config or $DET_CONFIG_FILE"),
    WithoutEffect("root", "the dashboard is part of the installation; --webui chooses another one"),
    WithoutEffect("saml", kLogin),
    WithoutEffect("oidc", kLogin),
    WithoutEffect("scim", kLogin),
    WithoutEffect("telemetry", "this master sends no telemetry"),
    WithoutEffect("enable_cors", "use cors.allow_origins"),
    WithoutEffect("observability", "/metrics is always enabled"),
    Section("cache", "Deprecated."),
    WithoutEffect("cache.cache_dir", "there is no file cache"),
    WithoutEffect("ui_customization", "logos cannot be changed"),
    {.path = "feature_switches",
     .description = "Optional features: \"streaming_updates\" is the websocket /stream, over which "
                    "clients follow projects, models and model versions. Clients get the list; "
                    "other names have no effect.",
     .target = DET_AT(config.feature_switches),
     .default_json = "[]"},
    WithoutEffect("integrations", "there are none"),
    WithoutEffect("reserved_ports", "tasks use free ports"),
    {.path = "tensorboard_timeout",
     .description = "Seconds without a request after which a TensorBoard ends that sets no "
                    "idle_timeout; 0: it does not end.",
     .target = DET_AT(config.tensorboard_timeout),
     .default_json = "300",
     .min = 0,
     .max = kMaxInt},
    {.path = "notebook_timeout",
     .description = "Seconds without activity after which a notebook ends that sets no "
                    "idle_timeout; 0: it does not end.",
     .target = DET_AT(config.notebook_timeout),
     .default_json = "0",
     .min = 0,
     .max = kMaxInt},
    WithoutEffect("det_cloud", "there is none"),
    Section("__internal", "Deprecated."),
    Removed("__internal.preemption_timeout",
            "was moved; write it as task_container_defaults.preemption_timeout"),
    Removed("__internal.external_sessions",
            "external identity providers are not supported; remove it"),
    Removed("__internal.proxied_servers",
            "this master does not forward requests to other servers; remove it, and use a proxy"),
    WithoutEffect(
        "__internal.audit_logging_enabled",
        "every change is recorded; retention_policy.audit_retention_days limits how long"),
};

#undef DET_DATABASE
#undef DET_KEPT
#undef DET_BUCKET

}  // namespace

const model::FieldTable& ConfigFields() {
  static const auto* const table = [] {
    std::vector<Field> fields(std::begin(kFields), std::end(kFields));
    const std::vector<Field> resources = ResourceFields();
    fields.insert(fields.end(), resources.begin(), resources.end());
    fields.insert(fields.end(), std::begin(kMoreFields), std::end(kMoreFields));
    return new model::FieldTable(std::move(fields), new FileConfig);
  }();
  return *table;
}

}  // namespace det::app
