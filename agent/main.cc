// Entry point of resolute-agent: flags, signals, error output.
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "agent/agent.h"
#include "agent/agent_setup.h"
#include "agent/device/detector.h"
#include "agent/settings.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/installation.h"
#include "base/log.h"
#include "base/status_macros.h"
#include <CLI/CLI.hpp>

namespace det::agent {
namespace {

struct Flags {
  AgentOptions agent;
  std::optional<int> slots;
  std::optional<double> cpus;
  std::optional<int64_t> memory;
  std::vector<std::string> labels;
  std::string token_file;
  std::string tls_ca;
  std::string tls_cert;
  std::string tls_key;
  std::string config_file;
  std::string log_level = "info";
  std::map<std::string, std::string> others;  // by key, from flags of Determined's agent
  double stop_grace = 10;
  bool list_devices = false;
  bool log_json = false;
  bool verbose = false;
};

std::string GetHostName() {
  std::array<char, HOST_NAME_MAX + 1> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "agent";
}

std::string FindSibling(const std::string& program) {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path() / program;
}

// Returns the first of two directories that exists relative to this program: that of a build tree,
// or the installed one.
std::string FindInstalled(const char* built, const char* installed) {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return "";
  const std::filesystem::path above = self.parent_path().parent_path();
  for (const char* place : {built, installed}) {
    if (std::filesystem::is_directory(above / place, error)) return above / place;
  }
  return "";
}

// Returns the directory of `det` in a build tree or an installation; empty if there is none.
std::string FindCli() {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path own = self.parent_path();
  for (const std::filesystem::path& place : {own, own.parent_path() / "cli"}) {
    if (!error && std::filesystem::exists(place / "det", error)) return place;
  }
  return "";
}

// Makes the path of a directory absolute; an empty path is left unchanged.
absl::Status Canonicalize(const char* flag, std::string& folder) {
  if (folder.empty()) return absl::OkStatus();
  std::error_code error;
  const std::string path = folder;
  folder = std::filesystem::canonical(path, error);
  if (!error) return absl::OkStatus();
  return absl::NotFoundError(
      absl::StrCat(flag, " ", path, " does not exist; set it to the directory of the Trial API"));
}

std::string GetDefaultWorkDir(const std::string& id) {
  return absl::StrCat(base::GetDefaultDataDir(), "/agents/", id);
}

void AddOptions(CLI::App& app, Flags& flags) {
  app.add_option("--config-file", flags.config_file,
                 "Configuration file (docs/reference/agent-config.md); flags and DET_* variables "
                 "override it. Default: $DET_CONFIG_FILE, else /etc/determined/agent.yaml if it "
                 "exists");
  app.add_option("--master", flags.agent.master,
                 "Master address, http(s)://HOST:PORT; several separated by commas");
  app.add_option("--id", flags.agent.id, "Name of this agent (default: host name)");
  app.add_option("--slots", flags.slots,
                 "Number of artificial CPU slots (default: detect devices)");
  app.add_option("--slot-type", flags.agent.slot_type,
                 "Devices to offer: auto, cuda, rocm, tpu, cpu or none (default: auto)");
  app.add_option("--visible-gpus", flags.agent.visible_gpus,
                 "GPUs to offer, numbers or UUIDs separated by commas (default: all)");
  app.add_flag("--list-devices", flags.list_devices,
               "Print number, type, UUID and name of the devices, and exit");
  app.add_option("--artificial-device", flags.agent.artificial_device,
                 "Device name of artificial slots, for testing");
  app.add_option("--artificial-islands", flags.agent.artificial_islands,
                 "Number of islands of artificial slots (default: 1)");
  app.add_option("--cpus", flags.cpus,
                 "CPUs available to tasks in total; 0: not limited (default: all)");
  app.add_option("--memory", flags.memory,
                 "Memory available to tasks, such as 64g; 0: not limited (default: all)")
      ->transform(CLI::AsSizeValue(/*kb_is_1000=*/false));
  app.add_option("--switch", flags.agent.network_switch,
                 "Network switch of this machine, for topology-aware placement");
  app.add_option("--label", flags.labels, "Label KEY=VALUE shown to users; repeatable")
      ->allow_extra_args(false);
  app.add_option("--pool", flags.agent.resource_pool, "Resource pool to join (default: default)");
  app.add_option("--work-dir", flags.agent.work_dir,
                 "Directory for tasks and caches (default: DATA_DIR/agents/ID)");
  app.add_option("--token-file", flags.token_file, "File with the agent token");
  app.add_option("--tls-ca", flags.tls_ca,
                 "PEM file with the CA of the master's certificate (default: system CAs)");
  app.add_option("--tls-master-name", flags.agent.tls.master_name,
                 "Name in the master's certificate (default: host of --master)");
  app.add_option("--tls-cert", flags.tls_cert, "PEM file with this agent's client certificate");
  app.add_option("--tls-key", flags.tls_key, "PEM file with the key of --tls-cert");
  app.add_option("--sdk-dir", flags.agent.sdk_dir, "Directory of the installed C++ Trial API");
  app.add_option("--python-dir", flags.agent.python_dir,
                 "Directory of the Trial API's Python packages");
  app.add_option("--address", flags.agent.address,
                 "Address where tasks of other agents reach this machine");
  app.add_option("--stop-grace", flags.stop_grace,
                 "Grace period in seconds when the agent stops tasks (default: 10)");
  app.add_flag("--stop-tasks", flags.agent.stop_tasks,
               "Stop tasks on SIGTERM instead of leaving them to the next agent");
  app.add_option("--log-spool-limit", flags.agent.log_spool_limit,
                 "Disk space for undelivered log lines per task (default: 256m)")
      ->transform(CLI::AsSizeValue(/*kb_is_1000=*/false));
  app.add_flag("--log-json", flags.log_json, "Log as JSON lines");
  app.add_option("--log-level", flags.log_level, "Minimum level of log lines (default: info)")
      ->check(CLI::IsMember({"debug", "info", "warning", "error"}));
  app.add_flag("--verbose", flags.verbose, "Log debug messages");
  app.set_version_flag("--version", std::string("resolute-agent ") + base::kVersion);
  // The same settings by the flags and the command of Determined's agent.
  for (const auto& [key, flag] : GetOtherFlags()) {
    if (app.get_option_no_throw(flag) != nullptr) continue;
    CLI::Option* option = app.add_option(flag, flags.others[key])->group("");
    // CLI11's errors have no name of a hidden flag, but its type.
    option->type_name("value of " + flag);
    if (IsSwitch(key)) option->expected(0, 1);
  }
  app.add_subcommand("run")->group("")->fallthrough();
}

// Reads the file and the variables; later ones override earlier ones.
absl::StatusOr<Settings> ReadSettings(const CLI::App& app, const Flags& flags) {
  std::string path = flags.config_file;
  if (const char* variable = ::getenv("DET_CONFIG_FILE"); path.empty() && variable != nullptr) {
    path = variable;
  }
  if (path.empty() && ::access(kDefaultAgentFile, F_OK) == 0) path = kDefaultAgentFile;
  Settings settings;
  if (!path.empty()) {
    const absl::StatusOr<std::string> text = base::ReadFile(path);
    if (!text.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "--config-file: ", text.status().message(),
          "; let this user read it, or choose another file (--config-file /dev/null: no file)"));
    }
    DET_ASSIGN_OR_RETURN(settings, ReadAgentFile(*text, path));
  }
  for (auto& [key, setting] : FindAgentVariables(environ)) settings[key] = setting;
  const std::map<std::string, std::string> names = GetOtherFlags();
  for (const auto& [key, text] : flags.others) {
    const std::string& flag = names.at(key);
    if (app.count(flag) == 0) continue;
    if (text.empty() && !IsSwitch(key)) {
      settings.erase(key);
    } else {
      settings[key] = {flag, {text.empty() ? "true" : text}};
    }
  }
  return settings;
}

// Sets the flags that are not given from the file and the variables.
absl::Status ApplySettings(CLI::App& app, Flags& flags, std::vector<std::string>& warnings) {
  DET_ASSIGN_OR_RETURN(const Settings settings, ReadSettings(app, flags));
  DET_ASSIGN_OR_RETURN(AgentOverrides overrides, InterpretSettings(settings));
  for (const auto& [flag, setting] : overrides.flags) {
    CLI::Option* option = app.get_option(flag);
    if (option->count() > 0) continue;
    try {
      option->add_result(setting.values);
      option->run_callback();
    } catch (const CLI::Error& error) {
      return absl::InvalidArgumentError(absl::StrCat(setting.source, ": ", error.what()));
    }
  }
  flags.agent.proxies = std::move(overrides.proxies);
  warnings = std::move(overrides.warnings);
  return absl::OkStatus();
}

base::LogLevel GetLogLevel(const Flags& flags) {
  if (flags.verbose || flags.log_level == "debug") return base::LogLevel::kDebug;
  if (flags.log_level == "warning") return base::LogLevel::kWarning;
  return flags.log_level == "error" ? base::LogLevel::kError : base::LogLevel::kInfo;
}

absl::Status ReadToken(const std::string& file, AgentOptions& agent) {
  if (file.empty()) return absl::OkStatus();
  DET_ASSIGN_OR_RETURN(agent.token, base::ReadFile(file));
  absl::StripAsciiWhitespace(&agent.token);
  if (!agent.token.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the token file ", file, " is empty"));
}

absl::Status CompleteOptions(Flags& flags) {
  AgentOptions& agent = flags.agent;
  agent.slots = flags.slots;
  agent.cpus = flags.cpus;
  agent.memory = flags.memory;
  if (flags.cpus && !(*flags.cpus >= 0 && *flags.cpus < 1e6)) {
    return absl::InvalidArgumentError("--cpus must be a number of CPUs, 0 or more");
  }
  if (flags.memory && *flags.memory < 0) {
    return absl::InvalidArgumentError("--memory must be a number of bytes or a size such as 64g");
  }
  for (const std::string& label : flags.labels) {
    const size_t equals = label.find('=');
    if (equals == label.npos || equals == 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("--label ", label, " is not a label; use key=value"));
    }
    agent.labels[label.substr(0, equals)] = label.substr(equals + 1);
  }
  if (flags.stop_grace < 0) {
    return absl::InvalidArgumentError("--stop-grace must be a number of seconds, 0 or more");
  }
  agent.stop_grace = absl::Seconds(flags.stop_grace);
  if (agent.master.empty()) {
    return absl::InvalidArgumentError(
        "no master; set --master http://HOST:PORT, the address that the master logs at start");
  }
  if (agent.log_spool_limit < (64 << 10)) {
    return absl::InvalidArgumentError(
        "--log-spool-limit must be a size of 64k or more, such as 256m");
  }
  agent.keeper = FindSibling("resolute-keeper");
  agent.runner = FindSibling("resolute-runner");
  if (agent.id.empty()) agent.id = GetHostName();
  // Users sign in to shells by this name.
  if (const passwd* user = ::getpwuid(::geteuid())) agent.labels.try_emplace("user", user->pw_name);
  if (agent.work_dir.empty()) agent.work_dir = GetDefaultWorkDir(agent.id);
  if (agent.sdk_dir.empty()) agent.sdk_dir = FindInstalled("trial_api/cpp/sdk", "lib/resolute");
  if (agent.python_dir.empty()) {
    agent.python_dir = FindInstalled("trial_api/python/package", "lib/resolute/python");
  }
  agent.cli_dir = FindCli();
  DET_RETURN_IF_ERROR(Canonicalize("--sdk-dir", agent.sdk_dir));
  DET_RETURN_IF_ERROR(Canonicalize("--python-dir", agent.python_dir));
  DET_ASSIGN_OR_RETURN(TlsOptions tls, ReadTlsOptions(flags.tls_ca, flags.tls_cert, flags.tls_key));
  tls.master_name = agent.tls.master_name;
  agent.tls = std::move(tls);
  return ReadToken(flags.token_file, agent);
}

absl::Status PrintDevices(const Flags& flags) {
  AgentOptions agent = flags.agent;
  agent.slots = flags.slots;
  DET_ASSIGN_OR_RETURN(const std::vector<Device> devices, DetectSlots(agent));
  std::cout << ListDevices(devices);
  return absl::OkStatus();
}

// Runs until the agent has ended. SIGTERM stops the agent, SIGINT also stops its tasks.
absl::Status Run(const AgentOptions& options) {
  // Blocked before any thread starts, so that only the signalfd receives these signals.
  sigset_t signals;
  ::sigemptyset(&signals);
  ::sigaddset(&signals, SIGTERM);
  ::sigaddset(&signals, SIGINT);
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  const base::Fd signal_fd(::signalfd(-1, &signals, SFD_CLOEXEC));
  const base::Fd end_fd(::eventfd(0, EFD_CLOEXEC));

  std::mutex mutex;
  absl::Status result;
  DET_ASSIGN_OR_RETURN(const std::unique_ptr<Agent> agent,
                       Agent::Start(options, [&](absl::Status status) {
                         std::lock_guard lock(mutex);
                         result = std::move(status);
                         (void)::eventfd_write(end_fd.get(), 1);
                       }));
  while (true) {
    std::array<pollfd, 2> polls = {{{signal_fd.get(), POLLIN, 0}, {end_fd.get(), POLLIN, 0}}};
    if (::poll(polls.data(), polls.size(), -1) < 0) continue;
    if (polls[1].revents != 0) {
      std::lock_guard lock(mutex);
      return result;
    }
    signalfd_siginfo info;
    if (::read(signal_fd.get(), &info, sizeof(info)) == sizeof(info)) {
      DET_LOG(INFO) << "stopping" << base::Field("signal", info.ssi_signo);
      agent->Stop(options.stop_tasks || info.ssi_signo == SIGINT);
    }
  }
}

int Main(int argc, char** argv) {
  Flags flags;
  CLI::App app("Offer the slots of this machine to a Resolute cluster and run tasks on them.",
               "resolute-agent");
  AddOptions(app, flags);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  std::vector<std::string> warnings;
  absl::Status status = ApplySettings(app, flags, warnings);
  base::InitLog({.json = flags.log_json, .level = GetLogLevel(flags)});
  for (const std::string& warning : warnings) DET_LOG(WARNING) << warning;
  if (status.ok()) status = flags.list_devices ? PrintDevices(flags) : CompleteOptions(flags);
  if (status.ok() && !flags.list_devices) status = Run(flags.agent);
  if (status.ok()) return 0;
  std::cerr << "resolute-agent: " << status.message() << "\n";
  return 1;
}

}  // namespace
}  // namespace det::agent

int main(int argc, char** argv) { return det::agent::Main(argc, argv); }
