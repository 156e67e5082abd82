// resolute-master: flags, signals and exit; everything else is in master.cc.
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <iostream>
#include <memory>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "base/log.h"
#include "master/app/backup.h"
#include "master/app/config.h"
#include "master/app/master.h"

namespace {

// Timeout of a clean shutdown.
constexpr unsigned kStopSeconds = 20;

int g_wake[2] = {-1, -1};
std::atomic<bool> g_failed{false};

void Wake() {
  const char byte = 0;
  (void)!::write(g_wake[1], &byte, 1);
}

void OnSignal(int) { Wake(); }
void OnAlarm(int) { ::_exit(1); }

void WaitForWake() {
  char byte;
  while (::read(g_wake[0], &byte, 1) < 0 && errno == EINTR) {
  }
}

// Does not consume the wake-up, so that the next wait sees it too.
bool WokenWithin(absl::Duration pause) {
  pollfd wake = {g_wake[0], POLLIN, 0};
  return ::poll(&wake, 1, static_cast<int>(absl::ToInt64Milliseconds(pause))) > 0;
}

// Handlers, not a blocked mask: children would inherit a mask.
void InstallSignals() {
  if (::pipe2(g_wake, O_CLOEXEC) != 0) ::_exit(1);
  struct sigaction action = {};
  action.sa_handler = OnSignal;
  ::sigaction(SIGTERM, &action, nullptr);
  ::sigaction(SIGINT, &action, nullptr);
  action.sa_handler = OnAlarm;
  ::sigaction(SIGALRM, &action, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
}

// Raises the limit of file descriptors to the maximum: a connection needs up to three.
void RaiseDescriptorLimit() {
  rlimit limit = {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  (void)::setrlimit(RLIMIT_NOFILE, &limit);
}

det::base::LogLevel ParseLevel(const std::string& name) {
  using det::base::LogLevel;
  if (name == "debug") return LogLevel::kDebug;
  if (name == "warning") return LogLevel::kWarning;
  return name == "error" ? LogLevel::kError : LogLevel::kInfo;
}

void OnFatal(const absl::Status& status) {
  std::cerr << "resolute-master: " << status.message() << std::endl;
  // Another master leads: requests in progress are void, and further responses would be wrong.
  if (absl::IsAborted(status)) ::_exit(1);
  g_failed = true;
  Wake();
}

int Run(const det::app::Config& config) {
  auto master = det::app::Master::Start(config, OnFatal, WokenWithin);
  if (absl::IsCancelled(master.status())) return 0;
  if (!master.ok()) {
    std::cerr << "resolute-master: " << master.status().message() << "\n";
    return 1;
  }
  DET_LOG(INFO) << "master is ready" << det::base::Field("url", (*master)->url());
  WaitForWake();
  DET_LOG(INFO) << "master is stopping";
  ::alarm(kStopSeconds);
  master->reset();
  return g_failed ? 1 : 0;
}

int Run(const det::app::BackupOrder& order) {
  const auto say = [](const std::string& line) { std::cout << line << std::endl; };
  const absl::Status done = order.restore
                                ? det::app::Restore(order.data_dir, order.file, order.replace, say)
                                : det::app::Backup(order.data_dir, order.file, say);
  if (done.ok()) return 0;
  std::cerr << "resolute-master: " << done.message() << "\n";
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  const auto parsed = det::app::ParseFlags(argc, argv);
  if (const auto* exit = std::get_if<det::app::Exit>(&parsed)) return exit->code;
  if (const auto* order = std::get_if<det::app::BackupOrder>(&parsed)) {
    det::base::InitLog({.level = det::base::LogLevel::kError});
    return Run(*order);
  }
  const auto& config = std::get<det::app::Config>(parsed);
  det::base::InitLog({.json = config.log_json, .level = ParseLevel(config.log_level)});
  for (const std::string& warning : config.warnings) DET_LOG(WARNING) << warning;
  InstallSignals();
  RaiseDescriptorLimit();
  // Tools that renew certificates may send SIGHUP; changed files are detected without it.
  if (!config.tls_cert.empty()) ::signal(SIGHUP, SIG_IGN);
  return Run(config);
}
