// Runs some processes together and passes on what they write. Called by the launcher for the ranks
// and for the compiler, on the main thread, which it keeps until all have ended.
//
// One that fails takes the others down: SIGTERM, then SIGKILL after a grace period. One that exits
// with kPeerGoneExit may end before the one that it lost: that is waited for a moment, to be named
// in its place. A SIGTERM or SIGINT to the launcher is passed on to all as SIGTERM.
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
  std::vector<std::string> env;  // all of it, "NAME=value" each
  std::string cwd;
  std::string line_prefix;  // in front of each line that it writes
  // Takes what it writes to stderr, as it comes; without one it is passed on to ours.
  std::function<void(std::string_view text)> stderr_listener;
};

struct Outcome {
  // The first that failed, with how, rather than one that only lost another; none if all ended
  // well.
  std::optional<size_t> failed;
  base::ProcessExit exit;
  std::string last_words;  // of its stderr (line_copier.h)
  // The signal that the launcher got meanwhile.
  std::optional<int> stop_signal;
};

// Throws Error when one of them cannot be started; the others are gone then.
Outcome RunChildren(const std::vector<Child>& children, Signals& signals,
                    std::chrono::milliseconds grace = std::chrono::seconds(2));

}  // namespace det::launch

#endif  // TRIAL_API_CPP_LAUNCH_CHILDREN_H_
