#include "trial_api/cpp/launch/children.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "trial_api/cpp/core/error.h"
#include "trial_api/cpp/launch/line_copier.h"

namespace det::launch {
namespace {

using Clock = std::chrono::steady_clock;

// The time to wait for the end of a rank that another rank has lost.
constexpr std::chrono::seconds kCause(5);

void WriteAll(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t wrote = ::write(fd, text.data(), text.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return;  // The reader has closed the stream.
    text.remove_prefix(static_cast<size_t>(wrote));
  }
}

// One of the two output streams of a child.
struct Stream {
  base::Fd fd;
  LineCopier copier;
  std::function<void(std::string_view)> listener;

  // Reads available output; closes the stream at its end.
  void Drain() {
    std::array<char, 65536> buffer;
    while (fd.valid()) {
      const ssize_t got = ::read(fd.get(), buffer.data(), buffer.size());
      if (got < 0 && errno == EINTR) continue;
      if (got < 0 && errno == EAGAIN) return;
      if (got <= 0) {
        fd.Close();
        return;
      }
      const std::string_view text(buffer.data(), static_cast<size_t>(got));
      if (listener) {
        listener(text);
      } else {
        copier.Add(text);
      }
    }
  }
};

Stream MakeStream(base::Fd fd, const std::string& prefix, int to) {
  ::fcntl(fd.get(), F_SETFL, O_NONBLOCK);
  return {std::move(fd), LineCopier(prefix, [to](std::string_view text) { WriteAll(to, text); }),
          nullptr};
}

class Group {
 public:
  Group(Signals& signals, std::chrono::milliseconds grace) : signals_(signals), grace_(grace) {}
  ~Group() {
    for (const Process& process : processes_) {
      if (!process.running) continue;
      ::kill(process.pid, SIGKILL);
      (void)base::WaitForExit(process.pid);
    }
  }

  void Start(const Child& child) {
    base::SpawnOptions options;
    options.argv = child.argv;
    options.env = child.env;
    options.cwd = child.cwd;
    options.group = base::ProcessGroup::kInherit;
    options.out = base::Redirect::Pipe();
    options.err = base::Redirect::Pipe();
    options.parent_death_signal = SIGKILL;
    absl::StatusOr<base::ChildProcess> spawned = base::Spawn(options);
    if (!spawned.ok()) throw Error(std::string(spawned.status().message()));
    processes_.push_back({spawned->pid});
    streams_.push_back(MakeStream(std::move(spawned->out), child.line_prefix, STDOUT_FILENO));
    streams_.push_back(MakeStream(std::move(spawned->err), child.line_prefix, STDERR_FILENO));
    streams_.back().listener = child.stderr_listener;
  }

  Outcome Run() {
    while (true) {
      Poll();
      for (Stream& stream : streams_) stream.Drain();
      if (const std::optional<int> signal = signals_.Take()) {
        if (!outcome_.stop_signal) outcome_.stop_signal = signal;
        // The sender determines the grace period, and can send SIGKILL.
        Signal(SIGTERM);
      }
      TakeExits();
      if (next_ && Clock::now() >= deadline_) EndAll(*next_);
      if (std::ranges::none_of(processes_, &Process::running)) break;
    }
    // Does not wait for the end of the streams, because a grandchild may keep them open.
    for (Stream& stream : streams_) {
      stream.Drain();
      stream.copier.Finish();
    }
    // Each process has two streams; stderr is the second.
    if (outcome_.failed) {
      outcome_.last_line = streams_[2 * *outcome_.failed + 1].copier.last_line();
    }
    return outcome_;
  }

 private:
  struct Process {
    pid_t pid = -1;
    bool running = true;
  };

  void Poll() {
    std::vector<pollfd> fds = {{signals_.fd(), POLLIN, 0}};
    for (const Stream& stream : streams_) {
      if (stream.fd.valid()) fds.push_back({stream.fd.get(), POLLIN, 0});
    }
    int timeout = -1;
    if (next_) {
      const auto left =
          std::chrono::duration_cast<std::chrono::milliseconds>(deadline_ - Clock::now());
      timeout = std::max(0, static_cast<int>(left.count()) + 1);
    }
    ::poll(fds.data(), fds.size(), timeout);
  }

  // How much a failure says about the cause: of several failures, the first of the most significant
  // kind is reported.
  enum class FailureKind { kLostAnother, kFailed, kKilled };
  static FailureKind GetFailureKind(const base::ProcessExit& exit) {
    if (exit.signal != 0) return FailureKind::kKilled;
    return exit.code == kPeerGoneExit ? FailureKind::kLostAnother : FailureKind::kFailed;
  }

  // If several fail at once, a process killed by a signal comes first, because the others failed as
  // a consequence. Once the others have been asked to stop, their exits are irrelevant.
  void TakeExits() {
    for (size_t i = 0; i < processes_.size(); ++i) {
      if (!processes_[i].running) continue;
      const auto exit = base::PollExit(processes_[i].pid);
      if (!exit.ok() || !exit->has_value()) continue;
      processes_[i].running = false;
      if ((*exit)->ok() || ending_) continue;
      if (outcome_.failed && GetFailureKind(**exit) <= GetFailureKind(outcome_.exit)) continue;
      outcome_.failed = i;
      outcome_.exit = **exit;
    }
    // After a stop request the processes save, for as long as the sender allows.
    if (!outcome_.failed || ending_ || outcome_.stop_signal) return;
    if (GetFailureKind(outcome_.exit) != FailureKind::kLostAnother) {
      EndAll(SIGTERM);
    } else if (!next_) {
      After(kCause, SIGTERM);
    }
  }

  // Sends a signal to all processes; after SIGTERM, SIGKILL follows.
  void EndAll(int signal) {
    ending_ = true;
    Signal(signal);
    next_.reset();
    if (signal == SIGTERM) After(grace_, SIGKILL);
  }

  void After(std::chrono::milliseconds pause, int signal) {
    next_ = signal;
    deadline_ = Clock::now() + pause;
  }

  void Signal(int signal) {
    for (const Process& process : processes_) {
      if (process.running) ::kill(process.pid, signal);
    }
  }

  Signals& signals_;
  const std::chrono::milliseconds grace_;
  std::vector<Process> processes_;
  std::vector<Stream> streams_;
  std::optional<int> next_;  // the signal to send at the deadline
  Clock::time_point deadline_;
  bool ending_ = false;
  Outcome outcome_;
};

}  // namespace

Outcome RunChildren(const std::vector<Child>& children, Signals& signals,
                    std::chrono::milliseconds grace) {
  Group group(signals, grace);
  for (const Child& child : children) group.Start(child);
  return group.Run();
}

}  // namespace det::launch
