// Starts child processes from a list of arguments, waits for them by pid, and signals them by
// process group. Called by drivers (tasks) and by programs that run a tool (initdb), on any thread.
// Never uses a shell, never passes on file descriptors other than 0, 1 and 2, and never waits on
// its own.
#ifndef BASE_SUBPROCESS_H_
#define BASE_SUBPROCESS_H_

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/fd.h"

namespace det::base {

// The destination of one of the child's output streams.
struct Redirect {
  enum class Kind { kInherit, kNull, kPipe, kFile };

  static Redirect Inherit() { return {Kind::kInherit, ""}; }
  static Redirect Null() { return {Kind::kNull, ""}; }
  static Redirect Pipe() { return {Kind::kPipe, ""}; }
  static Redirect File(std::string path) { return {Kind::kFile, std::move(path)}; }  // Appends.

  Kind kind = Kind::kInherit;
  std::string path;
};

enum class ProcessGroup { kOwnGroup, kOwnSession, kInherit };

// A bind mount: only the child and its descendants see `from` at `to`. Both must exist.
struct Mount {
  std::string from;
  std::string to;
  friend bool operator==(const Mount&, const Mount&) = default;
};

struct SpawnOptions {
  std::vector<std::string> argv;  // argv[0] is searched in $PATH unless it contains a slash.
  // "NAME=value" each; if not set, the caller's environment.
  std::optional<std::vector<std::string>> env;
  std::string cwd;  // Working directory; empty: the caller's.
  ProcessGroup group = ProcessGroup::kOwnGroup;
  Redirect out;  // stdin is always /dev/null.
  Redirect err;
  std::optional<uid_t> uid;  // User to switch to, without supplementary groups; needs root.
  std::optional<gid_t> gid;
  std::vector<Mount> mounts;  // Applied in this order; needs CAP_SYS_ADMIN if not empty.
  // Signal that the child receives when the *thread* that called Spawn ends (PR_SET_PDEATHSIG); 0:
  // none.
  int parent_death_signal = 0;
};

struct ChildProcess {
  pid_t pid = -1;  // Also the process group id, unless kInherit.
  Fd out;          // The read end of the pipe, for Redirect::Pipe().
  Fd err;
};

// How a process ended.
struct ProcessExit {
  int code = 0;    // Exit status, if no signal ended the process.
  int signal = 0;  // Signal that ended the process, or 0.
  bool ok() const { return code == 0 && signal == 0; }
  friend bool operator==(const ProcessExit&, const ProcessExit&) = default;
};

// Starts a process and returns once the program runs. Errors in the child before exec are returned
// too: NOT_FOUND, PERMISSION_DENIED, ... with the program's name and the step that failed.
absl::StatusOr<ChildProcess> Spawn(const SpawnOptions& options);

// Waits until a child has ended, and reaps it.
absl::StatusOr<ProcessExit> WaitForExit(pid_t pid);

// Same as WaitForExit without blocking: returns nullopt while the process is running.
absl::StatusOr<std::optional<ProcessExit>> PollExit(pid_t pid);

// Sends `signal` to all processes of a group. Returns OK if none is left, INVALID_ARGUMENT for pgid
// <= 1.
absl::Status KillGroup(pid_t pgid, int signal);

}  // namespace det::base

#endif  // BASE_SUBPROCESS_H_
