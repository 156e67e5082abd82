// Child processes: started from a list of words, watched by pid, ended by group.
// Called by drivers (tasks) and by whoever runs a tool (initdb); on any thread.
// Never uses a shell, never hands on a file descriptor besides 0, 1 and 2, never waits by itself.
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

// Where one of the child's streams goes.
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

// `from` is seen at `to` by the child and its descendants, and by nobody else. Both exist.
struct Mount {
  std::string from;
  std::string to;
  friend bool operator==(const Mount&, const Mount&) = default;
};

struct SpawnOptions {
  std::vector<std::string> argv;  // argv[0] is looked for in $PATH unless it has a slash.
  std::optional<std::vector<std::string>> env;  // "NAME=value" each; without, the caller's own.
  std::string cwd;                              // Empty: the caller's.
  ProcessGroup group = ProcessGroup::kOwnGroup;
  Redirect out;  // The child reads /dev/null.
  Redirect err;
  std::optional<uid_t> uid;  // To drop to, with gid and without further groups; needs root.
  std::optional<gid_t> gid;
  std::vector<Mount> mounts;  // In this order; needs CAP_SYS_ADMIN, unless there are none.
  // Sent to the child when the *thread* that called Spawn ends (PR_SET_PDEATHSIG); 0: none.
  int parent_death_signal = 0;
};

struct ChildProcess {
  pid_t pid = -1;  // Also its group, unless kInherit.
  Fd out;          // The reading end, for Redirect::Pipe().
  Fd err;
};

// How a process ended.
struct ProcessExit {
  int code = 0;    // As given to exit(), if no signal.
  int signal = 0;  // That ended it, or 0.
  bool ok() const { return code == 0 && signal == 0; }
  friend bool operator==(const ProcessExit&, const ProcessExit&) = default;
};

// Returns once the program runs. What keeps it from running, in the child too, is an error here:
// NOT_FOUND, PERMISSION_DENIED, ... with the name of the program and the step that failed.
absl::StatusOr<ChildProcess> Spawn(const SpawnOptions& options);

// Waits for the end of a child and takes its zombie away.
absl::StatusOr<ProcessExit> WaitForExit(pid_t pid);

// The same without waiting: nullopt while it runs.
absl::StatusOr<std::optional<ProcessExit>> PollExit(pid_t pid);

// Sends `signal` to each process of a group; OK if none is left. INVALID_ARGUMENT for pgid <= 1.
absl::Status KillGroup(pid_t pgid, int signal);

}  // namespace det::base

#endif  // BASE_SUBPROCESS_H_
