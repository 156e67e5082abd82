// Other processes, known by pid and start time, so that a pid that was given away again is never
// taken for the old process.
// Called by local_cluster. Linux only (/proc, pidfd). Never signals a process that does not match.
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

// The live process with this pid; nullopt if there is none (a zombie is none).
std::optional<Process> FindProcess(pid_t pid);

bool IsAlive(const Process& process);

// Sends `signal` if it is still that process.
void Signal(const Process& process, int signal);

// Returns once it is gone; DEADLINE_EXCEEDED otherwise. Not ended by an interrupt: who stops
// something finishes it.
absl::Status WaitUntilGone(const Process& process, absl::Duration timeout);

// SIGTERM (or `gentle`), and SIGKILL if that does not help within `patience`. True if it went
// gently or was gone.
bool Stop(const Process& process, int gentle, absl::Duration patience);

// Bytes of resident memory; 0 if it is gone.
int64_t ResidentBytes(const Process& process);

absl::Time StartedAt(const Process& process);

// Who started it, or who adopted it since.
std::optional<Process> ParentOf(const Process& process);

// The kernel's name of its program, of 15 bytes at most; empty if it is gone.
std::string NameOf(const Process& process);

// Its children and theirs, leaves last; none if it is gone.
std::vector<Process> Descendants(const Process& process);

}  // namespace det::cli

#endif  // CLI_PROCESS_H_
