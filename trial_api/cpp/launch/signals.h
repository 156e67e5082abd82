// The launcher's signals as a file descriptor for poll: SIGTERM, SIGINT and SIGCHLD are blocked and
// read from a signalfd. Created first in main(), so that all later threads inherit the mask; used
// on the main thread.
#ifndef TRIAL_API_CPP_LAUNCH_SIGNALS_H_
#define TRIAL_API_CPP_LAUNCH_SIGNALS_H_

#include <optional>

#include "base/fd.h"
#include "trial_api/cpp/core/error.h"

namespace det::launch {

// The launcher received a stop signal before it started ranks.
class Stopped : public Error {
 public:
  explicit Stopped(int signal);
  int signal() const { return signal_; }

 private:
  const int signal_;
};

class Signals {
 public:
  Signals();

  // Readable when a signal is pending.
  int fd() const { return fd_.get(); }
  // Reads the pending signals; returns the first SIGTERM or SIGINT among them.
  std::optional<int> Take();
  // Waits until `other` is readable, a signal is pending or the time has passed; -1 waits forever.
  // Throws Stopped for SIGTERM and SIGINT.
  void WaitOrStop(int other, int timeout_ms);

 private:
  base::Fd fd_;
};

}  // namespace det::launch

#endif  // TRIAL_API_CPP_LAUNCH_SIGNALS_H_
