#include "master/config.h"

#include <iostream>

#include "base/install.h"
#include <CLI/CLI.hpp>

namespace det::master {
namespace {

// CLI11 reports by exceptions; they end here.
Exit Report(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() == 0) return {app.exit(error)};
  std::cerr << "resolute-master: " << error.what() << "; see resolute-master --help\n";
  return {2};
}

}  // namespace

std::variant<Config, Exit> ParseFlags(int argc, char** argv) {
  Config config;
  config.data_dir = base::DefaultDataDir();
  double patience = absl::ToDoubleSeconds(config.agent_patience);
  CLI::App app(
      "The master of a Resolute cluster: keeps experiments, schedules trials, serves the "
      "API.",
      "resolute-master");
  app.set_version_flag("--version", std::string("resolute-master ") + base::kVersion);
  app.add_option("--data-dir", config.data_dir, "Everything this master keeps")
      ->capture_default_str();
  app.add_option("--port", config.port, "HTTP and gRPC; 0: any free one")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  app.add_option("--bind", config.bind, "Address to listen on; 0.0.0.0: all")
      ->capture_default_str();
  app.add_option("--db-url", config.db_url,
                 "PostgreSQL to use (postgresql://...); without: an own one in the data directory");
  app.add_option("--checkpoint-dir", config.checkpoint_dir,
                 "Where trials save checkpoints by default; without: checkpoints/ in the data "
                 "directory");
  app.add_option("--cluster-name", config.cluster_name, "Shown to users");
  app.add_option("--admin-password", config.admin_password, "Set the password of user admin")
      ->envname("DET_ADMIN_PASSWORD");
  app.add_option("--agent-patience", patience,
                 "Seconds an agent may be away before its tasks are given up")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  app.add_flag("--log-json", config.log_json, "Log lines as JSON");
  app.add_option("--log-level", config.log_level, "debug, info, warning or error")
      ->check(CLI::IsMember({"debug", "info", "warning", "error"}))
      ->capture_default_str();
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return Report(app, error);
  }
  config.agent_patience = absl::Seconds(patience);
  return config;
}

}  // namespace det::master
