#include "master/app/config.h"

#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/installation.h"
#include "master/app/config_fields.h"
#include "master/app/config_file.h"
#include "master/app/config_overrides.h"
#include <CLI/CLI.hpp>

namespace det::app {
namespace {

// Where packages of Determined have it.
constexpr char kDefaultFile[] = "/etc/determined/master.yaml";
constexpr int kPort = 8080;
constexpr int kTlsPort = 8443;
constexpr int kNoPort = -1;

// Before anything is logged.
Config IsUnset() {
  Config config;
  config.data_dir = base::GetDefaultDataDir();
  config.port = kNoPort;
  return config;
}

// CLI11 throws exceptions; they are caught here.
Exit Report(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() == 0) return {app.exit(error)};
  std::cerr << "resolute-master: " << error.what() << "; see resolute-master --help\n";
  return {2};
}

// A flag that sets a field of the file, and is not shown in help.
struct FieldFlag {
  std::string name;
  std::string path;
  bool is_switch = false;  // may be given without a value
  std::string text;
};

// Reads further files that flags name.
struct Files {
  std::string config;
  std::string admin_password;
  std::string user_password;
  std::vector<FieldFlag> field_flags;
  std::optional<std::vector<Override>> overrides;  // of the first reading of the flags
  std::optional<BackupOrder> backup;
  bool check = false;
};

void AddBackupCommands(CLI::App& app, BackupOrder* order) {
  app.fallthrough();
  auto* backup = app.add_subcommand(
      "backup", "Back up the cluster in --data-dir to a file, also while it runs");
  backup->add_option("FILE", order->file, "Backup file; written completely or not at all")
      ->required();
  auto* restore = app.add_subcommand("restore",
                                     "Restore the cluster in --data-dir from a backup "
                                     "file");
  restore->add_option("FILE", order->file, "Backup file")->required();
  restore->add_flag("--replace", order->replace, "Overwrite an existing cluster");
  app.require_subcommand(0, 1);
}

// Sets the file if no flag did. Returns whether it is only the default.
bool FindConfigFile(std::string* file) {
  if (!file->empty()) return false;
  if (const char* variable = ::getenv("DET_CONFIG_FILE")) *file = variable;
  // A file that cannot be read must not be skipped: the reader reports it.
  if (!file->empty() || ::access(kDefaultFile, F_OK) != 0) return false;
  *file = kDefaultFile;
  return true;
}

std::string IsAbsolute(const std::string& path) {
  return path.starts_with('/') ? "" : path + " is relative; start it with /";
}

// Sources of a password, in order of precedence: flag, file, environment, configuration file.
struct PasswordSource {
  const char* file_flag;
  std::string file;
  const char* variable;
  std::string configured;
};
absl::Status FindPassword(const PasswordSource& source, std::string* password) {
  const char* variable = ::getenv(source.variable);
  const std::string from_environment = variable == nullptr ? "" : variable;
  // Read and cleared, since child processes would inherit it.
  ::unsetenv(source.variable);
  if (!password->empty()) return absl::OkStatus();
  if (source.file.empty()) {
    *password = from_environment.empty() ? source.configured : from_environment;
    return absl::OkStatus();
  }
  const absl::StatusOr<std::string> read = ReadPasswordFile(source.file);
  if (!read.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(source.file_flag, ": ", read.status().message()));
  }
  *password = *read;
  return absl::OkStatus();
}

// `configured`: the password from the configuration file, for both users.
absl::Status FindPasswords(const Files& files, const std::string& configured, Config* config) {
  const absl::Status admin = FindPassword(
      {"--admin-password-file", files.admin_password, "DET_ADMIN_PASSWORD", configured},
      &config->admin_password);
  const absl::Status user =
      FindPassword({"--user-password-file", files.user_password, "DET_USER_PASSWORD", configured},
                   &config->user_password);
  return admin.ok() ? user : admin;
}

void AddPasswordFlags(CLI::App& app, Config* config, Files* files) {
  auto* admin = app.add_option("--admin-password-file", files->admin_password,
                               "Set the password of user admin to the first line of this file");
  app.add_option("--admin-password", config->admin_password,
                 "Password of user admin, visible in the process list; prefer "
                 "--admin-password-file or $DET_ADMIN_PASSWORD")
      ->excludes(admin);
  auto* user = app.add_option("--user-password-file", files->user_password,
                              "Set the password of user determined to the first line of this "
                              "file; or use $DET_USER_PASSWORD");
  app.add_option("--user-password", config->user_password,
                 "Password of user determined, visible "
                 "in the process list")
      ->excludes(user);
  app.add_flag("--make-passwords", config->generate_passwords,
               "Generate passwords for these users if they have none, and write them to "
               "passwords.new in the data directory");
  app.add_flag("--allow-blank-passwords", config->allow_blank_passwords,
               "Allow empty passwords; initial passwords are then empty, so that everybody who "
               "can reach this master is an administrator");
}

absl::Status CheckStandby(const Config& config) {
  if (!config.standby || !config.db_url.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "--standby: a master without --db-url uses an embedded PostgreSQL, which no other master can "
      "use; give all masters of the cluster the same --db-url");
}

// A backup contains the embedded database.
absl::Status CheckBackup(const BackupOrder& order, const Config& config) {
  if (config.db_url.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      order.restore ? "restore" : "backup",
      ": this master's database is not embedded in the data directory but set by --db-url or db; "
      "use PostgreSQL's pg_dump and pg_restore, or set --config /dev/null for the embedded one"));
}

absl::Status CheckTls(const Config& config) {
  if (config.tls_cert.empty() != config.tls_key.empty()) {
    return absl::InvalidArgumentError(
        "--tls-cert and --tls-key (security.tls.cert and .key) must be set together; set both or "
        "neither");
  }
  if (config.tls_client_ca.empty() || !config.tls_cert.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "--tls-client-ca (resource_manager.client_ca): client certificates require TLS; set "
      "--tls-cert "
      "and --tls-key too");
}

void AddTlsFlags(CLI::App& app, Config* config) {
  app.add_option("--tls-cert", config->tls_cert,
                 "PEM file with this master's certificate: enables TLS on the port. Reloaded "
                 "when it changes");
  app.add_option("--tls-key", config->tls_key, "PEM file with the key of the certificate");
  app.add_option("--tls-client-ca", config->tls_client_ca,
                 "PEM file with the authority that must sign agents' certificates; without it, "
                 "agents need only a token");
}

// Flags of Determined's master below a field without effect.
constexpr std::pair<const char*, const char*> kUnusedFlags[] = {
    {"telemetry", "--telemetry-enabled"},
    {"telemetry", "--telemetry-segment-master-key"},
    {"telemetry", "--telemetry-segment-webui-key"},
    {"telemetry", "--telemetry-otel-enabled"},
    {"telemetry", "--telemetry-otel-endpoint"},
    {"security.default_task", "--security-default-task-user"},
    {"security.default_task", "--security-default-task-uid"},
    {"security.default_task", "--security-default-task-group"},
    {"security.default_task", "--security-default-task-gid"}};

// Flags of fields without a flag in help, such as --db-host.
void AddFieldFlags(CLI::App& app, std::vector<FieldFlag>* flags) {
  flags->clear();
  for (const auto& [path, flag] : kUnusedFlags) flags->push_back({flag, path, true, ""});
  for (const model::Field& field : ConfigFields().fields()) {
    const std::string path = field.path;
    const bool unused = field.role == model::Field::Role::kIgnored;
    if (path.find("[]") != path.npos || (field.role != model::Field::Role::kValue && !unused)) {
      continue;
    }
    const std::string_view value = field.default_json == nullptr ? "" : field.default_json;
    const std::string flag = GetFlagName(path);
    // The flag of __internal.x would begin with three dashes.
    if (path.starts_with('_') || app.get_option_no_throw(flag) != nullptr) continue;
    flags->push_back({flag, path, unused || value == "true" || value == "false", ""});
  }
  for (FieldFlag& flag : *flags) {
    CLI::Option* option = app.add_option(flag.name, flag.text)->group("");
    // CLI11's errors have no name of a hidden flag, but its type.
    option->type_name("value of " + flag.name);
    if (flag.is_switch) option->expected(0, 1);
  }
}

// Returns what the environment and the flags of AddFieldFlags() set. The variables of secrets are
// removed, since child processes would inherit them.
std::vector<Override> FindOverrides(const CLI::App& app, const Files& files) {
  std::vector<Override> overrides = FindVariables(ConfigFields(), environ);
  std::erase_if(overrides, [](const Override& each) { return each.path == "config_file"; });
  for (const std::string& name : GetSecretVariables(ConfigFields())) ::unsetenv(name.c_str());
  for (const FieldFlag& flag : files.field_flags) {
    if (app.count(flag.name) == 0) continue;
    const bool on = flag.is_switch && flag.text.empty();
    overrides.push_back({flag.name, flag.path, on ? "true" : flag.text});
  }
  return overrides;
}

// Applies the flags to `config`. Returns nullopt on success.
std::optional<Exit> ReadFlags(int argc, char** argv, Config* config, Files* files) {
  double reconnect_timeout_s = absl::ToDoubleSeconds(config->agent_reconnect_timeout);
  CLI::App app(
      "The master of a Resolute cluster: stores experiments, schedules trials, serves the API.",
      "resolute-master");
  app.set_version_flag("--version", std::string("resolute-master ") + base::kVersion);
  app.add_option("--config,--config-file", files->config,
                 "Configuration file with these settings, resource pools, quotas and more "
                 "(docs/reference/master-config.md); flags and DET_* variables override it. "
                 "Default: $DET_CONFIG_FILE, else /etc/determined/master.yaml if it exists");
  app.add_option("--data-dir", config->data_dir, "Directory for all data of this master")
      ->capture_default_str();
  app.add_option("--port", config->port,
                 "Port for HTTP and gRPC; 0: any free port (default: 8080, with TLS 8443)")
      ->check(CLI::Range(0, 65535));
  app.add_option("--bind", config->bind, "Address to listen on; 0.0.0.0: all addresses")
      ->capture_default_str();
  AddTlsFlags(app, config);
  app.add_option("--webui", config->webui,
                 "Folder of the dashboard (bazel build //webui:dist); default: webui/ beside "
                 "this program, if it exists");
  app.add_option("--db-url", config->db_url,
                 "URL of a PostgreSQL database (postgresql://...); default: embedded in the data "
                 "directory");
  app.add_option("--checkpoint-dir", config->checkpoint_storage.host_path,
                 "Where trials save checkpoints by default; without: checkpoints/ in the data "
                 "directory");
  app.add_option("--checkpoint-root", config->checkpoint_roots,
                 "Folder in which users may store checkpoints (checkpoint_storage.host_path); "
                 "may be repeated. Default: anywhere except system folders and the data directory")
      ->allow_extra_args(false)
      ->check(IsAbsolute, "absolute");
  app.add_option("--cluster-name", config->cluster_name, "Name of the cluster, shown to users");
  AddPasswordFlags(app, config, files);
  app.add_option("--agent-patience", reconnect_timeout_s,
                 "Seconds an agent may be disconnected before its tasks fail")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_flag("--standby", config->standby,
               "Stand by: take over when the lease of the leading master expires; needs --db-url");
  app.add_flag("--check", files->check,
               "Check flags and configuration file, print the master's URL, and exit");
  app.add_flag("--log-json", config->log_json, "Write log lines as JSON");
  app.add_option("--log-level", config->log_level,
                 "Minimum log level: debug, info, warning or "
                 "error")
      ->check(CLI::IsMember({"debug", "info", "warning", "error"}))
      ->capture_default_str();
  AddFieldFlags(app, &files->field_flags);
  BackupOrder order;
  AddBackupCommands(app, &order);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return Report(app, error);
  }
  config->agent_reconnect_timeout = absl::Seconds(reconnect_timeout_s);
  if (files->overrides == std::nullopt) files->overrides = FindOverrides(app, *files);
  if (!app.get_subcommands().empty()) {
    order.restore = app.got_subcommand("restore");
    order.data_dir = config->data_dir;
    files->backup = order;
  }
  return std::nullopt;
}

}  // namespace

std::variant<Config, BackupOrder, Exit> ParseFlags(int argc, char** argv) {
  Config config = IsUnset();
  Files files;
  if (const auto exit = ReadFlags(argc, argv, &config, &files)) return *exit;
  std::string configured_password;
  absl::Status status;
  const bool implied = FindConfigFile(&files.config);
  if (!files.config.empty() || !files.overrides->empty()) {
    config = IsUnset();
    status = files.config.empty() ? ReadConfigText("", "environment", &config, *files.overrides)
                                  : ReadConfigFile(files.config, &config, *files.overrides);
    if (implied)
      config.warnings.push_back(absl::StrCat("reads ", files.config,
                                             "; choose another "
                                             "file with --config"));
    configured_password = std::exchange(config.admin_password, "");
    // Parsed again, to override the file.
    if (status.ok()) (void)ReadFlags(argc, argv, &config, &files);
  }
  if (status.ok() && files.backup) status = CheckBackup(*files.backup, config);
  if (status.ok() && files.backup) return *files.backup;
  if (status.ok()) status = CheckStandby(config);
  if (status.ok()) status = CheckTls(config);
  if (config.port == kNoPort) config.port = config.tls_cert.empty() ? kPort : kTlsPort;
  if (status.ok()) status = FindPasswords(files, configured_password, &config);
  if (status.ok() && files.check) {
    std::cout << (config.tls_cert.empty() ? "http://" : "https://") << config.bind << ":"
              << config.port << "\n";
    return Exit{0};
  }
  if (status.ok()) return config;
  std::cerr << "resolute-master: " << status.message() << "\n";
  return Exit{2};
}

}  // namespace det::app
