// Control groups (cgroup v2) of tasks: they bound what a task uses of cpus and memory, tell that it
// was killed for memory, and end all of its processes at once, wherever they have gone.
// Source: Linux, Documentation/admin-guide/cgroup-v2.rst.
//
// A group is a folder of the kernel's. Made by ProcessDriver, entered and removed by a task's
// keeper; any thread.
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
  int64_t memory = 0;  // bytes; likewise
  friend bool operator==(const GroupLimits&, const GroupLimits&) = default;
};

// The group in which this process is, for tasks' groups below it: as one with members cannot bound
// others, this process goes into `AgentGroup` beside those. An error says why there can be none (no
// cgroup v2, not delegated to us, others are in it), and nothing has changed.
absl::StatusOr<std::string> TakeDelegatedGroup(const std::string& mount = "/sys/fs/cgroup",
                                               const std::string& proc = "/proc/self");

// Makes it where it is not there, and sets its limits.
absl::Status MakeGroup(const std::string& group, const GroupLimits& limits);

// The calling process, and what it starts from then on, belongs to it.
absl::Status EnterGroup(const std::string& group);

// Where agent and keepers are, beside the group of a task.
std::string AgentGroup(const std::string& tasks_group);

// SIGKILL to all in it and below it; false where the kernel cannot (before 5.14).
bool KillGroupMembers(const std::string& group);

// Those in it and below it. Zombies may be among them.
std::vector<pid_t> GroupMembers(const std::string& group);

// Whether some of its processes were killed because it had no memory left.
bool RanOutOfMemory(const std::string& group);

// With those below it. Nothing happens while somebody is in it.
void RemoveGroup(const std::string& group);

}  // namespace det::agent

#endif  // AGENT_KEEPER_CONTROL_GROUP_H_
