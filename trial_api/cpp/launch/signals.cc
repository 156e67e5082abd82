#include "trial_api/cpp/launch/signals.h"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <string>

namespace det::launch {

Stopped::Stopped(int signal)
    : Error("stopped by signal " + std::to_string(signal)), signal_(signal) {}

Signals::Signals() {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int signal : {SIGTERM, SIGINT, SIGCHLD}) ::sigaddset(&set, signal);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  fd_ = base::Fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd_.valid()) throw Error(std::string("cannot create a signalfd: ") + std::strerror(errno));
}

std::optional<int> Signals::Take() {
  std::optional<int> stop;
  signalfd_siginfo info;
  while (::read(fd_.get(), &info, sizeof(info)) == static_cast<ssize_t>(sizeof(info))) {
    const int signal = static_cast<int>(info.ssi_signo);
    if (signal != SIGCHLD && !stop) stop = signal;
  }
  return stop;
}

void Signals::WaitOrStop(int other, int timeout_ms) {
  std::array<pollfd, 2> fds = {pollfd{fd_.get(), POLLIN, 0}, pollfd{other, POLLIN, 0}};
  ::poll(fds.data(), fds.size(), timeout_ms);
  if (const std::optional<int> signal = Take()) throw Stopped(*signal);
}

}  // namespace det::launch
