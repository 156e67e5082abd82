#include "agent/keeper/keeper.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "agent/keeper/control_group.h"
#include "base/file.h"
#include "base/status_macros.h"

namespace det::agent {
namespace {

// The maximum time for a SIGKILL to take effect: the kernel may be writing a core dump or waiting
// for a disk.
constexpr absl::Duration kKillTimeout = absl::Seconds(30);

// How long a stream must be idle before a line that ends in \r is spooled without the next byte.
constexpr absl::Duration kReturnDelay = absl::Milliseconds(100);

absl::StatusOr<base::Fd> OpenSignals() {
  sigset_t signals;
  ::sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGUSR1, SIGCHLD}) ::sigaddset(&signals, signal);
  ::sigprocmask(SIG_BLOCK, &signals, nullptr);
  // Signals that end an agent or its terminal do not concern a task.
  for (const int signal : {SIGINT, SIGHUP, SIGPIPE, SIGQUIT, SIGUSR2}) ::signal(signal, SIG_IGN);
  base::Fd fd(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd.valid()) return absl::ErrnoToStatus(errno, "cannot create a signalfd");
  return fd;
}

// Returns a size such as "2 GiB", "1.5 GiB" or "300 MiB".
std::string FormatMemory(int64_t bytes) {
  static constexpr std::array kUnits = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  return absl::StrFormat("%.4g %s", value, kUnits[unit]);
}

}  // namespace

absl::StatusOr<Keeper> Keeper::TakeOver(const std::string& path) {
  DET_ASSIGN_OR_RETURN(base::Fd signals, OpenSignals());
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) {
    return absl::ErrnoToStatus(errno, "cannot become the subreaper of the task");
  }
  KeeperFolder folder(path);
  DET_ASSIGN_OR_RETURN(KeeperFolder::Claim claim, folder.TakeOver());
  return Keeper(std::move(folder), std::move(claim), std::move(signals));
}

Keeper::Keeper(KeeperFolder folder, KeeperFolder::Claim claim, base::Fd signals)
    : folder_(std::move(folder)),
      claim_(std::move(claim)),
      signals_(std::move(signals)),
      // Opened for reading too, so that opening and writing succeed without a reader.
      wakeup_(::open(folder_.File(kWakeupFifo).c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC)),
      streams_{{{.fd = {}, .kind = OutputStream::kStdout, .splitter = {}},
                {.fd = {}, .kind = OutputStream::kStderr, .splitter = {}}}},
      spool_(folder_, claim_.launch.spool_limit) {}

void Keeper::Run(absl::AnyInvocable<void()> started) {
  const absl::Status launched = Launch();
  if (!launched.ok()) {
    if (!claim_.launch.group.empty()) RemoveGroup(claim_.launch.group);
    WriteExit({.code = 1, .start_failed = true, .message = std::string(launched.message())});
    return started();
  }
  SendWakeup();
  started();
  Watch();
  WriteExit(EndTask());
}

// Enters the task's group before the spawn, so that the task is created in it, and leaves it
// afterwards, because the keeper must outlive all members.
absl::StatusOr<base::ChildProcess> Keeper::Spawn() const {
  const agent::Launch& launch = claim_.launch;
  const bool grouped = !launch.group.empty();
  if (grouped) DET_RETURN_IF_ERROR(EnterGroup(launch.group));
  absl::StatusOr<base::ChildProcess> child = base::Spawn({.argv = launch.argv,
                                                          .env = launch.env,
                                                          .cwd = launch.work_dir,
                                                          .group = base::ProcessGroup::kOwnSession,
                                                          .out = base::Redirect::Pipe(),
                                                          .err = base::Redirect::Pipe(),
                                                          .mounts = launch.mounts,
                                                          .parent_death_signal = SIGKILL});
  if (grouped) {
    const absl::Status left = EnterGroup(GetAgentGroup(launch.group));
    if (!left.ok() && child.ok()) {
      (void)base::KillGroup(child->pid, SIGKILL);
      (void)base::WaitForExit(child->pid);
    }
    DET_RETURN_IF_ERROR(left);
  }
  return child;
}

absl::Status Keeper::Launch() {
  DET_ASSIGN_OR_RETURN(base::ChildProcess child, Spawn());
  const agent::Launch& launch = claim_.launch;
  processes_ = {
      .leader = child.pid, .marker = launch.marker, .keeper = ::getpid(), .group = launch.group};
  streams_[0].fd = std::move(child.out);
  streams_[1].fd = std::move(child.err);
  for (Stream& stream : streams_) (void)::fcntl(stream.fd.get(), F_SETFL, O_NONBLOCK);
  const std::string text = absl::StrCat(child.pid, " ", StartTime(child.pid).value_or(0), " \n");
  // Writes through the descriptor that holds the lock: closing another descriptor of the file would
  // release the lock.
  if (::pwrite(claim_.lock.get(), text.data(), text.size(), 0) ==
      static_cast<ssize_t>(text.size())) {
    return absl::OkStatus();
  }
  const absl::Status status = absl::ErrnoToStatus(errno, "cannot write the keeper's directory");
  (void)KillProcesses(processes_, kKillTimeout);
  (void)base::WaitForExit(child.pid);
  return status;
}

void Keeper::Watch() {
  while (true) {
    // The descriptor of a stream that has ended is -1, which poll ignores.
    std::array<pollfd, 3> polls = {{{signals_.get(), POLLIN, 0},
                                    {streams_[0].fd.get(), POLLIN, 0},
                                    {streams_[1].fd.get(), POLLIN, 0}}};
    if (::poll(polls.data(), polls.size(), SpoolPendingReturns()) < 0 && errno != EINTR) return;
    for (size_t i = 0; i < streams_.size(); ++i) {
      if (polls[1 + i].revents != 0) ReadOnce(streams_[i]);
    }
    if (polls[0].revents != 0 && HandleSignals()) return;
  }
}

bool Keeper::HandleSignals() {
  signalfd_siginfo info;
  while (::read(signals_.get(), &info, sizeof(info)) == sizeof(info)) {
    if (info.ssi_signo == SIGTERM) (void)base::KillGroup(processes_.leader, SIGTERM);
    if (info.ssi_signo == SIGUSR1) (void)KillProcesses(processes_, kKillTimeout);
  }
  return ReapUntilFirst();
}

// Examines children before it reaps them: the first process remains a zombie until all others have
// ended, so that its pid, which is also the session id, is not reused.
bool Keeper::ReapUntilFirst() const {
  while (true) {
    siginfo_t info = {};
    if (::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0) return errno == ECHILD;
    if (info.si_pid == 0) return false;
    if (info.si_pid == processes_.leader) return true;
    (void)::waitpid(info.si_pid, nullptr, WNOHANG);
  }
}

RecordedExit Keeper::EndTask() {
  const absl::Status killed = KillProcesses(processes_, kKillTimeout);
  for (Stream& stream : streams_) Finish(stream);
  RecordedExit kept;
  kept.last_line = spool_.last_line();
  const absl::StatusOr<base::ProcessExit> exit = base::WaitForExit(processes_.leader);
  if (exit.ok()) {
    kept.code = exit->code;
    kept.signal = exit->signal;
    kept.message = std::string(killed.message());
  } else {
    kept.code = 1;
    kept.message = std::string(exit.status().message());
  }
  LeaveGroup(kept);
  return kept;
}

// Only the group knows whether the memory limit was reached.
void Keeper::LeaveGroup(RecordedExit& exit) const {
  const agent::Launch& launch = claim_.launch;
  if (launch.group.empty()) return;
  const bool failed = exit.code != 0 || exit.signal != 0;
  if (failed && exit.message.empty() && launch.memory > 0 && RanOutOfMemory(launch.group)) {
    exit.message = absl::StrCat("killed: out of memory, limit ", FormatMemory(launch.memory));
  }
  RemoveGroup(launch.group);
}

// Reads at most one buffer, so that a busy stream delays neither the other one nor signals.
bool Keeper::ReadOnce(Stream& stream) {
  std::array<char, 64 * 1024> buffer;
  const ssize_t got = ::read(stream.fd.get(), buffer.data(), buffer.size());
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  if (got <= 0) {
    stream.fd.Close();
    return false;
  }
  stream.read_at = absl::Now();
  std::vector<std::string> lines;
  stream.splitter.Feed({buffer.data(), static_cast<size_t>(got)}, lines);
  Spool(stream, lines);
  return true;
}

int Keeper::SpoolPendingReturns() {
  const absl::Time now = absl::Now();
  absl::Duration next = absl::InfiniteDuration();
  for (Stream& stream : streams_) {
    if (!stream.splitter.HasPendingReturn()) continue;
    const absl::Duration left = stream.read_at + kReturnDelay - now;
    if (left > absl::ZeroDuration()) {
      next = std::min({next, left, kReturnDelay});  // The clock may have been set back.
      continue;
    }
    std::vector<std::string> lines;
    stream.splitter.FlushReturn(lines);
    Spool(stream, lines);
  }
  if (next == absl::InfiniteDuration()) return -1;
  return static_cast<int>(absl::ToInt64Milliseconds(next)) + 1;
}

// Reads the rest of the pipe, but does not wait for its end, because a process that cannot be
// killed may hold it open.
void Keeper::Finish(Stream& stream) {
  while (stream.fd.valid() && ReadOnce(stream)) {
  }
  stream.fd.Close();
  std::vector<std::string> lines;
  stream.splitter.Finish(lines);
  Spool(stream, lines);
}

void Keeper::Spool(const Stream& stream, const std::vector<std::string>& lines) {
  if (lines.empty()) return;
  spool_.Append(stream.kind, absl::Now(), lines);
  SendWakeup();
}

// The exit is more important than the output: if the disk is full, lines are removed to make room.
void Keeper::WriteExit(const RecordedExit& exit) {
  while (!base::WriteFileAtomically(folder_.File("exit"), Encode(exit), 0600).ok()) {
    const std::vector<Segment> segments = folder_.ListSegments();
    if (segments.empty() || !folder_.RemoveSegments(segments, 1)) return;
  }
}

// If the pipe is full, a wake-up is pending already.
void Keeper::SendWakeup() const {
  [[maybe_unused]] const ssize_t wrote = ::write(wakeup_.get(), "", 1);
}

}  // namespace det::agent
