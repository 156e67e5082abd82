#include "cli/process.h"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "base/fd.h"
#include "base/file.h"

namespace det::cli {
namespace {

// Returns the fields of /proc/<pid>/stat after the name in parentheses, from "state" on; empty if
// the process has exited.
std::vector<std::string> StatFields(pid_t pid) {
  const auto text = base::ReadFile(absl::StrCat("/proc/", pid, "/stat"));
  if (!text.ok()) return {};
  const size_t bracket = text->rfind(')');
  if (bracket == text->npos) return {};
  return absl::StrSplit(text->substr(bracket + 1), ' ', absl::SkipWhitespace());
}

constexpr size_t kState = 0;
constexpr size_t kParent = 1;
constexpr size_t kStartTime = 19;

// Opens a handle of exactly this process; invalid if it has exited. Calls the kernel by number
// because glibc 2.36 declares the function without extern "C".
base::Fd Open(const Process& process) {
  base::Fd fd(static_cast<int>(syscall(SYS_pidfd_open, process.pid, 0)));
  // The handle can belong to a later process with the same PID, so the process is checked again.
  if (fd.valid() && !IsAlive(process)) fd.Close();
  return fd;
}

}  // namespace

std::optional<Process> FindProcess(pid_t pid) {
  const std::vector<std::string> fields = StatFields(pid);
  Process process{pid, 0};
  if (fields.size() <= kStartTime || fields[kState] == "Z" || fields[kState] == "X" ||
      !absl::SimpleAtoi(fields[kStartTime], &process.start_time)) {
    return std::nullopt;
  }
  return process;
}

bool IsAlive(const Process& process) {
  return process.pid > 0 && FindProcess(process.pid) == process;
}

void Signal(const Process& process, int signal) {
  const base::Fd fd = Open(process);
  if (fd.valid()) syscall(SYS_pidfd_send_signal, fd.get(), signal, nullptr, 0);
}

absl::Status WaitForExit(const Process& process, absl::Duration timeout) {
  const base::Fd fd = Open(process);
  if (!fd.valid()) return absl::OkStatus();
  const absl::Time end = absl::Now() + timeout;
  while (true) {
    const absl::Duration left = std::max(end - absl::Now(), absl::ZeroDuration());
    pollfd entry = {fd.get(), POLLIN, 0};
    const int ready = poll(&entry, 1, static_cast<int>(absl::ToInt64Milliseconds(left)) + 1);
    if (ready > 0) return absl::OkStatus();
    if (ready == 0 || errno != EINTR) {
      return absl::DeadlineExceededError(
          absl::StrCat("process ", process.pid, " is still running"));
    }
  }
}

bool Stop(const Process& process, int gentle, absl::Duration grace_period) {
  if (!IsAlive(process)) return true;
  Signal(process, gentle);
  if (WaitForExit(process, grace_period).ok()) return true;
  Signal(process, SIGKILL);
  WaitForExit(process, absl::Seconds(10)).IgnoreError();
  return false;
}

int64_t ResidentBytes(const Process& process) {
  if (!IsAlive(process)) return 0;
  const auto text = base::ReadFile(absl::StrCat("/proc/", process.pid, "/statm"));
  if (!text.ok()) return 0;
  const std::vector<std::string> fields = absl::StrSplit(*text, ' ');
  int64_t pages = 0;
  if (fields.size() < 2 || !absl::SimpleAtoi(fields[1], &pages)) return 0;
  return pages * sysconf(_SC_PAGESIZE);
}

absl::Time StartedAt(const Process& process) {
  const auto text = base::ReadFile("/proc/uptime");
  double uptime = 0;
  if (!text.ok() || !absl::SimpleAtod(text->substr(0, text->find(' ')), &uptime)) {
    return absl::InfinitePast();
  }
  const double started =
      static_cast<double>(process.start_time) / static_cast<double>(sysconf(_SC_CLK_TCK));
  return absl::Now() - absl::Seconds(uptime - started);
}

std::optional<Process> FindParent(const Process& process) {
  const std::vector<std::string> fields = StatFields(process.pid);
  pid_t parent = 0;
  if (!IsAlive(process) || fields.size() <= kParent ||
      !absl::SimpleAtoi(fields[kParent], &parent)) {
    return std::nullopt;
  }
  return FindProcess(parent);
}

std::string GetName(const Process& process) {
  const auto name = base::ReadFile(absl::StrCat("/proc/", process.pid, "/comm"));
  if (!name.ok() || !IsAlive(process)) return "";
  return std::string(absl::StripTrailingAsciiWhitespace(*name));
}

std::vector<Process> Descendants(const Process& process) {
  if (!IsAlive(process)) return {};
  std::multimap<pid_t, Process> children;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
    pid_t pid = 0;
    if (!absl::SimpleAtoi(entry.path().filename().string(), &pid)) continue;
    const std::vector<std::string> fields = StatFields(pid);
    pid_t parent = 0;
    const std::optional<Process> found = FindProcess(pid);
    if (found && fields.size() > kParent && absl::SimpleAtoi(fields[kParent], &parent)) {
      children.emplace(parent, *found);
    }
  }
  std::vector<Process> out = {process};
  for (size_t i = 0; i < out.size(); ++i) {
    const auto [begin, end] = children.equal_range(out[i].pid);
    for (auto child = begin; child != end; ++child) out.push_back(child->second);
  }
  out.erase(out.begin());
  return out;
}

}  // namespace det::cli
