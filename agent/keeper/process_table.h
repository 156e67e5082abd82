// The processes of a task: those of its control group where it has one; and, found in /proc, those
// of its session, their descendants, and whatever inherited the mark of its environment, even after
// leaving the session.
// Called by a task's keeper when the task ends, and by ProcessDriver for those whose keeper is
// gone. Never touches a process that bears none of these signs, nor the caller's own.
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
  // Its session and group leader; 0: known by the mark alone. A zombie keeps the number reserved.
  pid_t leader = 0;
  // "NAME=value" in the environment of the task alone, as in DET_RUN_DIR=<its run directory>;
  // empty: none. One that ends in '/' is a prefix of such entries.
  std::string mark;
  // Its keeper: all that descends from it belongs to the task, which it does not itself; 0: none.
  // Who loses its parent becomes the keeper's child, so this finds also what hides its other signs.
  pid_t keeper = 0;
  // Its control group (control_group.h); empty: none.
  std::string group;
  // Whoever has one of these in its environment does not belong.
  std::vector<std::string> spared;
};

// In clock ticks since boot; with the pid it names a process for ever. NOT_FOUND if it is gone.
absl::StatusOr<uint64_t> StartTime(pid_t pid);

// Those that live now; zombies do not.
std::vector<pid_t> FindProcesses(const TaskProcesses& task);

// SIGKILL to all of them, again for what they start meanwhile, until none is left.
// DEADLINE_EXCEEDED with a pid after `patience`: a process in the kernel's hands cannot be killed.
absl::Status KillProcesses(const TaskProcesses& task, absl::Duration patience);

}  // namespace det::agent

#endif  // AGENT_KEEPER_PROCESS_TABLE_H_
