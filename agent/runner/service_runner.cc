#include "agent/runner/service_runner.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "agent/runner/http_client.h"
#include "agent/runner/master_client.h"
#include "agent/runner/notebook_activity.h"
#include "agent/runner/reserved_port.h"
#include "agent/runner/services.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "base/subprocess.h"

namespace det::agent {
namespace {

constexpr absl::Duration kMinPollPause = absl::Milliseconds(20);
constexpr absl::Duration kMaxPollPause = absl::Milliseconds(500);
constexpr absl::Duration kProbeTimeout = absl::Seconds(5);

std::string GetVariable(const char* name) {
  const char* value = ::getenv(name);
  return value == nullptr ? "" : value;
}

std::vector<std::string> GetOwnEnv() {
  std::vector<std::string> env;
  for (char** entry = environ; *entry != nullptr; ++entry) env.emplace_back(*entry);
  return env;
}

std::vector<std::string> MergeEnv(const std::vector<std::string>& own,
                                  const std::map<std::string, std::string>& added) {
  std::vector<std::string> env;
  for (const std::string& entry : own) {
    if (!added.contains(entry.substr(0, entry.find('=')))) env.push_back(entry);
  }
  for (const auto& [name, value] : added) env.push_back(absl::StrCat(name, "=", value));
  return env;
}

absl::StatusOr<Service> Prepare(const std::string& kind, const ServiceInput& input) {
  if (kind == "notebook") return PrepareNotebook(input);
  if (kind == "shell") return PrepareShell(input);
  return PrepareTensorboard(input);
}

absl::StatusOr<HttpResponse> Get(const Service& service, const std::string& path) {
  return Send({.url = service.url + path, .headers = service.headers, .timeout = kProbeTimeout});
}

// Returns whether an SSH server sends its banner on this port.
bool SendsBanner(int port) {
  const base::Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<uint16_t>(port));
  if (::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
    return false;
  }
  std::string banner;
  std::array<char, 64> part;
  while (banner.size() < 4) {
    pollfd readable{socket.get(), POLLIN, 0};
    if (::poll(&readable, 1, static_cast<int>(absl::ToInt64Milliseconds(kProbeTimeout))) <= 0) {
      return false;
    }
    const ssize_t got = ::read(socket.get(), part.data(), part.size());
    if (got <= 0) return false;
    banner.append(part.data(), static_cast<size_t>(got));
  }
  return banner.starts_with("SSH-");
}

bool IsServing(const Service& service, int port) {
  if (service.url.empty()) return SendsBanner(port);
  const absl::StatusOr<HttpResponse> response = Get(service, "");
  return response.ok() && response->status < 500;
}

// The runner ends with its program, so this may wait forever.
void WaitUntilServing(const Service& service, int port) {
  const absl::Time start = absl::Now();
  while (!IsServing(service, port)) {
    absl::SleepFor(std::clamp((absl::Now() - start) / 20, kMinPollPause, kMaxPollPause));
  }
}

absl::StatusOr<NotebookActivity> ReadActivity(const Service& service) {
  std::array<std::string, 3> lists;
  constexpr std::array<const char*, 3> kPaths = {"kernels", "terminals", "sessions"};
  for (size_t i = 0; i < kPaths.size(); ++i) {
    DET_ASSIGN_OR_RETURN(const HttpResponse response, Get(service, kPaths[i]));
    // A Jupyter Server may have no terminals.
    lists[i] = response.status == 404 ? "[]" : response.body;
  }
  return ParseActivity(lists[0], lists[1], lists[2]);
}

absl::Duration GetIdleInterval() {
  double seconds = 0;
  const bool valid = absl::SimpleAtod(GetVariable("DET_IDLE_INTERVAL"), &seconds) && seconds > 0;
  return valid ? absl::Seconds(seconds) : absl::Seconds(30);
}

// Never returns. A notebook whose state is unknown is reported as active.
[[noreturn]] void ReportIdleness(const Service& service, MasterClient master) {
  const std::string path =
      absl::StrCat("/api/v1/notebooks/", GetVariable("DET_TASK_ID"), "/report_idle");
  const absl::Duration interval = GetIdleInterval();
  NotebookActivity previous;
  while (true) {
    absl::SleepFor(interval);
    const absl::StatusOr<NotebookActivity> activity = ReadActivity(service);
    const bool idle = activity.ok() && IsIdle(service.idle_type, *activity, previous);
    if (activity.ok()) previous = *activity;
    // A report that is lost is replaced by the next one.
    (void)master.Send("PUT", path, idle ? R"({"idle": true})" : R"({"idle": false})");
  }
}

void Watch(const Service& service, int port, MasterClient master) {
  WaitUntilServing(service, port);
  const absl::Status reported = master.SendWithRetry(
      "POST", absl::StrCat("/api/v1/allocations/", GetVariable("DET_ALLOCATION_ID"), "/ready"),
      absl::StrCat("{\"port\": ", port, "}"));
  if (!reported.ok()) {
    std::cerr << "resolute-runner: the master did not accept that the task is ready: "
              << reported.message() << std::endl;
    return;
  }
  if (!service.idle_type.empty()) ReportIdleness(service, std::move(master));
}

// Ends this process with the signal that ended the program.
[[noreturn]] void EndBySignal(int signal) {
  ::signal(signal, SIG_DFL);
  sigset_t only;
  ::sigemptyset(&only);
  ::sigaddset(&only, signal);
  ::raise(signal);
  ::pthread_sigmask(SIG_UNBLOCK, &only, nullptr);
  ::_exit(128 + signal);
}

// Forwards signals to the program until it has ended.
absl::StatusOr<int> FollowProgram(pid_t pid, const sigset_t& signals) {
  while (true) {
    int signal = 0;
    if (::sigwait(&signals, &signal) != 0) continue;
    if (signal != SIGCHLD) {
      (void)base::KillGroup(pid, signal);
      continue;
    }
    DET_ASSIGN_OR_RETURN(const std::optional<base::ProcessExit> exit, base::PollExit(pid));
    if (!exit) continue;
    if (exit->signal != 0) EndBySignal(exit->signal);
    return exit->code;
  }
}

}  // namespace

absl::StatusOr<int> RunService(const ServiceOptions& options) {
  DET_ASSIGN_OR_RETURN(MasterClient master, MasterClient::FromEnvironment());
  DET_ASSIGN_OR_RETURN(const ReservedPort port, ReservedPort::Reserve());
  const std::vector<std::string> env = GetOwnEnv();
  std::error_code error;
  ServiceInput input{.description = "",
                     .run_dir = options.run_dir,
                     .work_dir = std::filesystem::current_path(error),
                     .port = port.number(),
                     .env = env};
  DET_ASSIGN_OR_RETURN(input.description, base::ReadFile(options.run_dir + "/service.json"));
  DET_ASSIGN_OR_RETURN(const Service service, Prepare(options.kind, input));

  // Blocked before any thread starts, so that only FollowProgram receives these signals.
  sigset_t signals;
  ::sigemptyset(&signals);
  for (const int each : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGCHLD}) {
    ::sigaddset(&signals, each);
  }
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  DET_ASSIGN_OR_RETURN(const base::ChildProcess program,
                       base::Spawn({.argv = service.argv,
                                    .env = MergeEnv(env, service.env),
                                    .group = base::ProcessGroup::kOwnGroup,
                                    .parent_death_signal = SIGKILL}));
  // Ends with the process.
  std::thread([service, number = port.number(), master] {
    Watch(service, number, master);
  }).detach();
  return FollowProgram(program.pid, signals);
}

}  // namespace det::agent
