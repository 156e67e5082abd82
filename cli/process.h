// Processes identified by PID and start time, so that a reused PID is never mistaken for the old
// process. Used by local_cluster. Linux only (/proc, pidfd). Never signals a process that does not
// match.
#ifndef CLI_PROCESS_H_
#define CLI_PROCESS_H_

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"

namespace det::cli {

struct Process {
  pid_t pid = 0;
  int64_t start_time = 0;  // clock ticks after boot, from /proc/<pid>/stat
  friend bool operator==(const Process&, const Process&) = default;
};

// Returns the running process with this PID; nullopt if there is none. A zombie is not running.
std::optional<Process> FindProcess(pid_t pid);

bool IsAlive(const Process& process);

// Sends `signal` if the process is still running.
void Signal(const Process& process, int signal);

// Waits until the process has exited; DEADLINE_EXCEEDED after `timeout`. An interrupt does not end
// the wait: a stop is always completed.
absl::Status WaitForExit(const Process& process, absl::Duration timeout);

// Sends `gentle` (such as SIGTERM), then SIGKILL after `grace_period`. Returns true if the process
// exited without SIGKILL.
bool Stop(const Process& process, int gentle, absl::Duration grace_period);

// Returns the resident memory in bytes; 0 if the process has exited.
int64_t ResidentBytes(const Process& process);

absl::Time StartedAt(const Process& process);

// Returns the parent process, or the process that adopted it.
std::optional<Process> FindParent(const Process& process);

// Returns the kernel's name of its program, at most 15 bytes; empty if it has exited.
std::string GetName(const Process& process);

// Returns its children and their descendants, leaves last; none if it has exited.
std::vector<Process> Descendants(const Process& process);

}  // namespace det::cli

#endif  // CLI_PROCESS_H_
