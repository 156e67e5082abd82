// Finds the processes of a task: the members of its control group if it has one and, in /proc,
// those of its session, their descendants, and processes that inherited its task marker, even after
// leaving the session. Called by a task's keeper when the task ends, and by ProcessDriver if the
// keeper is gone. Never touches other processes, nor the caller's own.
#ifndef AGENT_KEEPER_PROCESS_TABLE_H_
#define AGENT_KEEPER_PROCESS_TABLE_H_

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace det::agent {

struct TaskProcesses {
  // Leader of its session and process group; 0: only the marker is known. A zombie keeps the pid
  // reserved.
  pid_t leader = 0;
  // The task marker: "NAME=value" in the environment of this task only, such as DET_RUN_DIR=<its
  // run directory>; empty: none. A marker that ends in '/' is a prefix of such entries.
  std::string marker;
  // Its keeper, whose descendants all belong to the task; 0: none. An orphan becomes a child of the
  // keeper, so this also finds processes that have removed all other signs.
  pid_t keeper = 0;
  // Its control group (control_group.h); empty: none.
  std::string group;
  // Processes with one of these entries in their environment are excluded.
  std::vector<std::string> excluded;
};

// Returns the start time in clock ticks since boot; together with the pid it identifies a process
// uniquely. Returns NOT_FOUND if the process has ended.
absl::StatusOr<uint64_t> StartTime(pid_t pid);

// Identifies a start of the machine or, in a container, of the container: all processes have gone
// since another one. Empty if the kernel does not tell.
std::string GetBootId();

// Returns the running processes of a task, without zombies.
std::vector<pid_t> FindProcesses(const TaskProcesses& task);

// Sends SIGKILL to all processes of a task, repeatedly, until none is left. Returns
// DEADLINE_EXCEEDED with a pid after `timeout`: a process that is blocked in the kernel cannot be
// killed.
absl::Status KillProcesses(const TaskProcesses& task, absl::Duration timeout);

}  // namespace det::agent

#endif  // AGENT_KEEPER_PROCESS_TABLE_H_
