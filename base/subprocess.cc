#include "base/subprocess.h"

#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"

namespace det::base {
namespace {

// The step that failed in the child. It is sent to the parent with errno through a pipe that a
// successful exec closes.
enum class Step : int { kNone, kGroup, kStreams, kMounts, kCwd, kUser, kDeathSignal, kExec };

struct Failure {
  Step step = Step::kNone;
  int error = 0;
};

const char* Describe(Step step) {
  switch (step) {
    case Step::kGroup:
      return "set the process group of";
    case Step::kStreams:
      return "redirect the streams of";
    case Step::kMounts:
      return "create the private mounts of";
    case Step::kCwd:
      return "enter the working directory of";
    case Step::kUser:
      return "change the user of";
    case Step::kDeathSignal:
      return "set the death signal of";
    case Step::kExec:
    case Step::kNone:
      break;
  }
  return "execute";
}

// All data that the child needs, prepared before fork: between fork and exec of a process with
// threads, only async-signal-safe calls are allowed, so no allocation.
struct Plan {
  std::string program;
  std::vector<char*> argv;
  std::vector<char*> env;
  int in = -1;
  int out = -1;  // -1: inherited from the parent.
  int err = -1;
  int report = -1;
  pid_t parent = 0;
};

struct Stream {
  Fd parent;
  Fd child;
};

absl::StatusOr<Stream> OpenStream(const Redirect& redirect) {
  Stream stream;
  switch (redirect.kind) {
    case Redirect::Kind::kInherit:
      return stream;
    case Redirect::Kind::kNull:
      stream.child = Fd(::open("/dev/null", O_WRONLY | O_CLOEXEC));
      break;
    case Redirect::Kind::kFile:
      stream.child =
          Fd(::open(redirect.path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
      break;
    case Redirect::Kind::kPipe: {
      std::array<int, 2> ends;
      if (::pipe2(ends.data(), O_CLOEXEC) != 0) return absl::ErrnoToStatus(errno, "cannot pipe");
      stream.parent = Fd(ends[0]);
      stream.child = Fd(ends[1]);
      break;
    }
  }
  if (!stream.child.valid()) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot open ", redirect.path));
  }
  return stream;
}

// The search of execvp is not async-signal-safe, and would use the parent's $PATH.
std::string FindProgram(const SpawnOptions& options) {
  const std::string& name = options.argv[0];
  if (absl::StrContains(name, "/")) return name;
  std::string path;
  if (options.env.has_value()) {
    for (const std::string& entry : *options.env) {
      if (absl::StartsWith(entry, "PATH=")) path = entry.substr(5);
    }
  } else if (const char* own = ::getenv("PATH"); own != nullptr) {
    path = own;
  }
  if (path.empty()) path = "/usr/local/bin:/usr/bin:/bin";
  for (const absl::string_view dir : absl::StrSplit(path, ':', absl::SkipEmpty())) {
    std::string candidate = absl::StrCat(dir, "/", name);
    if (::access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return name;
}

std::vector<char*> Pointers(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// The functions from here to RunChild run in the child, before exec.

bool SetStreams(const Plan& plan) {
  const std::array<int, 3> descriptors = {plan.in, plan.out, plan.err};
  std::array<int, 3> high;
  // The descriptors are first moved to high numbers, so that no dup2 below overwrites one that is
  // still needed.
  for (int i = 0; i < 3; ++i) {
    high[i] = descriptors[i] < 0 ? -1 : ::fcntl(descriptors[i], F_DUPFD_CLOEXEC, 3);
    if (descriptors[i] >= 0 && high[i] < 0) return false;
  }
  for (int i = 0; i < 3; ++i) {
    if (high[i] >= 0 && ::dup2(high[i], i) < 0) return false;
  }
#ifdef CLOSE_RANGE_CLOEXEC
  // Closes descriptors that a library opened without close-on-exec. Older kernels do not support
  // this call.
  ::close_range(3, UINT_MAX, CLOSE_RANGE_CLOEXEC);
#endif
  return true;
}

bool SetGroup(ProcessGroup group) {
  if (group == ProcessGroup::kOwnGroup) return ::setpgid(0, 0) == 0;
  if (group == ProcessGroup::kOwnSession) return ::setsid() >= 0;
  return true;
}

bool SetUser(const SpawnOptions& options) {
  if (!options.uid.has_value() && !options.gid.has_value()) return true;
  if (::geteuid() == 0 && ::setgroups(0, nullptr) != 0) return false;
  if (options.gid.has_value() && ::setgid(*options.gid) != 0) return false;
  return !options.uid.has_value() || ::setuid(*options.uid) == 0;
}

// Later mounts of the machine remain visible; the mounts made here are not visible outside.
bool SetMounts(const std::vector<Mount>& mounts) {
  if (mounts.empty()) return true;
  if (::unshare(CLONE_NEWNS) != 0) return false;
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_SLAVE, nullptr) != 0) return false;
  for (const Mount& each : mounts) {
    const int made =
        ::mount(each.from.c_str(), each.to.c_str(), nullptr, MS_BIND | MS_REC, nullptr);
    if (made != 0) return false;
  }
  return true;
}

// Called after SetUser, because a change of user clears the setting.
bool SetDeathSignal(int signal, pid_t parent) {
  if (signal == 0) return true;
  if (::prctl(PR_SET_PDEATHSIG, signal) != 0) return false;
  if (::getppid() != parent) ::raise(signal);  // The parent ended before the setting took effect.
  return true;
}

void ResetSignals() {
  for (const int signal : {SIGPIPE, SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGCHLD, SIGUSR1, SIGUSR2}) {
    ::signal(signal, SIG_DFL);
  }
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

[[noreturn]] void RunChild(const SpawnOptions& options, const Plan& plan) {
  ResetSignals();
  Step failed = Step::kNone;
  if (!SetGroup(options.group)) {
    failed = Step::kGroup;
  } else if (!SetStreams(plan)) {
    failed = Step::kStreams;
  } else if (!SetMounts(options.mounts)) {
    failed = Step::kMounts;
  } else if (!SetUser(options)) {
    failed = Step::kUser;
  } else if (!options.cwd.empty() && ::chdir(options.cwd.c_str()) != 0) {
    failed = Step::kCwd;
  } else if (!SetDeathSignal(options.parent_death_signal, plan.parent)) {
    failed = Step::kDeathSignal;
  } else {
    ::execve(plan.program.c_str(), plan.argv.data(), plan.env.data());
    failed = Step::kExec;
  }
  const Failure failure{failed, errno};
  [[maybe_unused]] const ssize_t wrote = ::write(plan.report, &failure, sizeof(failure));
  ::_exit(127);
}

// Runs in the parent: returns the child's failure, or kNone once its exec has closed the pipe.
Failure ReadReport(int fd) {
  Failure failure;
  ssize_t got = -1;
  do {
    got = ::read(fd, &failure, sizeof(failure));
  } while (got < 0 && errno == EINTR);
  return got == static_cast<ssize_t>(sizeof(failure)) ? failure : Failure{};
}

ProcessExit FromWaitStatus(int status) {
  if (WIFSIGNALED(status)) return {0, WTERMSIG(status)};
  return {WEXITSTATUS(status), 0};
}

absl::StatusOr<std::optional<ProcessExit>> Wait(pid_t pid, int flags) {
  while (true) {
    int status = 0;
    const pid_t got = ::waitpid(pid, &status, flags);
    if (got == pid) return FromWaitStatus(status);
    if (got == 0) return std::nullopt;
    if (errno != EINTR) {
      return absl::ErrnoToStatus(errno, absl::StrCat("cannot wait for process ", pid));
    }
  }
}

}  // namespace

absl::StatusOr<ChildProcess> Spawn(const SpawnOptions& options) {
  if (options.argv.empty() || options.argv[0].empty()) {
    return absl::InvalidArgumentError("cannot execute: no program given");
  }
  DET_ASSIGN_OR_RETURN(Stream out, OpenStream(options.out));
  DET_ASSIGN_OR_RETURN(Stream err, OpenStream(options.err));
  DET_ASSIGN_OR_RETURN(Stream report, OpenStream(Redirect::Pipe()));
  const Fd null(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!null.valid()) return absl::ErrnoToStatus(errno, "cannot open /dev/null");

  Plan plan;
  plan.program = FindProgram(options);
  plan.argv = Pointers(options.argv);
  if (options.env.has_value()) {
    plan.env = Pointers(*options.env);
  } else {
    for (char** entry = environ; *entry != nullptr; ++entry) plan.env.push_back(*entry);
    plan.env.push_back(nullptr);
  }
  plan.in = null.get();
  plan.out = out.child.get();
  plan.err = err.child.get();
  plan.report = report.child.get();
  plan.parent = ::getpid();

  const pid_t pid = ::fork();
  if (pid < 0) return absl::ErrnoToStatus(errno, "cannot fork");
  if (pid == 0) RunChild(options, plan);

  report.child.Close();
  const Failure failure = ReadReport(report.parent.get());
  if (failure.step != Step::kNone) {
    (void)Wait(pid, 0);
    return absl::ErrnoToStatus(
        failure.error,
        absl::StrCat("cannot ", Describe(failure.step), " ", options.argv[0],
                     failure.step == Step::kCwd ? absl::StrCat(" (", options.cwd, ")") : ""));
  }
  return ChildProcess{pid, std::move(out.parent), std::move(err.parent)};
}

absl::StatusOr<ProcessExit> WaitForExit(pid_t pid) {
  DET_ASSIGN_OR_RETURN(const std::optional<ProcessExit> exit, Wait(pid, 0));
  return *exit;
}

absl::StatusOr<std::optional<ProcessExit>> PollExit(pid_t pid) { return Wait(pid, WNOHANG); }

absl::Status KillGroup(pid_t pgid, int signal) {
  if (pgid <= 1) return absl::InvalidArgumentError(absl::StrCat("invalid process group: ", pgid));
  if (::kill(-pgid, signal) == 0 || errno == ESRCH) return absl::OkStatus();
  return absl::ErrnoToStatus(errno, absl::StrCat("cannot signal process group ", pgid));
}

}  // namespace det::base
