#include "master/app/config_fields.h"

#include <utility>

#include "master/app/config_field_rows.h"
#include "master/core/model/field_rows.h"

namespace det::app {
namespace {

using Owner = FileConfig;
using Role = model::Field::Role;
using model::ChoiceOf;
using model::DurationOf;
using model::Field;
using model::FieldTarget;
using model::kMaxInt;
using model::ListOf;
using model::Section;

constexpr char kLogin[] = "people log in with names and passwords of this master; remove it";

#define DET_DATABASE(name, words) \
  { .path = "db." #name, .description = words, .target = DET_AT(db.name), .default_json = "\"\"" }

// How many checkpoints are kept.
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
         "Everything this master keeps; by default $DET_DATA_DIR, or /var/lib/resolute for "
         "root, or ~/.local/share/resolute.",
     .target = DET_AT(config.data_dir)},
    {.path = "bind",
     .description = "Address to listen on; 0.0.0.0 is all of the machine's.",
     .target = DET_AT(config.bind),
     .default_json = "\"127.0.0.1\""},
    {.path = "port",
     .description = "HTTP and gRPC; 0 is any free one. With TLS the default is 8443.",
     .target = DET_AT(config.port),
     .default_json = "8080",
     .min = 0,
     .max = 65535},
    {.path = "cluster_name",
     .description = "Shown to users.",
     .target = DET_AT(config.cluster_name),
     .default_json = "\"\""},
    {.path = "agent_reconnect_wait",
     .description = "How long an agent may be away before its tasks are given up.",
     .target = DET_TARGET(DurationOf(c.config.agent_patience)),
     .default_json = "3600",
     .min = 0,
     .max = kMaxInt},
    {.path = "standby",
     .description =
         "Whether this master waits until the one that leads gives no more signs of life, "
         "and then takes over; needs db.",
     .target = DET_AT(config.standby),
     .default_json = "false"},
    {.path = "checkpoint_roots",
     .description =
         "Folders below which users may keep checkpoints, and buckets (s3://NAME, "
         "gcs://NAME, azure://NAME); empty is anywhere but the system's folders and the "
         "data directory. To a bucket without credentials of its own, and to a server "
         "(https://HOST:PORT) of others than Amazon, Google and Microsoft, the master goes "
         "only if it is named here or the cluster's own.",
     .target = DET_AT(config.checkpoint_roots),
     .default_json = "[]"},
    {.path = "default_compute_resource_pool",
     .description = "Where experiments run that name no pool.",
     .target = DET_AT(config.default_compute_pool),
     .default_json = "\"default\""},
    {.path = "default_aux_resource_pool",
     .description = "Where tasks without slots run that name no pool.",
     .target = DET_AT(config.default_aux_pool),
     .default_json = "\"default\""},

    Section("db",
            "A PostgreSQL to use: by its url, or by host and what else is needed. Without, "
            "the master runs one of its own in the data directory."),
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
     .description = "As libpq's sslmode.",
     .target = DET_AT(db.ssl_mode),
     .default_json = "\"\"",
     .choices = "disable|allow|prefer|require|verify-ca|verify-full"},
    DET_DATABASE(ssl_root_cert, "File with the certificate of who signed the server's."),

    Section("lease", "How masters on one PostgreSQL (db) know which of them leads."),
    {.path = "lease.renew_every",
     .description = "How often the leader gives a sign of life.",
     .target = DET_TARGET(DurationOf(c.config.lease.renew_every)),
     .default_json = "2",
     .min = 1,
     .max = 3600},
    {.path = "lease.length",
     .description =
         "After how long without one a standby takes over, and a leader that cannot give "
         "one lets its agents go; at least twice renew_every, and the same for all "
         "masters of a cluster.",
     .target = DET_TARGET(DurationOf(c.config.lease.length)),
     .default_json = "6",
     .min = 2,
     .max = 86400},

    Section("log", "What the master writes about itself."),
    {.path = "log.level",
     .description = "The least that is written.",
     .target = DET_AT(config.log_level),
     .default_json = "\"info\"",
     .choices = "debug|info|warning|error",
     .gone = "trace: use debug|warn: use warning|fatal: use error"},
    {.path = "log.json",
     .description = "Whether lines are JSON.",
     .target = DET_AT(config.log_json),
     .default_json = "false"},
    WithoutEffect("log.color", "nothing is coloured"),

    Section("security", "Who may come in."),
    {.path = "security.initial_user_password",
     .description = "Password of the users admin and determined.",
     .target = DET_AT(config.admin_password),
     .default_json = "\"\"",
     .secret = true},
    {.path = "security.initial_user_password_file",
     .description = "A file whose first line it is.",
     .target = DET_AT(password_file),
     .default_json = "\"\""},
    Section("security.tls", "TLS on the port, which then speaks nothing else: docs/security.md."),
    {.path = "security.tls.cert",
     .description = "PEM file with the master's certificate; read again when it has changed.",
     .target = DET_AT(config.tls_cert),
     .default_json = "\"\""},
    {.path = "security.tls.key",
     .description = "PEM file with its key.",
     .target = DET_AT(config.tls_key),
     .default_json = "\"\""},
    Gone("security.authz", kNotYet),
    WithoutEffect("security.default_task", "tasks run as the agent's own user"),
    WithoutEffect("security.ssh", "there are no shells yet"),
    WithoutEffect("security.token", "each access token says how long it lasts"),

    Section("limits", "How much one caller may ask for. Tasks and agents are not limited."),
    {.path = "limits.requests_per_second",
     .description = "Calls by one token; twice as many at once. What is more is answered by 429 "
                    "and when to come back.",
     .target = DET_AT(config.requests_per_second),
     .default_json = "1000",
     .min = 1,
     .max = kMaxInt},
    {.path = "limits.streams_per_user",
     .description = "Streams (logs, watches) that a user may have open.",
     .target = DET_AT(config.streams_per_user),
     .default_json = "100",
     .min = 1,
     .max = kMaxInt},
    {.path = "limits.body_mib",
     .description = "MiB of one HTTP request's body, also after it is unpacked.",
     .target = DET_AT(config.max_body_mib),
     .default_json = "128",
     .min = 1,
     .max = 1024},

    Section("cors", "Which web pages of other sites may call this master from a browser."),
    {.path = "cors.allow_origins",
     .description = "Their origins, such as \"https://notebooks.example.org\"; \"*\" is all of "
                    "them.",
     .target = DET_AT(config.allow_origins),
     .default_json = "[]"},

    Section("webhooks", "How webhooks are told (docs/webhooks.md)."),
    {.path = "webhooks.signing_key",
     .description = "Signs what is sent, so that receivers can tell it from what others send. "
                    "Without, the master makes one and keeps it: webhook.key in the data "
                    "directory.",
     .target = DET_AT(config.webhook_signing_key),
     .default_json = "\"\"",
     .secret = true},
    {.path = "webhooks.base_url",
     .description = "Where people open this cluster, for links in what is sent.",
     .target = DET_AT(config.webhook_base_url),
     .default_json = "\"\""},
    {.path = "webhooks.allow_private",
     .description = "Whether webhooks may lead to private, loopback and link-local addresses. "
                    "Whoever makes a webhook then reaches what the master reaches.",
     .target = DET_AT(config.webhook_allow_private),
     .default_json = "false"},
    {.path = "webhooks.allow_networks",
     .description = "Private networks that they may lead to: \"10.1.0.0/16\", \"fd00::/8\".",
     .target = DET_AT(config.webhook_networks),
     .default_json = "[]"},

    Section("retention_policy", "How long things are kept; looked at every hour."),
    {.path = "retention_policy.log_retention_days",
     .description = "Days after a trial's end for which its logs are kept, where neither its "
                    "experiment nor anybody since says otherwise; -1 is for ever.",
     .target = DET_AT(config.log_days),
     .default_json = "-1",
     .min = -1,
     .max = 32767},
    {.path = "retention_policy.audit_retention_days",
     .description = "Days for which it is known who changed what; -1 is for ever.",
     .target = DET_AT(config.audit_days),
     .default_json = "-1",
     .min = -1,
     .max = 32767},
    WithoutEffect("retention_policy.schedule", "what is too old is looked for every hour"),

    Section("checkpoint_storage",
            "Where checkpoints lie and how many are kept: what experiments are given that do not "
            "say it, below what their workspace says."),
    {.path = "checkpoint_storage.type",
     .description =
         "shared_fs: a directory that every agent and the master see under one path; s3, "
         "gcs, azure: a bucket.",
     .target = DET_AT(config.checkpoint_storage.type),
     .default_json = "\"shared_fs\"",
     .choices = "shared_fs|s3|gcs|azure",
     .kind = true},
    {.path = "checkpoint_storage.host_path",
     .description = "The directory, absolute; by default checkpoints/ in the data directory.",
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
    DET_BUCKET(prefix, "s3|gcs", "What every key begins with.", false),
    DET_BUCKET(access_key, "s3", "By default what the machine's own account may do.", true),
    DET_BUCKET(secret_key, "s3", "Goes with access_key.", true),
    DET_BUCKET(endpoint_url, "s3", "Of a server that speaks as S3 does.", false),
    {.path = "checkpoint_storage.container",
     .description = "Name of the container.",
     .target = DET_AT(config.checkpoint_storage.container),
     .required = true,
     .only_for = "azure"},
    DET_BUCKET(connection_string, "azure", "This, or account_url.", true),
    DET_BUCKET(account_url, "azure", "This, or connection_string.", false),
    DET_BUCKET(credential, "azure", "Goes with account_url.", true),
    DET_KEPT(save_experiment_best, "0", "Best checkpoints of an experiment that are kept."),
    DET_KEPT(save_trial_best, "1", "Best checkpoints of each trial that are kept."),
    DET_KEPT(save_trial_latest, "1", "Latest checkpoints of each trial that are kept."),
    WithoutEffect("checkpoint_storage.propagation", "tasks are processes and mount nothing"),
    WithoutEffect("checkpoint_storage.container_path", "tasks see host_path itself"),
    WithoutEffect("checkpoint_storage.checkpoint_path", "storage_path is what is below host_path"),
    WithoutEffect("checkpoint_storage.tensorboard_path", "nothing reads it"),
};

// What stands behind the resources.
constexpr Field kMoreFields[] = {
    Gone("additional_resource_managers", "there is one, of this cluster's agents; remove it"),
    {.path = "task_container_defaults",
     .description = "What every experiment is given, below its template and its own configuration, "
                    "in the keys that stand at the end of this page.",
     .target = DET_TARGET(&c.task_defaults),
     .default_json = "null"},
    Gone("logging", "logs of tasks are kept in the database; remove it"),
    Gone("root", "the master answers at the root of its address; let a proxy map the path"),
    Gone("saml", kLogin),
    Gone("oidc", kLogin),
    Gone("scim", kLogin),
    WithoutEffect("telemetry", "this master tells nobody anything"),
    WithoutEffect("enable_cors", "cors.allow_origins names those whose pages may call"),
    WithoutEffect("launch_error", "what can never run is always refused"),
    WithoutEffect("observability", "/metrics is always there"),
    WithoutEffect("cache", "nothing is cached in files"),
    WithoutEffect("ui_customization", "there are no logos to change"),
    WithoutEffect("feature_switches", "there are none"),
    WithoutEffect("integrations", "there are none"),
    WithoutEffect("reserved_ports", "tasks use free ports"),
    WithoutEffect("tensorboard_timeout", "there are no TensorBoards yet"),
    WithoutEffect("notebook_timeout", "there are no notebooks yet"),
    WithoutEffect("det_cloud", "there is none"),
    WithoutEffect("__internal", "nothing reads it"),
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
