#include "cli/orphaned_processes.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "base/file.h"

namespace det::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kMaxKillRounds =
    20;  // Limit for a task that starts processes faster than they are killed.

// How often, and after which pause, an empty environment is read again.
constexpr int kMaxReads = 50;
constexpr absl::Duration kExecPause = absl::Microseconds(200);

// Returns the environment of a process; empty if there is none or the process belongs to another
// user. During exec() the kernel shows an empty environment for a moment, so it is read again:
// otherwise a task would be missed.
std::string ReadEnvironment(pid_t pid) {
  const std::string folder = absl::StrCat("/proc/", pid);
  for (int attempt = 0; attempt < kMaxReads; ++attempt) {
    const auto environment = base::ReadFile(folder + "/environ");
    if (!environment.ok()) return "";
    if (!environment->empty()) return *environment;
    std::error_code error;
    // A kernel thread or an exited process has no executable.
    if (fs::read_symlink(folder + "/exe", error).empty()) return "";
    absl::SleepFor(kExecPause);
  }
  return "";
}

// Returns the value of DET_RUN_DIR in the environment of a process; empty if it is not set.
std::string ReadRunDir(pid_t pid) {
  const std::string environment = ReadEnvironment(pid);
  for (absl::string_view entry : absl::StrSplit(environment, '\0')) {
    if (absl::ConsumePrefix(&entry, "DET_RUN_DIR=")) return std::string(entry);
  }
  return "";
}

// Parses <data_dir>/agents/<agent>/tasks/<allocation>/run.
std::optional<TaskProcess> ParseRunDir(const fs::path& run_dir, const std::string& data_dir) {
  const fs::path task = run_dir.parent_path();
  const fs::path agent = task.parent_path().parent_path();
  const fs::path home = agent.parent_path().parent_path();
  if (run_dir.filename() != "run" || task.parent_path().filename() != "tasks" ||
      agent.parent_path().filename() != "agents") {
    return std::nullopt;
  }
  std::error_code error;
  if (home != data_dir && !fs::equivalent(home, data_dir, error)) return std::nullopt;
  return TaskProcess{{}, agent.filename().string(), task.filename().string()};
}

}  // namespace

std::vector<TaskProcess> FindTasks(const std::string& data_dir) {
  std::vector<TaskProcess> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    pid_t pid = 0;
    if (!absl::SimpleAtoi(entry.path().filename().string(), &pid) || pid == getpid()) continue;
    // The process is identified before its environment is read, so that the marker belongs to this
    // process.
    const std::optional<Process> process = FindProcess(pid);
    if (!process) continue;
    std::optional<TaskProcess> task = ParseRunDir(ReadRunDir(pid), data_dir);
    if (!task || !IsAlive(*process)) continue;
    task->process = *process;
    found.push_back(*std::move(task));
  }
  return found;
}

void StopTasks(const std::string& data_dir, absl::Duration grace_period,
               const std::vector<std::string>& agents) {
  const auto find = [&] {
    std::vector<TaskProcess> tasks = FindTasks(data_dir);
    std::erase_if(tasks, [&](const TaskProcess& task) {
      return !agents.empty() && std::find(agents.begin(), agents.end(), task.agent) == agents.end();
    });
    return tasks;
  };
  std::vector<TaskProcess> tasks = find();
  for (const TaskProcess& task : tasks) Signal(task.process, SIGTERM);
  const absl::Time end = absl::Now() + grace_period;
  for (const TaskProcess& task : tasks) {
    WaitForExit(task.process, std::max(end - absl::Now(), absl::ZeroDuration())).IgnoreError();
  }
  for (int round = 0; round < kMaxKillRounds; ++round) {
    tasks = find();
    if (tasks.empty()) return;
    for (const TaskProcess& task : tasks) Signal(task.process, SIGKILL);
    for (const TaskProcess& task : tasks) {
      WaitForExit(task.process, absl::Seconds(1)).IgnoreError();
    }
  }
}

std::optional<Process> FindPostgres(const std::string& data_dir, const Process& master) {
  std::error_code error;
  for (const char* folder : {"postgres", "postgres/data"}) {
    const std::string data = absl::StrCat(data_dir, "/", folder);
    const auto text = base::ReadFile(absl::StrCat(data, "/postmaster.pid"));
    pid_t pid = 0;
    if (!text.ok() || !absl::SimpleAtoi(text->substr(0, text->find('\n')), &pid)) continue;
    const std::optional<Process> server = FindProcess(pid);
    const fs::path cwd = fs::read_symlink(absl::StrCat("/proc/", pid, "/cwd"), error);
    if (!server || error || !fs::equivalent(cwd, data, error)) continue;
    const std::optional<Process> parent = FindParent(*server);
    const bool foreign = parent && *parent != master && GetName(*parent) == "resolute-master";
    return foreign ? std::nullopt : server;
  }
  return std::nullopt;
}

}  // namespace det::cli
