#include "agent/keeper/control_group.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/status_macros.h"

namespace det::agent {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kPeriod = 100'000;  // in microseconds; the kernel's default
constexpr int64_t kMinQuota = 1000;   // the minimum that the kernel accepts

// Writes with one call, as the kernel requires. Tests use ordinary files, which are created.
absl::Status Write(const std::string& path, const std::string& text) {
  const base::Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644));
  if (file.valid() &&
      ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size())) {
    return absl::OkStatus();
  }
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot write \"", text, "\" to ", path));
}

absl::Status CreateGroupDirectory(const std::string& path) {
  if (::mkdir(path.c_str(), 0755) == 0 || errno == EEXIST) return absl::OkStatus();
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot create ", path));
}

// Returns the group and those below it, the deepest first.
std::vector<fs::path> ListGroupTree(const std::string& group) {
  std::vector<fs::path> groups = {group};
  std::error_code error;
  for (fs::recursive_directory_iterator it(group, error), end; it != end; it.increment(error)) {
    if (it->is_directory(error)) groups.push_back(it->path());
  }
  std::reverse(groups.begin(), groups.end());
  return groups;
}

absl::Status CheckControllers(const std::string& group) {
  const std::string path = group + "/cgroup.controllers";
  const std::string text = base::ReadFile(path).value_or("");
  const std::vector<absl::string_view> names =
      absl::StrSplit(text, absl::ByAnyChar(" \n"), absl::SkipEmpty());
  for (const absl::string_view controller : {"cpu", "memory"}) {
    if (std::find(names.begin(), names.end(), controller) != names.end()) continue;
    return absl::FailedPreconditionError(absl::StrCat(path, " does not contain \"", controller,
                                                      "\"; delegate this controller to the agent"));
  }
  return absl::OkStatus();
}

constexpr char kAgentLeaf[] = "/agent";

std::string GetParent(const std::string& group) { return group.substr(0, group.rfind('/')); }

// Returns the control group of the calling process.
absl::StatusOr<std::string> GetOwnGroup(const std::string& mount, const std::string& proc) {
  DET_ASSIGN_OR_RETURN(const std::string text, base::ReadFile(proc + "/cgroup"));
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (!absl::StartsWith(line, "0::/")) continue;
    const std::string below(line.substr(3));
    return mount + (below == "/" ? "" : below);
  }
  return absl::NotFoundError(absl::StrCat(proc, "/cgroup contains no cgroup v2 group"));
}

}  // namespace

std::string GetAgentGroup(const std::string& tasks_group) {
  return GetParent(tasks_group) + kAgentLeaf;
}

absl::StatusOr<std::string> TakeDelegatedGroup(const std::string& mount, const std::string& proc) {
  DET_ASSIGN_OR_RETURN(const std::string own, GetOwnGroup(mount, proc));
  // An agent that runs inside the group of another agent uses the same parent.
  const bool inside = absl::EndsWith(own, kAgentLeaf);
  const std::string group = inside ? GetParent(own) : own;
  DET_RETURN_IF_ERROR(CheckControllers(group));
  const std::string leaf = group + kAgentLeaf;
  DET_RETURN_IF_ERROR(CreateGroupDirectory(leaf));
  absl::Status taken = EnterGroup(leaf);
  if (taken.ok()) taken = Write(group + "/cgroup.subtree_control", "+cpu +memory");
  if (taken.ok()) return group;
  if (!inside) {
    (void)EnterGroup(own);
    RemoveGroup(leaf);
  }
  return taken;
}

absl::Status CreateGroup(const std::string& group, const GroupLimits& limits) {
  DET_RETURN_IF_ERROR(CreateGroupDirectory(group));
  if (limits.cpus > 0) {
    const auto quota = static_cast<int64_t>(std::ceil(limits.cpus * double{kPeriod}));
    DET_RETURN_IF_ERROR(
        Write(group + "/cpu.max", absl::StrCat(std::max(quota, kMinQuota), " ", kPeriod)));
  }
  if (limits.memory > 0) {
    DET_RETURN_IF_ERROR(Write(group + "/memory.max", absl::StrCat(limits.memory)));
    // A task is useless without one of its processes, so the kernel kills all of them.
    DET_RETURN_IF_ERROR(Write(group + "/memory.oom.group", "1"));
  }
  return absl::OkStatus();
}

absl::Status EnterGroup(const std::string& group) {
  return Write(group + "/cgroup.procs", absl::StrCat(::getpid()));
}

bool KillGroupMembers(const std::string& group) { return Write(group + "/cgroup.kill", "1").ok(); }

std::vector<pid_t> GetGroupMembers(const std::string& group) {
  std::vector<pid_t> members;
  for (const fs::path& each : ListGroupTree(group)) {
    const std::string text = base::ReadFile(each / "cgroup.procs").value_or("");
    for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
      pid_t pid = 0;
      // 0 is a process of another pid namespace.
      if (absl::SimpleAtoi(line, &pid) && pid > 0) members.push_back(pid);
    }
  }
  return members;
}

bool RanOutOfMemory(const std::string& group) {
  const std::string text = base::ReadFile(group + "/memory.events").value_or("");
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::vector<absl::string_view> words = absl::StrSplit(line, ' ');
    int64_t count = 0;
    if (words.size() == 2 && words[0] == "oom_kill" && absl::SimpleAtoi(words[1], &count)) {
      return count > 0;
    }
  }
  return false;
}

void RemoveGroup(const std::string& group) {
  // The kernel removes the files of a group together with it.
  for (const fs::path& each : ListGroupTree(group)) (void)::rmdir(each.c_str());
}

}  // namespace det::agent
