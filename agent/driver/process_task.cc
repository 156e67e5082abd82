#include "agent/driver/process_task.h"

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

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "agent/driver/library_files.h"
#include "agent/driver/output_reader.h"
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

// The maximum time for a SIGKILL to take effect: the kernel may be writing a core dump or waiting
// for a disk.
constexpr absl::Duration kKillTimeout = absl::Seconds(30);
// The name by which the master orders it.
constexpr char kRunner[] = "resolute-runner";
constexpr size_t kReadBytes = 256 << 10;

// The limits are those that the master sets in the task's environment (docs/task_environment.md).
GroupLimits GetLimits(const TaskSpec& spec) {
  GroupLimits limits;
  const auto cpus = spec.env.find("DET_CPUS");
  if (cpus != spec.env.end()) (void)absl::SimpleAtod(cpus->second, &limits.cpus);
  const auto memory = spec.env.find("DET_MEMORY");
  if (memory != spec.env.end()) (void)absl::SimpleAtoi(memory->second, &limits.memory);
  return limits;
}

TaskExit ToTaskExit(const RecordedExit& exit) {
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

size_t GetSize(const OutputLine& line) { return sizeof(line) + line.text.size(); }

OutputLine ToLine(OutputReader& reader, const Frame& frame) {
  OutputLine line = reader.Read(frame.stream, frame.text);
  line.time = frame.time;
  line.stdtype = frame.stream == OutputStream::kStdout ? "stdout" : "stderr";
  line.sequence = frame.sequence;
  return line;
}

}  // namespace

ProcessTask::ProcessTask(TaskSpec spec, Host host, const ProcessDriverOptions& options)
    : allocation_(spec.allocation),
      spec_(std::move(spec)),
      host_(std::move(host)),
      options_(options),
      folders_(GetTaskFolders(options.work_dir, allocation_)),
      keep_(GetKeeperFolder(options.work_dir, allocation_)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      thread_([this] { Run(); }) {
  DET_CHECK(wake_.valid()) << "cannot create an eventfd for a task";
}

ProcessTask::ProcessTask(AllocationId allocation, const ProcessDriverOptions& options)
    : allocation_(std::move(allocation)),
      options_(options),
      folders_(GetTaskFolders(options.work_dir, allocation_)),
      keep_(GetKeeperFolder(options.work_dir, allocation_)),
      wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      thread_([this] { Run(); }) {
  DET_CHECK(wake_.valid()) << "cannot create an eventfd for a task";
}

ProcessTask::~ProcessTask() {
  detaching_ = true;
  prepare_stop_.request_stop();
  (void)::eventfd_write(wake_.get(), 1);
  thread_.join();
}

void ProcessTask::Signal(StopSignal signal) {
  const int requested = signal == StopSignal::kKill ? kKill : kTerminate;
  int before = requested_.load();
  while (before < requested && !requested_.compare_exchange_weak(before, requested)) {
  }
  prepare_stop_.request_stop();
  (void)::eventfd_write(wake_.get(), 1);
}

void ProcessTask::Delivered(int64_t sequence) {
  delivered_ = std::max(delivered_.load(), sequence);
  (void)::eventfd_write(wake_.get(), 1);
}

void ProcessTask::Run() {
  if (spec_.has_value()) {
    absl::Status status = Prepare();
    if (status.ok()) status = StartKeeper();
    if (!status.ok()) {
      if (detaching_) return;  // The next agent finds that the task never started.
      RemoveTaskFolder(options_.work_dir, allocation_);
      options_.listener->OnExited(allocation_, MakeStartFailure(status));
      done_ = true;
      options_.listener->OnOutputEnded(allocation_);
      return;
    }
  }
  FollowKeeper();
}

TaskExit ProcessTask::MakeStartFailure(const absl::Status& why) const {
  if (requested_ != kNone) {
    const int signal = requested_ == kKill ? SIGKILL : SIGTERM;
    return {.exit_code = 128 + signal, .signal = signal, .message = "stopped before it started"};
  }
  return {.exit_code = 1, .message = std::string(why.message()), .start_failed = true};
}

absl::Status ProcessTask::Prepare() {
  if (!IsSafeFileName(allocation_.value())) {
    return absl::InvalidArgumentError("the allocation id is not a valid directory name");
  }
  if (spec_->argv.empty()) return absl::InvalidArgumentError("the task has no command");
  RemoveTaskFolder(options_.work_dir, allocation_);
  DET_RETURN_IF_ERROR(base::MakeDirs(folders_.work));
  DET_RETURN_IF_ERROR(base::MakeDirs(folders_.run));
  // The run files contain a token that other tasks must not read.
  (void)::chmod(folders_.run.c_str(), 0700);
  DET_RETURN_IF_ERROR(WriteLibraryFiles(*spec_, host_, folders_));
  if (!spec_->context_hash.empty()) DET_RETURN_IF_ERROR(UnpackContext());
  std::vector<RunFile> files = spec_->files;
  if (!host_.tls.authority.empty()) {
    files.push_back({kMasterCertificate, host_.tls.authority, 0600});
  }
  return WriteRunFiles(files, folders_.run);
}

// Unpacks the context twice if mount points for the determined library exist: changes of the task
// in its working directory must not get into checkpoints, which contain the second copy.
absl::Status ProcessTask::UnpackContext() {
  std::vector<std::string> folders = {folders_.work};
  if (!options_.mount_points.run.empty()) folders.push_back(GetModelFolder(folders_));
  for (const std::string& folder : folders) {
    DET_ASSIGN_OR_RETURN(base::Fd archive,
                         options_.contexts->Open(spec_->context_hash, prepare_stop_.get_token()));
    DET_RETURN_IF_ERROR(Unpack(std::move(archive), folder));
  }
  return absl::OkStatus();
}

// resolute-runner runs the startup hooks of its task itself.
std::vector<std::string> ProcessTask::MakeArgv() const {
  std::vector<std::string> argv = spec_->argv;
  if (argv[0] != kRunner) return WithStartupHook(std::move(argv), folders_);
  if (!options_.runner.empty()) argv[0] = options_.runner;
  return argv;
}

// Includes the task's control group, if tasks have one. Its name contains the pid, because several
// agents may share a machine and an allocation may run on more than one of them.
absl::StatusOr<Launch> ProcessTask::MakeLaunch() const {
  Launch launch{.argv = MakeArgv(),
                .env = TaskEnv(*spec_, host_, folders_, OwnEnv()),
                .work_dir = folders_.work,
                .marker = GetTaskMarker(options_.work_dir, allocation_),
                .slots = spec_->slots,
                .fraction = spec_->fraction,
                .spool_limit = options_.spool_limit,
                .group = "",
                .mounts = {},
                .boot = GetBootId()};
  DET_ASSIGN_OR_RETURN(launch.mounts, GetMounts(*spec_, folders_, options_.mount_points));
  if (options_.group.empty()) return launch;
  const GroupLimits limits = GetLimits(*spec_);
  launch.group = absl::StrCat(options_.group, "/", ::getpid(), "-", allocation_.value());
  launch.memory = limits.memory;
  DET_RETURN_IF_ERROR(CreateGroup(launch.group, limits));
  return launch;
}

// Returns once the task is running, or its keeper knows why it does not start.
absl::Status ProcessTask::StartKeeper() {
  if (prepare_stop_.stop_requested()) return absl::CancelledError("stopped");
  DET_ASSIGN_OR_RETURN(const Launch launch, MakeLaunch());
  DET_RETURN_IF_ERROR(keep_.Prepare(launch));
  const std::string errors = keep_.File("errors");
  DET_ASSIGN_OR_RETURN(const base::ChildProcess child,
                       base::Spawn({.argv = {options_.keeper, keep_.path()},
                                    .env = std::vector<std::string>{launch.marker},
                                    .out = base::Redirect::Null(),
                                    .err = base::Redirect::File(errors)}));
  DET_ASSIGN_OR_RETURN(const base::ProcessExit exit, base::WaitForExit(child.pid));
  // If a keeper took over and has ended, its files explain more than its exit status.
  if (exit.ok() || !keep_.CancelLaunch()) return absl::OkStatus();
  if (!launch.group.empty()) RemoveGroup(launch.group);
  const std::string output = base::ReadFile(errors).value_or("");
  return absl::InternalError(
      absl::StrCat("the task's keeper failed to start: ", absl::StripAsciiWhitespace(output)));
}

void ProcessTask::FollowKeeper() {
  stored_delivered_ = keep_.ReadDelivered();
  reader_.emplace(keep_, stored_delivered_ + 1);
  wakeup_ = base::Fd(::open(keep_.File(kWakeupFifo).c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  FindKeeper();
  while (!detaching_) {
    // The order matters: lines that the keeper wrote before it ended must be delivered before the
    // exit.
    const bool keeper_ended = !keeper_.valid();
    NotifyStarted();
    const bool all = DeliverLines();
    if (keeper_ended && !exited_) NotifyExited();
    if (keeper_ended && all) {
      if (reader_->next() <= last_line_) {
        DeliverLossNotice(last_line_ + 1 - reader_->next(), last_line_);
      }
      done_ = true;
      options_.listener->OnOutputEnded(allocation_);
      return;
    }
    Wait();
  }
  StoreDelivered();
}

void ProcessTask::FindKeeper() {
  const pid_t pid = keep_.GetKeeperPid();
  watched_ = spec_.has_value() || pid != 0;
  if (pid == 0) return;
  keeper_ = OpenPidfd(pid);
  keeper_pid_ = pid;
  // The keeper may have ended meanwhile, and its pid may be in use by another process.
  if (keep_.GetKeeperPid() != pid) keeper_.Close();
}

void ProcessTask::NotifyStarted() {
  if (started_) return;
  const absl::StatusOr<FirstProcess> task = keep_.ReadFirstProcess();
  if (!task.ok()) return;
  started_ = true;
  options_.listener->OnStarted(allocation_, task->pid);
}

bool ProcessTask::DeliverLines() {
  while (undelivered_bytes_ < kMaxUndelivered) {
    std::vector<SpooledLine> spooled = reader_->Read(kReadBytes);
    if (spooled.empty()) return true;
    std::vector<OutputLine> lines;
    for (const SpooledLine& line : spooled) {
      if (line.missing > 0) {
        Deliver(std::exchange(lines, {}));
        DeliverLossNotice(line.missing, line.frame.sequence - 1);
      }
      lines.push_back(ToLine(output_, line.frame));
    }
    Deliver(std::move(lines));
  }
  return false;
}

// The notice has the number of the last lost line.
void ProcessTask::DeliverLossNotice(int64_t count, int64_t sequence) {
  OutputLine notice;
  notice.time = absl::Now();
  notice.level = LogLevel::kWarning;
  notice.stdtype = "stderr";
  notice.source = "agent";
  notice.text = absl::StrCat(count, count == 1 ? " line was" : " lines were",
                             " lost here: the master did not accept them in time, or the agent's "
                             "disk is full");
  notice.sequence = sequence;
  Deliver({std::move(notice)});
}

void ProcessTask::Deliver(std::vector<OutputLine> lines) {
  if (lines.empty()) return;
  size_t bytes = 0;
  for (const OutputLine& line : lines) bytes += GetSize(line);
  undelivered_.emplace_back(lines.back().sequence, bytes);
  undelivered_bytes_ += bytes;
  options_.listener->OnOutput(allocation_, std::move(lines));
}

void ProcessTask::NotifyExited() {
  exited_ = true;
  wakeup_.Close();
  const TaskExit exit = ReadExit();
  RemoveFolder(folders_.work);
  RemoveFolder(folders_.run);
  options_.listener->OnExited(allocation_, exit);
}

TaskExit ProcessTask::ReadExit() {
  const absl::StatusOr<RecordedExit> exit = keep_.ReadExit();
  if (!exit.ok()) return HandleLostKeeper();
  last_line_ = exit->last_line;
  return ToTaskExit(*exit);
}

// The first process was killed together with its keeper; its descendants may still be running.
TaskExit ProcessTask::HandleLostKeeper() {
  const Launch launch = keep_.ReadLaunch().value_or(Launch());
  TaskProcesses left{.marker = GetTaskMarker(options_.work_dir, allocation_),
                     .group = launch.group};
  const FirstProcess task = keep_.ReadFirstProcess().value_or(FirstProcess());
  const absl::StatusOr<uint64_t> start_time = StartTime(task.pid);
  // If the start time differs, the pid belongs to another process.
  if (!start_time.ok() || *start_time == task.start_time) left.leader = task.pid;
  const absl::Status killed = KillProcesses(left, kKillTimeout);
  if (!left.group.empty()) RemoveGroup(left.group);
  if (!killed.ok()) return {.exit_code = 1, .message = std::string(killed.message())};
  const bool restarted = !launch.boot.empty() && launch.boot != GetBootId();
  return {.exit_code = 128 + SIGKILL,
          .signal = SIGKILL,
          .message = restarted  ? "the machine restarted"
                     : watched_ ? "the task's keeper was killed"
                                : "the task's keeper was killed while its agent was away",
          .system_failure = restarted || !watched_};
}

void ProcessTask::Wait() {
  std::array<pollfd, 3> polls = {
      {{keeper_.get(), POLLIN, 0}, {wakeup_.get(), POLLIN, 0}, {wake_.get(), POLLIN, 0}}};
  if (::poll(polls.data(), polls.size(), -1) < 0) return;
  if (polls[1].revents != 0) {
    std::array<char, 4096> news;
    while (::read(wakeup_.get(), news.data(), news.size()) > 0) {
    }
    // No process has the FIFO open for writing any more.
    if ((polls[1].revents & POLLHUP) != 0) wakeup_.Close();
  }
  if (polls[2].revents != 0) {
    eventfd_t count = 0;
    (void)::eventfd_read(wake_.get(), &count);
    SendSignal();
    StoreDelivered();
  }
  if (polls[0].revents != 0) {
    keeper_.Close();
    // The keeper is a child of init; in a container this agent may be init.
    (void)::waitpid(keeper_pid_, nullptr, WNOHANG);
  }
}

void ProcessTask::SendSignal() {
  const int requested = requested_;
  if (requested == std::exchange(sent_signal_, requested) || !keeper_.valid()) return;
  const int signal = requested == kKill ? SIGUSR1 : SIGTERM;
  (void)::syscall(SYS_pidfd_send_signal, keeper_.get(), signal, nullptr, 0);
}

void ProcessTask::StoreDelivered() {
  const int64_t delivered = delivered_;
  while (!undelivered_.empty() && undelivered_.front().first <= delivered) {
    undelivered_bytes_ -= undelivered_.front().second;
    undelivered_.pop_front();
  }
  if (delivered <= stored_delivered_ || !keep_.WriteDelivered(delivered).ok()) return;
  stored_delivered_ = delivered;
  const std::vector<Segment> segments = keep_.ListSegments();
  (void)keep_.RemoveSegments(segments, CountDelivered(segments, delivered));
}

}  // namespace det::agent
