// The launcher's signals as something to poll: SIGTERM, SIGINT and SIGCHLD no longer interrupt,
// they wait in a descriptor. Made first of all in main(), so that every later thread inherits the
// mask; used on the main thread.
#ifndef TRIAL_API_CPP_LAUNCH_SIGNALS_H_
#define TRIAL_API_CPP_LAUNCH_SIGNALS_H_

#include <optional>

#include "base/fd.h"
#include "trial_api/cpp/core/error.h"

namespace det::launch {

// The launcher was told to end while it was not yet running ranks.
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

  // Readable when a signal has come.
  int fd() const { return fd_.get(); }
  // Takes what has come; the first SIGTERM or SIGINT among it.
  std::optional<int> Take();
  // Waits until `other` is readable, a signal has come or the time has passed; -1 waits for ever.
  // Throws Stopped for SIGTERM and SIGINT.
  void WaitOrStop(int other, int timeout_ms);

 private:
  base::Fd fd_;
};

}  // namespace det::launch

#endif  // TRIAL_API_CPP_LAUNCH_SIGNALS_H_
