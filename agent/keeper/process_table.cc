#include "agent/keeper/process_table.h"

#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "agent/keeper/control_group.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/status_macros.h"

namespace det::agent {
namespace {

// The maximum time for a process in exec() to have its new environment; after that it counts as a
// process without environment.
constexpr absl::Duration kExecTimeout = absl::Seconds(1);

struct Process {
  pid_t pid = 0;
  char state = '?';
  pid_t parent = 0;
  pid_t group = 0;
  pid_t session = 0;
  uint64_t start_time = 0;
  // The process has an address space but no environment in it yet: it is inside exec().
  bool in_exec = false;
};

absl::StatusOr<Process> ReadProcess(pid_t pid) {
  DET_ASSIGN_OR_RETURN(const std::string text,
                       base::ReadFile(absl::StrCat("/proc/", pid, "/stat")));
  // The name in parentheses may contain spaces and parentheses.
  const size_t end = text.rfind(')');
  if (end == std::string::npos) return absl::NotFoundError("no such process");
  const std::vector<absl::string_view> fields =
      absl::StrSplit(absl::string_view(text).substr(end + 1), ' ', absl::SkipEmpty());
  // Indices relative to the state, which is field 3: fields 9, 22 and 51 of proc(5).
  constexpr size_t kFlags = 6;
  constexpr size_t kStartTime = 19;
  constexpr size_t kEnvironmentEnd = 48;
  constexpr uint64_t kExitingOrKernelThread = 0x00200004;
  Process process{.pid = pid};
  uint64_t flags = 0;
  if (fields.size() <= kEnvironmentEnd || fields[0].size() != 1 ||
      !absl::SimpleAtoi(fields[1], &process.parent) ||
      !absl::SimpleAtoi(fields[2], &process.group) ||
      !absl::SimpleAtoi(fields[3], &process.session) || !absl::SimpleAtoi(fields[kFlags], &flags) ||
      !absl::SimpleAtoi(fields[kStartTime], &process.start_time)) {
    return absl::NotFoundError(absl::StrCat("cannot read /proc/", pid, "/stat"));
  }
  process.state = fields[0][0];
  process.in_exec = (flags & kExitingOrKernelThread) == 0 && fields[kEnvironmentEnd] == "0";
  return process;
}

std::map<pid_t, Process> ReadAllProcesses() {
  std::map<pid_t, Process> all;
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(::opendir("/proc"), ::closedir);
  if (dir == nullptr) return all;
  while (const dirent* entry = ::readdir(dir.get())) {
    pid_t pid = 0;
    if (!absl::SimpleAtoi(entry->d_name, &pid)) continue;
    if (const absl::StatusOr<Process> process = ReadProcess(pid); process.ok()) {
      all.emplace(pid, *process);
    }
  }
  return all;
}

bool HasTaskMarker(pid_t pid, const TaskProcesses& task) {
  const std::string& marker = task.marker;
  if (marker.empty()) return false;
  const absl::StatusOr<std::string> environ =
      base::ReadFile(absl::StrCat("/proc/", pid, "/environ"));
  if (!environ.ok()) return false;
  bool marked = false;
  for (const absl::string_view entry : absl::StrSplit(*environ, '\0')) {
    if (std::find(task.excluded.begin(), task.excluded.end(), entry) != task.excluded.end())
      return false;
    marked = marked || entry == marker || (marker.back() == '/' && absl::StartsWith(entry, marker));
  }
  return marked;
}

bool DescendsFrom(const std::map<pid_t, Process>& all, Process process, pid_t ancestor) {
  // The table may contain a cycle, because it changed while it was read.
  for (size_t steps = 0; steps <= all.size(); ++steps) {
    if (process.parent == ancestor) return true;
    if (process.parent == 0) return false;
    if (const auto parent = all.find(process.parent); parent != all.end()) {
      process = parent->second;
      continue;
    }
    // The parent ended while the table was read, so the process has another parent now.
    const absl::StatusOr<Process> now = ReadProcess(process.pid);
    // The parent is hidden from this process (hidepid).
    if (!now.ok() || now->parent == process.parent) return false;
    process = *now;
  }
  return false;
}

// Returns whether this process is the keeper: then orphans become its children, so descent finds
// all processes, including those inside exec(), and no environment has to be read.
bool IsReaper(const TaskProcesses& task) { return task.keeper == ::getpid(); }

bool Belongs(const std::map<pid_t, Process>& all, const Process& process,
             const TaskProcesses& task) {
  if (process.pid == ::getpid()) return false;
  if (task.keeper > 1 && DescendsFrom(all, process, task.keeper)) return true;
  if (task.leader > 1 &&
      (process.pid == task.leader || process.group == task.leader ||
       process.session == task.leader || DescendsFrom(all, process, task.leader))) {
    return true;
  }
  return !IsReaper(task) && HasTaskMarker(process.pid, task);
}

base::Fd OpenPidfd(pid_t pid) {
  return base::Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

// Reaps zombies that became children of this process, as happens to a keeper and to the first
// process of a container. The leader is left to its parent.
void ReapOrphans(const std::map<pid_t, Process>& all, const TaskProcesses& task) {
  for (const auto& [pid, process] : all) {
    if (process.state == 'Z' && process.parent == ::getpid() && pid != task.leader &&
        (IsReaper(task) || process.group == task.leader || process.session == task.leader)) {
      (void)::waitpid(pid, nullptr, WNOHANG);
    }
  }
}

std::vector<pid_t> FindLiving(const std::map<pid_t, Process>& all, const TaskProcesses& task) {
  std::vector<pid_t> living;
  std::set<pid_t> members;
  if (!task.group.empty()) {
    const std::vector<pid_t> found = GetGroupMembers(task.group);
    members.insert(found.begin(), found.end());
    members.erase(::getpid());
  }
  for (const auto& [pid, process] : all) {
    if (process.state == 'Z' || process.state == 'X') continue;
    if (members.contains(pid) || Belongs(all, process, task)) living.push_back(pid);
  }
  return living;
}

bool HasNoEnvironment(pid_t pid) {
  const absl::StatusOr<std::string> environ =
      base::ReadFile(absl::StrCat("/proc/", pid, "/environ"));
  return environ.ok() && environ->empty();
}

// Returns whether a process may have the marker but cannot show it: inside exec(), the old
// environment is gone and the new one does not exist yet. Processes whose environment this process
// may not read do not belong to tasks.
bool HasProcessInExec(const std::map<pid_t, Process>& all, const TaskProcesses& task) {
  return !task.marker.empty() && !IsReaper(task) &&
         std::any_of(all.begin(), all.end(), [](const auto& entry) {
           const auto& [pid, process] = entry;
           if (process.state == 'Z' || process.state == 'X' || !HasNoEnvironment(pid)) return false;
           const absl::StatusOr<Process> now = ReadProcess(pid);
           // The environment exists now, or the process is still in exec(); otherwise this is a
           // kernel thread or a process without environment.
           return now.ok() && (now->in_exec || !HasNoEnvironment(pid));
         });
}

}  // namespace

std::string GetBootId() {
  const absl::StatusOr<std::string> id = base::ReadFile("/proc/sys/kernel/random/boot_id");
  const absl::StatusOr<uint64_t> init = StartTime(1);
  if (!id.ok() || !init.ok()) return "";
  return absl::StrCat(absl::StripAsciiWhitespace(*id), " ", *init);
}

absl::StatusOr<uint64_t> StartTime(pid_t pid) {
  DET_ASSIGN_OR_RETURN(const Process process, ReadProcess(pid));
  return process.start_time;
}

std::vector<pid_t> FindProcesses(const TaskProcesses& task) {
  return FindLiving(ReadAllProcesses(), task);
}

absl::Status KillProcesses(const TaskProcesses& task, absl::Duration timeout) {
  const absl::Time began = absl::Now();
  const absl::Time deadline = began + timeout;
  while (true) {
    // Kills all members at once, so that they cannot start others; processes outside the group are
    // found below.
    if (!task.group.empty()) (void)KillGroupMembers(task.group);
    const std::map<pid_t, Process> all = ReadAllProcesses();
    ReapOrphans(all, task);
    const std::vector<pid_t> living = FindLiving(all, task);
    if (living.empty()) {
      if (absl::Now() >= began + kExecTimeout || !HasProcessInExec(all, task)) {
        return absl::OkStatus();
      }
      (void)::poll(nullptr, 0, 1);
      continue;
    }
    if (absl::Now() >= deadline) {
      return absl::DeadlineExceededError(
          absl::StrCat("process ", living.front(), " has not ended after SIGKILL"));
    }
    std::vector<base::Fd> fds;
    std::vector<pollfd> polls;
    for (const pid_t pid : living) {
      base::Fd fd = OpenPidfd(pid);
      if (!fd.valid()) continue;  // The process has ended meanwhile; the next round checks again.
      // Sends the signal through the pidfd, so that a reused pid is not hit.
      const absl::StatusOr<Process> now = ReadProcess(pid);
      if (!now.ok() || now->start_time != all.at(pid).start_time) continue;
      (void)::syscall(SYS_pidfd_send_signal, fd.get(), SIGKILL, nullptr, 0);
      polls.push_back({.fd = fd.get(), .events = POLLIN, .revents = 0});
      fds.push_back(std::move(fd));
    }
    // Waits until one has ended, but at most 100 ms.
    if (!polls.empty()) (void)::poll(polls.data(), polls.size(), 100);
  }
}

}  // namespace det::agent
