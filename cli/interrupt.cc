#include "cli/interrupt.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

namespace det::cli {
namespace {

std::atomic<bool> interrupted = false;
int wake_pipe[2] = {-1, -1};

void Wake() {
  const char byte = 0;
  [[maybe_unused]] const ssize_t written = write(wake_pipe[1], &byte, 1);
}

void OnSignal(int signal) {
  if (interrupted.exchange(true) && signal == SIGINT) _exit(3);
  Wake();
}

absl::Status Wait(int fd, short events, absl::Duration timeout, bool anyway) {
  const absl::Time end = absl::Now() + timeout;
  while (true) {
    if (absl::Status status = CheckInterrupt(); !status.ok() && !anyway) return status;
    pollfd fds[] = {{fd, events, 0}, {anyway ? -1 : wake_pipe[0], POLLIN, 0}};
    int milliseconds = -1;
    if (timeout != absl::InfiniteDuration()) {
      const absl::Duration left =
          std::clamp(end - absl::Now(), absl::ZeroDuration(), absl::Hours(1));
      milliseconds =
          static_cast<int>(absl::ToInt64Milliseconds(absl::Ceil(left, absl::Milliseconds(1))));
    }
    const int ready = poll(fds, 2, milliseconds);
    if (ready < 0 && errno != EINTR) {
      return absl::InternalError(absl::StrCat("poll: ", strerror(errno)));
    }
    if (ready > 0 && fds[0].revents != 0) return absl::OkStatus();
    if (ready == 0 && absl::Now() >= end) return absl::DeadlineExceededError("timed out");
  }
}

}  // namespace

void InstallInterrupt() {
  if (pipe2(wake_pipe, O_CLOEXEC | O_NONBLOCK) != 0) return;
  struct sigaction action = {};
  action.sa_handler = OnSignal;
  for (const int signal : {SIGINT, SIGTERM}) {
    // The parent process may have set the signal to be ignored.
    struct sigaction present = {};
    sigaction(signal, nullptr, &present);
    if (present.sa_handler != SIG_IGN) sigaction(signal, &action, nullptr);
  }
  signal(SIGPIPE, SIG_IGN);
}

void Interrupt() {
  interrupted = true;
  Wake();
}

bool Interrupted() { return interrupted.load(); }

int InterruptFd() { return wake_pipe[0]; }

absl::Status CheckInterrupt() {
  return Interrupted() ? absl::CancelledError("interrupted") : absl::OkStatus();
}

absl::Status WaitFor(int fd, short events, absl::Duration timeout) {
  return Wait(fd, events, timeout, /*anyway=*/false);
}

absl::Status WaitUninterruptibly(int fd, short events, absl::Duration timeout) {
  return Wait(fd, events, timeout, /*anyway=*/true);
}

}  // namespace det::cli
