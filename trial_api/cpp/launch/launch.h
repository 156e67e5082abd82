// The two ways to run a Trial: as a task of the cluster and, with --local, without one. Called by
// main() alone.
#ifndef TRIAL_API_CPP_LAUNCH_LAUNCH_H_
#define TRIAL_API_CPP_LAUNCH_LAUNCH_H_

#include <string>
#include <vector>

#include "trial_api/cpp/launch/signals.h"

namespace det::launch {

struct Options {
  std::string source;  // on the cluster below the working directory
  std::string class_name;
  std::string sdk_dir;
  bool local = false;
  int slots = 1;                             // --local
  std::vector<std::string> trial_arguments;  // --local: for the trial's own command line
};

// The exit code for main(). Throws Error.
int LaunchLocal(const Options& options, Signals& signals);
int LaunchOnCluster(const Options& options, Signals& signals);

}  // namespace det::launch

#endif  // TRIAL_API_CPP_LAUNCH_LAUNCH_H_
