#include "agent/driver/process_driver.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <map>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "agent/driver/output.h"
#include "agent/driver/process_table.h"
#include "agent/driver/unpack.h"
#include "base/check.h"
#include "base/file.h"
#include "base/status_macros.h"
#include "base/subprocess.h"

namespace det::agent {
namespace {

// How long SIGKILL may take: the kernel may be writing a core or waiting for a disk.
constexpr absl::Duration kKillPatience = absl::Seconds(30);

// The id becomes the name of a folder.
bool IsSafeName(const std::string& name) {
  if (name.empty() || name.size() > 200 || name[0] == '.') return false;
  for (const char c : name) {
    if (!absl::ascii_isalnum(c) && c != '.' && c != '-' && c != '_') return false;
  }
  return true;
}

std::string TaskFolder(const std::string& work_dir, const AllocationId& allocation) {
  return absl::StrCat(work_dir, "/tasks/", allocation.value());
}

TaskExit ToTaskExit(const base::ProcessExit& exit) {
  if (exit.signal == 0) return {.exit_code = exit.code};
  const char* name = ::sigabbrev_np(exit.signal);
  return {.exit_code = 128 + exit.signal,
          .signal = exit.signal,
          .message = absl::StrCat("killed by signal ", exit.signal,
                                  name == nullptr ? "" : absl::StrCat(" (SIG", name, ")"))};
}

// One of the task's two streams.
struct Stream {
  base::Fd fd;
  const char* name = "";
  LineSplitter splitter;
};

class Task {
 public:
  Task(TaskSpec spec, Host host, const ProcessDriverOptions& options)
      : spec_(std::move(spec)),
        host_(std::move(host)),
        options_(options),
        wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
        thread_([this] { Run(); }) {
    DET_CHECK(wake_.valid()) << "no file descriptor left for a task";
  }

  ~Task() {
    Signal(StopSignal::kKill);
    thread_.join();
  }

  // On the loop. A kill is never taken back by a later terminate.
  void Signal(StopSignal signal) {
    const int wanted = signal == StopSignal::kKill ? kKill : kTerminate;
    int before = wanted_.load();
    while (before < wanted && !wanted_.compare_exchange_weak(before, wanted)) {
    }
    prepare_stop_.request_stop();
    (void)::eventfd_write(wake_.get(), 1);
  }

  bool done() const { return done_; }

 private:
  enum Wanted { kNothing, kTerminate, kKill };

  // All below: on the task's thread.

  void Run() {
    TaskExit exit;
    if (const absl::Status prepared = Prepare(); !prepared.ok()) {
      exit = NeverRan(prepared);
    } else if (absl::StatusOr<base::ChildProcess> child = Launch(); !child.ok()) {
      exit = NeverRan(child.status());
    } else {
      exit = Watch(*std::move(child));
    }
    std::error_code ignored;  // What cannot be removed now goes when the agent starts next.
    std::filesystem::remove_all(TaskFolder(options_.work_dir, spec_.allocation), ignored);
    options_.listener->OnExited(spec_.allocation, exit);
    done_ = true;
  }

  TaskExit NeverRan(const absl::Status& why) const {
    if (wanted_ != kNothing) {
      const int signal = wanted_ == kKill ? SIGKILL : SIGTERM;
      return {.exit_code = 128 + signal, .signal = signal, .message = "stopped before it started"};
    }
    return {.exit_code = 1, .message = std::string(why.message()), .start_failed = true};
  }

  absl::Status Prepare() {
    if (!IsSafeName(spec_.allocation.value())) {
      return absl::InvalidArgumentError("the allocation's id cannot be the name of a folder");
    }
    if (spec_.argv.empty()) return absl::InvalidArgumentError("the task has no command");
    const std::string folder = TaskFolder(options_.work_dir, spec_.allocation);
    folders_ = {.work = folder + "/work", .run = folder + "/run"};
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
    DET_RETURN_IF_ERROR(base::MakeDirs(folders_.work));
    DET_RETURN_IF_ERROR(base::MakeDirs(folders_.run));
    // The token in the run files is the task's alone.
    (void)::chmod(folders_.run.c_str(), 0700);
    if (!spec_.context_hash.empty()) {
      DET_ASSIGN_OR_RETURN(base::Fd archive,
                           options_.contexts->Open(spec_.context_hash, prepare_stop_.get_token()));
      DET_RETURN_IF_ERROR(Unpack(std::move(archive), folders_.work));
    }
    return WriteRunFiles(spec_.files, folders_.run);
  }

  absl::StatusOr<base::ChildProcess> Launch() {
    if (wanted_ != kNothing) return absl::CancelledError("stopped");
    return base::Spawn({.argv = spec_.argv,
                        .env = TaskEnv(spec_, host_, folders_, OwnEnv()),
                        .cwd = folders_.work,
                        .group = base::ProcessGroup::kOwnSession,
                        .out = base::Redirect::Pipe(),
                        .err = base::Redirect::Pipe(),
                        .parent_death_signal = SIGKILL});
  }

  // From the start of the process until nothing of the task is left.
  TaskExit Watch(base::ChildProcess child) {
    processes_ = {.leader = child.pid, .mark = ProcessMark(options_.work_dir, spec_.allocation)};
    streams_[0].fd = std::move(child.out);
    streams_[0].name = "stdout";
    streams_[1].fd = std::move(child.err);
    streams_[1].name = "stderr";
    for (Stream& stream : streams_) (void)::fcntl(stream.fd.get(), F_SETFL, O_NONBLOCK);
    options_.listener->OnStarted(spec_.allocation, child.pid);

    WaitForLeader();
    // Its zombie keeps the numbers of session and group reserved until all of it is gone.
    const absl::Status gone = KillProcesses(processes_, kKillPatience);
    for (Stream& stream : streams_) Finish(stream);
    const absl::StatusOr<base::ProcessExit> exit = base::WaitForExit(child.pid);
    if (!exit.ok()) {
      return {.exit_code = 1, .message = std::string(exit.status().message())};
    }
    TaskExit task_exit = ToTaskExit(*exit);
    if (!gone.ok()) task_exit.message = std::string(gone.message());
    return task_exit;
  }

  void WaitForLeader() {
    const base::Fd leader(static_cast<int>(::syscall(SYS_pidfd_open, processes_.leader, 0)));
    DET_CHECK(leader.valid()) << "pidfd_open: " << std::strerror(errno);
    while (true) {
      // A stream that has ended is closed, and poll passes over -1.
      std::array<pollfd, 4> polls = {{{leader.get(), POLLIN, 0},
                                      {wake_.get(), POLLIN, 0},
                                      {streams_[0].fd.get(), POLLIN, 0},
                                      {streams_[1].fd.get(), POLLIN, 0}}};
      if (::poll(polls.data(), polls.size(), -1) < 0 && errno != EINTR) return;
      if (polls[1].revents != 0) DeliverSignal();
      for (size_t i = 0; i < streams_.size(); ++i) {
        if (polls[2 + i].revents != 0) ReadOnce(streams_[i]);
      }
      if (polls[0].revents != 0) return;
    }
  }

  void DeliverSignal() {
    eventfd_t count = 0;
    (void)::eventfd_read(wake_.get(), &count);
    const int wanted = wanted_;
    if (wanted == std::exchange(delivered_, wanted)) return;
    if (wanted == kTerminate) (void)base::KillGroup(processes_.leader, SIGTERM);
    if (wanted == kKill) (void)KillProcesses(processes_, kKillPatience);
  }

  // One buffer, so that a stream that never rests keeps neither the other nor a signal waiting.
  bool ReadOnce(Stream& stream) {
    std::array<char, 64 * 1024> buffer;
    const ssize_t got = ::read(stream.fd.get(), buffer.data(), buffer.size());
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (got <= 0) {
      stream.fd.Close();
      return false;
    }
    std::vector<std::string> lines;
    stream.splitter.Feed({buffer.data(), static_cast<size_t>(got)}, lines);
    Publish(stream, lines);
    return true;
  }

  // Takes what is left in the pipe, but does not wait for its end: a process that escaped may hold
  // it open.
  void Finish(Stream& stream) {
    while (stream.fd.valid() && ReadOnce(stream)) {
    }
    stream.fd.Close();
    std::vector<std::string> lines;
    stream.splitter.Finish(lines);
    Publish(stream, lines);
  }

  void Publish(const Stream& stream, const std::vector<std::string>& lines) {
    if (lines.empty()) return;
    const absl::Time now = absl::Now();
    std::vector<OutputLine> parsed;
    parsed.reserve(lines.size());
    for (const std::string& line : lines) {
      parsed.push_back(ParseLine(line));
      parsed.back().time = now;
      parsed.back().stdtype = stream.name;
    }
    options_.listener->OnOutput(spec_.allocation, std::move(parsed));
  }

  const TaskSpec spec_;
  const Host host_;
  const ProcessDriverOptions options_;
  TaskFolders folders_;
  TaskProcesses processes_;
  std::array<Stream, 2> streams_;
  int delivered_ = kNothing;

  std::stop_source prepare_stop_;
  std::atomic<int> wanted_ = kNothing;
  std::atomic<bool> done_ = false;
  const base::Fd wake_;
  std::thread thread_;  // Last: it uses all the others.
};

class RealProcessDriver final : public ProcessDriver {
 public:
  explicit RealProcessDriver(const ProcessDriverOptions& options) : options_(options) {}

  ~RealProcessDriver() override {
    for (auto& [id, task] : tasks_) task->Signal(StopSignal::kKill);
    tasks_.clear();
  }

  void SetHost(const Host& host) override { host_ = host; }

  void Start(const TaskSpec& spec) override {
    // Threads that have ended are collected here, so that none wakes up for it.
    std::erase_if(tasks_, [](const auto& entry) { return entry.second->done(); });
    tasks_.erase(spec.allocation);
    tasks_.emplace(spec.allocation, std::make_unique<Task>(spec, host_, options_));
  }

  void Signal(const AllocationId& allocation, StopSignal signal) override {
    const auto task = tasks_.find(allocation);
    if (task != tasks_.end()) task->second->Signal(signal);
  }

 private:
  const ProcessDriverOptions options_;
  Host host_;
  std::map<AllocationId, std::unique_ptr<Task>> tasks_;
};

}  // namespace

std::unique_ptr<ProcessDriver> MakeProcessDriver(const ProcessDriverOptions& options) {
  return std::make_unique<RealProcessDriver>(options);
}

std::string ProcessMark(const std::string& work_dir, const AllocationId& allocation) {
  const std::string tasks = absl::StrCat("DET_RUN_DIR=", work_dir, "/tasks/");
  return allocation.value().empty() ? tasks : absl::StrCat(tasks, allocation.value(), "/run");
}

}  // namespace det::agent
