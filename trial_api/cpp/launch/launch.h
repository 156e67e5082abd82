// The two ways to run a Trial: as a task of the cluster, and locally with --local. Called by
// main().
#ifndef TRIAL_API_CPP_LAUNCH_LAUNCH_H_
#define TRIAL_API_CPP_LAUNCH_LAUNCH_H_

#include <string>
#include <vector>

#include "trial_api/cpp/launch/signals.h"

namespace det::launch {

struct Options {
  std::string source;  // on the cluster relative to the working directory
  std::string class_name;
  std::string sdk_dir;
  bool local = false;
  int slots = 1;  // with --local
  // with --local: arguments for the trial's command line
  std::vector<std::string> trial_arguments;
};

// Return the exit code for main(). Throw Error.
int LaunchLocal(const Options& options, Signals& signals);
int LaunchOnCluster(const Options& options, Signals& signals);

}  // namespace det::launch

#endif  // TRIAL_API_CPP_LAUNCH_LAUNCH_H_
