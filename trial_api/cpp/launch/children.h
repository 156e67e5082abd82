// Runs a group of processes and copies their output. Used by the launcher for the ranks and for the
// compiler, on the main thread, until all of them have ended.
//
// If one fails, the others are stopped: SIGTERM, then SIGKILL after a grace period. A process that
// exits with kPeerGoneExit may end before the one that failed: that one is awaited for a moment,
// and reported instead. SIGTERM and SIGINT of the launcher are forwarded to all processes as
// SIGTERM.
#ifndef TRIAL_API_CPP_LAUNCH_CHILDREN_H_
#define TRIAL_API_CPP_LAUNCH_CHILDREN_H_

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/subprocess.h"
#include "trial_api/cpp/launch/signals.h"

namespace det::launch {

struct Child {
  std::vector<std::string> argv;
  std::vector<std::string> env;  // complete environment, "NAME=value" each
  std::string cwd;
  std::string line_prefix;  // prefix of each line of its output
  // Receives its stderr as it is written; if not set, it is copied to the launcher's stderr.
  std::function<void(std::string_view text)> stderr_listener;
};

struct Outcome {
  // Index of the process that failed first, preferring those that did not exit with kPeerGoneExit;
  // not set if all succeeded.
  std::optional<size_t> failed;
  base::ProcessExit exit;
  std::string last_line;  // last line of its stderr (line_copier.h)
  // The signal that the launcher received meanwhile.
  std::optional<int> stop_signal;
};

// Throws Error if a process cannot be started; the others have ended then.
Outcome RunChildren(const std::vector<Child>& children, Signals& signals,
                    std::chrono::milliseconds grace = std::chrono::seconds(2));

}  // namespace det::launch

#endif  // TRIAL_API_CPP_LAUNCH_CHILDREN_H_
