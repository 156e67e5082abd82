// Control groups (cgroup v2) of tasks: they limit the CPUs and memory of a task, report that it was
// killed for memory, and kill all of its processes at once. Source: Linux,
// Documentation/admin-guide/cgroup-v2.rst.
//
// A group is a directory of the kernel's cgroup file system. ProcessDriver creates it; the task's
// keeper enters and removes it. Any thread.
#ifndef AGENT_KEEPER_CONTROL_GROUP_H_
#define AGENT_KEEPER_CONTROL_GROUP_H_

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace det::agent {

struct GroupLimits {
  double cpus = 0;     // 0: no limit
  int64_t memory = 0;  // bytes; 0: no limit
  friend bool operator==(const GroupLimits&, const GroupLimits&) = default;
};

// Returns the control group of this process, below which tasks' groups are created. A group with
// members cannot limit others, so this process moves to `GetAgentGroup` beside those. Returns an
// error if groups cannot be used (no cgroup v2, not delegated to this process, other members);
// nothing is changed then.
absl::StatusOr<std::string> TakeDelegatedGroup(const std::string& mount = "/sys/fs/cgroup",
                                               const std::string& proc = "/proc/self");

// Creates the group if it does not exist, and sets its limits.
absl::Status CreateGroup(const std::string& group, const GroupLimits& limits);

// Moves the calling process, and its future children, to the group.
absl::Status EnterGroup(const std::string& group);

// Returns the group of the agent and the keepers, given the group of a task.
std::string GetAgentGroup(const std::string& tasks_group);

// Sends SIGKILL to all members of the group and of those below it. Returns false if the kernel does
// not support this (before 5.14).
bool KillGroupMembers(const std::string& group);

// Returns the members of the group and of those below it; they may include zombies.
std::vector<pid_t> GetGroupMembers(const std::string& group);

// Returns whether the kernel killed processes of the group because its memory limit was reached.
bool RanOutOfMemory(const std::string& group);

// Removes the group and those below it. Does nothing while it has members.
void RemoveGroup(const std::string& group);

}  // namespace det::agent

#endif  // AGENT_KEEPER_CONTROL_GROUP_H_
