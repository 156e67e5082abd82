// Runs the program of a service as a child process: reports to the master once it serves, watches
// whether a notebook is idle, and ends as the program ends.
//
// Called once by main, before it has started any thread.
#ifndef AGENT_RUNNER_SERVICE_RUNNER_H_
#define AGENT_RUNNER_SERVICE_RUNNER_H_

#include <string>

#include "absl/status/statusor.h"

namespace det::agent {

struct ServiceOptions {
  std::string kind;  // "notebook", "shell" or "tensorboard"
  std::string run_dir;
};

// Returns the exit code of the program. If a signal ended the program, the same signal ends this
// process. An error means that the program was not started.
absl::StatusOr<int> RunService(const ServiceOptions& options);

}  // namespace det::agent

#endif  // AGENT_RUNNER_SERVICE_RUNNER_H_
