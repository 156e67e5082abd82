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

// How long one may take to show its new environment, before it counts as one without any.
constexpr absl::Duration kExecPatience = absl::Seconds(1);

struct Process {
  pid_t pid = 0;
  char state = '?';
  pid_t parent = 0;
  pid_t group = 0;
  pid_t session = 0;
  uint64_t start_time = 0;
  // It has an address space and no environment in it yet: it is within exec().
  bool in_exec = false;
};

absl::StatusOr<Process> ReadProcess(pid_t pid) {
  DET_ASSIGN_OR_RETURN(const std::string text,
                       base::ReadFile(absl::StrCat("/proc/", pid, "/stat")));
  // The name in parentheses may hold spaces and parentheses itself.
  const size_t end = text.rfind(')');
  if (end == std::string::npos) return absl::NotFoundError("no such process");
  const std::vector<absl::string_view> fields =
      absl::StrSplit(absl::string_view(text).substr(end + 1), ' ', absl::SkipEmpty());
  // Counted from the state, which is field 3: 9, 22 and 51 of proc(5).
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

std::map<pid_t, Process> ReadAll() {
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

bool HasMark(pid_t pid, const TaskProcesses& task) {
  const std::string& mark = task.mark;
  if (mark.empty()) return false;
  const absl::StatusOr<std::string> environ =
      base::ReadFile(absl::StrCat("/proc/", pid, "/environ"));
  if (!environ.ok()) return false;
  bool marked = false;
  for (const absl::string_view entry : absl::StrSplit(*environ, '\0')) {
    if (std::find(task.spared.begin(), task.spared.end(), entry) != task.spared.end()) return false;
    marked = marked || entry == mark || (mark.back() == '/' && absl::StartsWith(entry, mark));
  }
  return marked;
}

bool DescendsFrom(const std::map<pid_t, Process>& all, Process process, pid_t ancestor) {
  // Read while it changed, the table may hold a circle.
  for (size_t steps = 0; steps <= all.size(); ++steps) {
    if (process.parent == ancestor) return true;
    if (process.parent == 0) return false;
    if (const auto parent = all.find(process.parent); parent != all.end()) {
      process = parent->second;
      continue;
    }
    // Its parent ended while the table was read: it has another by now.
    const absl::StatusOr<Process> now = ReadProcess(process.pid);
    // The same one is hidden from us (hidepid).
    if (!now.ok() || now->parent == process.parent) return false;
    process = *now;
  }
  return false;
}

// Whether we are the keeper: then whoever loses its parent becomes our child, so that descent tells
// all, also of one within exec(), and no environment has to be read.
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
  return !IsReaper(task) && HasMark(process.pid, task);
}

base::Fd OpenPidfd(pid_t pid) {
  return base::Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

// Takes away zombies that became our children, as happens to a keeper and to the first process of a
// container. The leader is left to whoever started it.
void ReapOrphans(const std::map<pid_t, Process>& all, const TaskProcesses& task) {
  for (const auto& [pid, process] : all) {
    if (process.state == 'Z' && process.parent == ::getpid() && pid != task.leader &&
        (IsReaper(task) || process.group == task.leader || process.session == task.leader)) {
      (void)::waitpid(pid, nullptr, WNOHANG);
    }
  }
}

std::vector<pid_t> Living(const std::map<pid_t, Process>& all, const TaskProcesses& task) {
  std::vector<pid_t> living;
  std::set<pid_t> members;
  if (!task.group.empty()) {
    const std::vector<pid_t> found = GroupMembers(task.group);
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

// Whether one that may have the mark cannot show it: within exec() the old environment is gone and
// the new one not there yet. One whose environment we may not read is not of our tasks.
bool SomebodyIsInExec(const std::map<pid_t, Process>& all, const TaskProcesses& task) {
  return !task.mark.empty() && !IsReaper(task) &&
         std::any_of(all.begin(), all.end(), [](const auto& entry) {
           const auto& [pid, process] = entry;
           if (process.state == 'Z' || process.state == 'X' || !HasNoEnvironment(pid)) return false;
           const absl::StatusOr<Process> now = ReadProcess(pid);
           // It came meanwhile, or is on its way; or this is a kernel's thread, or one that never
           // had any.
           return now.ok() && (now->in_exec || !HasNoEnvironment(pid));
         });
}

}  // namespace

absl::StatusOr<uint64_t> StartTime(pid_t pid) {
  DET_ASSIGN_OR_RETURN(const Process process, ReadProcess(pid));
  return process.start_time;
}

std::vector<pid_t> FindProcesses(const TaskProcesses& task) { return Living(ReadAll(), task); }

absl::Status KillProcesses(const TaskProcesses& task, absl::Duration patience) {
  const absl::Time began = absl::Now();
  const absl::Time deadline = began + patience;
  while (true) {
    // At once, so that nobody starts another meanwhile; whoever is not in it is found below.
    if (!task.group.empty()) (void)KillGroupMembers(task.group);
    const std::map<pid_t, Process> all = ReadAll();
    ReapOrphans(all, task);
    const std::vector<pid_t> living = Living(all, task);
    if (living.empty()) {
      if (absl::Now() >= began + kExecPatience || !SomebodyIsInExec(all, task)) {
        return absl::OkStatus();
      }
      (void)::poll(nullptr, 0, 1);
      continue;
    }
    if (absl::Now() >= deadline) {
      return absl::DeadlineExceededError(
          absl::StrCat("process ", living.front(), " does not end after SIGKILL"));
    }
    std::vector<base::Fd> fds;
    std::vector<pollfd> polls;
    for (const pid_t pid : living) {
      base::Fd fd = OpenPidfd(pid);
      if (!fd.valid()) continue;  // Gone meanwhile; the next round tells.
      // Through the descriptor, so that a number that was given out anew meanwhile is not hit...
      const absl::StatusOr<Process> now = ReadProcess(pid);
      if (!now.ok() || now->start_time != all.at(pid).start_time) continue;
      (void)::syscall(SYS_pidfd_send_signal, fd.get(), SIGKILL, nullptr, 0);
      polls.push_back({.fd = fd.get(), .events = POLLIN, .revents = 0});
      fds.push_back(std::move(fd));
    }
    // ...then until one is gone, or for a moment if one does not go.
    if (!polls.empty()) (void)::poll(polls.data(), polls.size(), 100);
  }
}

}  // namespace det::agent
