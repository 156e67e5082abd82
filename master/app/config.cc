#include "master/app/config.h"

#include <cstdlib>
#include <iostream>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "base/install.h"
#include "master/app/config_file.h"
#include <CLI/CLI.hpp>

namespace det::app {
namespace {

constexpr int kPort = 8080;
constexpr int kTlsPort = 8443;
constexpr int kNoPort = -1;

// Before anything is said.
Config Unsaid() {
  Config config;
  config.data_dir = base::DefaultDataDir();
  config.port = kNoPort;
  return config;
}

// CLI11 reports by exceptions; they end here.
Exit Report(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() == 0) return {app.exit(error)};
  std::cerr << "resolute-master: " << error.what() << "; see resolute-master --help\n";
  return {2};
}

// Further files that flags name.
struct Files {
  std::string config;
  std::string admin_password;
  std::string user_password;
  std::optional<BackupOrder> backup;
  bool check = false;
};

void AddBackupCommands(CLI::App& app, BackupOrder* order) {
  app.fallthrough();
  auto* backup = app.add_subcommand(
      "backup", "Write the cluster in --data-dir into one file, also while it runs");
  backup->add_option("FILE", order->file, "Written whole or not at all")->required();
  auto* restore = app.add_subcommand("restore", "Make the cluster in --data-dir from such a file");
  restore->add_option("FILE", order->file, "What backup wrote")->required();
  restore->add_flag("--replace", order->replace, "Even if there is a cluster, which is then lost");
  app.require_subcommand(0, 1);
}

std::string IsAbsolute(const std::string& path) {
  return path.starts_with('/') ? "" : path + " is relative; start it with /";
}

// Where a password may come from; its flag wins, then its file, the environment and the
// configuration file.
struct PasswordSource {
  const char* file_flag;
  std::string file;
  const char* variable;
  std::string configured;
};
absl::Status FindPassword(const PasswordSource& source, std::string* password) {
  const char* variable = ::getenv(source.variable);
  const std::string from_environment = variable == nullptr ? "" : variable;
  // Read once: whatever is started from here would inherit it.
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

// `configured`: what the configuration file says, for both.
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
                 "The same, in sight of everybody who lists this machine's processes; better use "
                 "--admin-password-file or $DET_ADMIN_PASSWORD")
      ->excludes(admin);
  auto* user = app.add_option("--user-password-file", files->user_password,
                              "Set that of user determined; or use $DET_USER_PASSWORD");
  app.add_option("--user-password", config->user_password, "The same, in sight of everybody")
      ->excludes(user);
  app.add_flag("--make-passwords", config->make_passwords,
               "Make passwords for those of the two who have none, and leave them in the file "
               "passwords.new of the data directory, for whoever reads and removes it");
  app.add_flag("--allow-blank-passwords", config->allow_blank_passwords,
               "Let users have empty passwords; the first ones are then empty, and everybody who "
               "reaches this master is its administrator");
}

absl::Status CheckStandby(const Config& config) {
  if (!config.standby || !config.db_url.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "--standby: a master without --db-url has a PostgreSQL of its own, which ends with it and "
      "holds "
      "nothing of another's; give all masters of the cluster the same --db-url");
}

absl::Status CheckTls(const Config& config) {
  if (config.tls_cert.empty() != config.tls_key.empty()) {
    return absl::InvalidArgumentError(
        "--tls-cert and --tls-key (security.tls.cert and .key) belong together; give both or "
        "neither");
  }
  if (config.tls_client_ca.empty() || !config.tls_cert.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "--tls-client-ca (resource_manager.client_ca): agents show certificates over TLS alone; give "
      "--tls-cert and --tls-key too");
}

void AddTlsFlags(CLI::App& app, Config* config) {
  app.add_option("--tls-cert", config->tls_cert,
                 "PEM file with this master's certificate: the port speaks TLS and nothing else. "
                 "Read again when it has changed");
  app.add_option("--tls-key", config->tls_key, "PEM file with its key");
  app.add_option("--tls-client-ca", config->tls_client_ca,
                 "PEM file with the authority by which agents must show certificates; without, "
                 "their token is enough");
}

// Puts what the flags say over what `config` holds. Nothing if all is well.
std::optional<Exit> ReadFlags(int argc, char** argv, Config* config, Files* files) {
  double patience = absl::ToDoubleSeconds(config->agent_patience);
  CLI::App app(
      "The master of a Resolute cluster: keeps experiments, schedules trials, serves the "
      "API.",
      "resolute-master");
  app.set_version_flag("--version", std::string("resolute-master ") + base::kVersion);
  app.add_option("--config", files->config,
                 "File with all of this and resource pools, quotas and more "
                 "(docs/reference/master-config.md); flags win over it");
  app.add_option("--data-dir", config->data_dir, "Everything this master keeps")
      ->capture_default_str();
  app.add_option("--port", config->port,
                 "HTTP and gRPC; 0: any free one (default: 8080, with TLS 8443)")
      ->check(CLI::Range(0, 65535));
  app.add_option("--bind", config->bind, "Address to listen on; 0.0.0.0: all")
      ->capture_default_str();
  AddTlsFlags(app, config);
  app.add_option("--webui", config->webui,
                 "Folder of the dashboard (bazel build //webui:dist); without: the one beside this "
                 "program, if there is one");
  app.add_option("--db-url", config->db_url,
                 "PostgreSQL to use (postgresql://...); without: an own one in the data directory");
  app.add_option("--checkpoint-dir", config->checkpoint_storage.host_path,
                 "Where trials save checkpoints by default; without: checkpoints/ in the data "
                 "directory");
  app.add_option("--checkpoint-root", config->checkpoint_roots,
                 "A folder below which users may keep checkpoints (checkpoint_storage.host_path); "
                 "may be given again. Without: anywhere but the system's folders and the data "
                 "directory")
      ->allow_extra_args(false)
      ->check(IsAbsolute, "absolute");
  app.add_option("--cluster-name", config->cluster_name, "Shown to users");
  AddPasswordFlags(app, config, files);
  app.add_option("--agent-patience", patience,
                 "Seconds an agent may be away before its tasks are given up")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_flag(
      "--standby", config->standby,
      "Do not lead: wait until the master that does gives no more signs of life, then take "
      "over; needs --db-url");
  app.add_flag("--check", files->check,
               "Say what is wrong with flags and file, or print where the port would be, as "
               "http://ADDRESS:PORT or https://, and end");
  app.add_flag("--log-json", config->log_json, "Log lines as JSON");
  app.add_option("--log-level", config->log_level, "debug, info, warning or error")
      ->check(CLI::IsMember({"debug", "info", "warning", "error"}))
      ->capture_default_str();
  BackupOrder order;
  AddBackupCommands(app, &order);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return Report(app, error);
  }
  config->agent_patience = absl::Seconds(patience);
  if (!app.get_subcommands().empty()) {
    order.restore = app.got_subcommand("restore");
    order.data_dir = config->data_dir;
    files->backup = order;
  }
  return std::nullopt;
}

}  // namespace

std::variant<Config, BackupOrder, Exit> ParseFlags(int argc, char** argv) {
  Config config = Unsaid();
  Files files;
  if (const auto exit = ReadFlags(argc, argv, &config, &files)) return *exit;
  std::string configured_password;
  absl::Status status;
  if (!files.config.empty()) {
    config = Unsaid();
    status = ReadConfigFile(files.config, &config);
    configured_password = std::exchange(config.admin_password, "");
    // Again, over what the file says.
    if (status.ok()) (void)ReadFlags(argc, argv, &config, &files);
  }
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
