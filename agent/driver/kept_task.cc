#include "agent/driver/kept_task.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "agent/driver/library_files.h"
#include "agent/driver/output.h"
#include "agent/driver/task_folders.h"
#include "agent/driver/unpack.h"
#include "agent/keeper/control_group.h"
#include "agent/keeper/process_table.h"
#include "base/check.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "base/subprocess.h"

namespace det::agent {
namespace {

// How long SIGKILL may take: the kernel may be writing a core or waiting for a disk.
constexpr absl::Duration kKillPatience = absl::Seconds(30);
constexpr size_t kReadBytes = 256 << 10;

// What the master has said to the task too (docs/task_environment.md).
GroupLimits LimitsOf(const TaskSpec& spec) {
  GroupLimits limits;
  const auto cpus = spec.env.find("DET_CPUS");
  if (cpus != spec.env.end()) (void)absl::SimpleAtod(cpus->second, &limits.cpus);
  const auto memory = spec.env.find("DET_MEMORY");
  if (memory != spec.env.end()) (void)absl::SimpleAtoi(memory->second, &limits.memory);
  return limits;
}

TaskExit ToTaskExit(const KeptExit& exit) {
  TaskExit task{.exit_code = exit.code,
                .signal = exit.signal,
                .message = exit.message,
                .start_failed = exit.start_failed};
  if (exit.signal == 0) return task;
  task.exit_code = 128 + exit.signal;
  const char* name = ::sigabbrev_np(exit.signal);
  if (task.message.empty()) {
    task.message = absl::StrCat("killed by signal ", exit.signal,
                                name == nullptr ? "" : absl::StrCat(" (SIG", name, ")"));
  }
  return task;
}

base::Fd OpenPidfd(pid_t pid) {
  return base::Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

size_t SizeOf(const OutputLine& line) { return sizeof(line) + line.text.size(); }

OutputLine ToLine(OutputReader& reader, const Frame& frame) {
  OutputLine line = reader.Read(frame.stream, frame.text);
  line.time = frame.time;
  line.stdtype = frame.stream == OutputStream::kStdout ? "stdout" : "stderr";
  line.sequence = frame.sequence;
  return line;
}

}  // namespace

KeptTask::KeptTask(TaskSpec spec, Host host, const ProcessDriverOptions& options)
    : allocation_(spec.allocation),
      spec_(std::move(spec)),
      host_(std::move(host)),
      options_(options),
      folders_(FoldersOf(options.work_dir, allocation_)),
      keep_(KeepFolderOf(options.work_dir, allocation_)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      thread_([this] { Run(); }) {
  DET_CHECK(wake_.valid()) << "no file descriptor left for a task";
}

KeptTask::KeptTask(AllocationId allocation, const ProcessDriverOptions& options)
    : allocation_(std::move(allocation)),
      options_(options),
      folders_(FoldersOf(options.work_dir, allocation_)),
      keep_(KeepFolderOf(options.work_dir, allocation_)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      thread_([this] { Run(); }) {
  DET_CHECK(wake_.valid()) << "no file descriptor left for a task";
}

KeptTask::~KeptTask() {
  leaving_ = true;
  prepare_stop_.request_stop();
  (void)::eventfd_write(wake_.get(), 1);
  thread_.join();
}

void KeptTask::Signal(StopSignal signal) {
  const int wanted = signal == StopSignal::kKill ? kKill : kTerminate;
  int before = wanted_.load();
  while (before < wanted && !wanted_.compare_exchange_weak(before, wanted)) {
  }
  prepare_stop_.request_stop();
  (void)::eventfd_write(wake_.get(), 1);
}

void KeptTask::Delivered(int64_t sequence) {
  delivered_ = std::max(delivered_.load(), sequence);
  (void)::eventfd_write(wake_.get(), 1);
}

void KeptTask::Run() {
  if (spec_.has_value()) {
    absl::Status begun = Prepare();
    if (begun.ok()) begun = StartKeeper();
    if (!begun.ok()) {
      if (leaving_) return;  // The next agent finds that it never began.
      RemoveTaskFolder(options_.work_dir, allocation_);
      options_.listener->OnExited(allocation_, NeverRan(begun));
      done_ = true;
      options_.listener->OnOutputEnded(allocation_);
      return;
    }
  }
  Follow();
}

TaskExit KeptTask::NeverRan(const absl::Status& why) const {
  if (wanted_ != kNothing) {
    const int signal = wanted_ == kKill ? SIGKILL : SIGTERM;
    return {.exit_code = 128 + signal, .signal = signal, .message = "stopped before it started"};
  }
  return {.exit_code = 1, .message = std::string(why.message()), .start_failed = true};
}

absl::Status KeptTask::Prepare() {
  if (!IsSafeName(allocation_.value())) {
    return absl::InvalidArgumentError("the allocation's id cannot be the name of a folder");
  }
  if (spec_->argv.empty()) return absl::InvalidArgumentError("the task has no command");
  RemoveTaskFolder(options_.work_dir, allocation_);
  DET_RETURN_IF_ERROR(base::MakeDirs(folders_.work));
  DET_RETURN_IF_ERROR(base::MakeDirs(folders_.run));
  // The token in the run files is the task's alone.
  (void)::chmod(folders_.run.c_str(), 0700);
  DET_RETURN_IF_ERROR(WriteLibraryFiles(*spec_, host_, folders_));
  if (!spec_->context_hash.empty()) DET_RETURN_IF_ERROR(UnpackContext());
  std::vector<RunFile> files = spec_->files;
  if (!host_.tls.authority.empty()) {
    files.push_back({kMasterCertificate, host_.tls.authority, 0600});
  }
  return WriteRunFiles(files, folders_.run);
}

// Twice where the existing library is served: what the task makes of the one does not get into
// checkpoints, as the other does.
absl::Status KeptTask::UnpackContext() {
  std::vector<std::string> folders = {folders_.work};
  if (!options_.places.run.empty()) folders.push_back(ModelFolder(folders_));
  for (const std::string& folder : folders) {
    DET_ASSIGN_OR_RETURN(base::Fd archive,
                         options_.contexts->Open(spec_->context_hash, prepare_stop_.get_token()));
    DET_RETURN_IF_ERROR(Unpack(std::move(archive), folder));
  }
  return absl::OkStatus();
}

// With its control group, where tasks have them. Several agents may share a machine, and an
// allocation be on more than one of them, so its id alone is no name.
absl::StatusOr<Launch> KeptTask::MakeLaunch() const {
  Launch launch{.argv = WithStartupHook(spec_->argv, folders_),
                .env = TaskEnv(*spec_, host_, folders_, OwnEnv()),
                .work_dir = folders_.work,
                .mark = ProcessMark(options_.work_dir, allocation_),
                .slots = spec_->slots,
                .fraction = spec_->fraction,
                .spool_limit = options_.spool_limit,
                .group = "",
                .mounts = {}};
  DET_ASSIGN_OR_RETURN(launch.mounts, MountsOf(*spec_, folders_, options_.places));
  if (options_.group.empty()) return launch;
  const GroupLimits limits = LimitsOf(*spec_);
  launch.group = absl::StrCat(options_.group, "/", ::getpid(), "-", allocation_.value());
  launch.memory = limits.memory;
  DET_RETURN_IF_ERROR(MakeGroup(launch.group, limits));
  return launch;
}

// Returns once the task runs, or its keeper knows why it does not.
absl::Status KeptTask::StartKeeper() {
  if (prepare_stop_.stop_requested()) return absl::CancelledError("stopped");
  DET_ASSIGN_OR_RETURN(const Launch launch, MakeLaunch());
  DET_RETURN_IF_ERROR(keep_.Prepare(launch));
  const std::string errors = keep_.File("errors");
  DET_ASSIGN_OR_RETURN(const base::ChildProcess child,
                       base::Spawn({.argv = {options_.keeper, keep_.path()},
                                    .env = std::vector<std::string>{launch.mark},
                                    .out = base::Redirect::Null(),
                                    .err = base::Redirect::File(errors)}));
  DET_ASSIGN_OR_RETURN(const base::ProcessExit exit, base::WaitForExit(child.pid));
  // Of a keeper that took over and ended, what it left behind tells more.
  if (exit.ok() || !keep_.TakeBack()) return absl::OkStatus();
  if (!launch.group.empty()) RemoveGroup(launch.group);
  const std::string said = base::ReadFile(errors).value_or("");
  return absl::InternalError(
      absl::StrCat("the task's keeper did not start: ", absl::StripAsciiWhitespace(said)));
}

void KeptTask::Follow() {
  stored_delivered_ = keep_.Delivered();
  reader_.emplace(keep_, stored_delivered_ + 1);
  nudge_ = base::Fd(::open(keep_.File("nudge").c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  FindKeeper();
  while (!leaving_) {
    // In this order: what it wrote before its end was seen is told before its end.
    const bool gone = !keeper_.valid();
    TellStart();
    const bool all = TellLines();
    if (gone && !exited_) TellExit();
    if (gone && all) {
      if (reader_->next() <= last_line_) {
        TellLost(last_line_ + 1 - reader_->next(), last_line_);
      }
      done_ = true;
      options_.listener->OnOutputEnded(allocation_);
      return;
    }
    Wait();
  }
  TakeDelivered();
}

void KeptTask::FindKeeper() {
  const pid_t pid = keep_.Keeper();
  if (pid == 0) return;
  keeper_ = OpenPidfd(pid);
  keeper_pid_ = pid;
  // It may have ended before, and its number be another's by now.
  if (keep_.Keeper() != pid) keeper_.Close();
}

void KeptTask::TellStart() {
  if (started_) return;
  const absl::StatusOr<FirstProcess> task = keep_.Task();
  if (!task.ok()) return;
  started_ = true;
  options_.listener->OnStarted(allocation_, task->pid);
}

bool KeptTask::TellLines() {
  while (ahead_bytes_ < kAhead) {
    std::vector<SpooledLine> spooled = reader_->Read(kReadBytes);
    if (spooled.empty()) return true;
    std::vector<OutputLine> lines;
    for (const SpooledLine& line : spooled) {
      if (line.missing > 0) {
        Tell(std::exchange(lines, {}));
        TellLost(line.missing, line.frame.sequence - 1);
      }
      lines.push_back(ToLine(output_, line.frame));
    }
    Tell(std::move(lines));
  }
  return false;
}

// It takes the number of the last line that it stands for.
void KeptTask::TellLost(int64_t count, int64_t sequence) {
  OutputLine notice;
  notice.time = absl::Now();
  notice.level = LogLevel::kWarning;
  notice.stdtype = "stderr";
  notice.source = "agent";
  notice.text = absl::StrCat(count, count == 1 ? " line was" : " lines were",
                             " lost here: the master did not take them in time, or the agent's "
                             "disk is full");
  notice.sequence = sequence;
  Tell({std::move(notice)});
}

void KeptTask::Tell(std::vector<OutputLine> lines) {
  if (lines.empty()) return;
  size_t bytes = 0;
  for (const OutputLine& line : lines) bytes += SizeOf(line);
  ahead_.emplace_back(lines.back().sequence, bytes);
  ahead_bytes_ += bytes;
  options_.listener->OnOutput(allocation_, std::move(lines));
}

void KeptTask::TellExit() {
  exited_ = true;
  nudge_.Close();
  const TaskExit exit = ReadExit();
  RemoveFolder(folders_.work);
  RemoveFolder(folders_.run);
  options_.listener->OnExited(allocation_, exit);
}

TaskExit KeptTask::ReadExit() {
  const absl::StatusOr<KeptExit> exit = keep_.Exit();
  if (!exit.ok()) return KeeperLost();
  last_line_ = exit->last_line;
  return ToTaskExit(*exit);
}

// Its first process died with it; what that one started may live.
TaskExit KeptTask::KeeperLost() {
  TaskProcesses left{.mark = ProcessMark(options_.work_dir, allocation_),
                     .group = keep_.Launched().value_or(Launch()).group};
  const FirstProcess task = keep_.Task().value_or(FirstProcess());
  const absl::StatusOr<uint64_t> start_time = StartTime(task.pid);
  // With another start time the number belongs to somebody else by now.
  if (!start_time.ok() || *start_time == task.start_time) left.leader = task.pid;
  const absl::Status gone = KillProcesses(left, kKillPatience);
  if (!left.group.empty()) RemoveGroup(left.group);
  if (!gone.ok()) return {.exit_code = 1, .message = std::string(gone.message())};
  return {.exit_code = 128 + SIGKILL,
          .signal = SIGKILL,
          .message = "the task's keeper was killed, or the machine restarted"};
}

void KeptTask::Wait() {
  std::array<pollfd, 3> polls = {
      {{keeper_.get(), POLLIN, 0}, {nudge_.get(), POLLIN, 0}, {wake_.get(), POLLIN, 0}}};
  if (::poll(polls.data(), polls.size(), -1) < 0) return;
  if (polls[1].revents != 0) {
    std::array<char, 4096> news;
    while (::read(nudge_.get(), news.data(), news.size()) > 0) {
    }
    // Nobody is left to write into it.
    if ((polls[1].revents & POLLHUP) != 0) nudge_.Close();
  }
  if (polls[2].revents != 0) {
    eventfd_t count = 0;
    (void)::eventfd_read(wake_.get(), &count);
    SendSignal();
    TakeDelivered();
  }
  if (polls[0].revents != 0) {
    keeper_.Close();
    // It is init's child; but in a container that may be this agent.
    (void)::waitpid(keeper_pid_, nullptr, WNOHANG);
  }
}

void KeptTask::SendSignal() {
  const int wanted = wanted_;
  if (wanted == std::exchange(sent_, wanted) || !keeper_.valid()) return;
  const int signal = wanted == kKill ? SIGUSR1 : SIGTERM;
  (void)::syscall(SYS_pidfd_send_signal, keeper_.get(), signal, nullptr, 0);
}

void KeptTask::TakeDelivered() {
  const int64_t delivered = delivered_;
  while (!ahead_.empty() && ahead_.front().first <= delivered) {
    ahead_bytes_ -= ahead_.front().second;
    ahead_.pop_front();
  }
  if (delivered <= stored_delivered_ || !keep_.SetDelivered(delivered).ok()) return;
  stored_delivered_ = delivered;
  const std::vector<Segment> segments = keep_.Segments();
  (void)keep_.RemoveSegments(segments, UpTo(segments, delivered));
}

}  // namespace det::agent
