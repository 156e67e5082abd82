// Finds the Python package of this installation, and the Python that runs Trial classes. Used by
// commands on any thread.
#ifndef CLI_TRIAL_PYTHON_H_
#define CLI_TRIAL_PYTHON_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace det::cli {

// Returns the PYTHONPATH of a program that imports `det`: that of this process, and before it the
// package of this installation, if it has one.
std::string PythonPath();

// Returns which Python runs Trial classes and why, in one sentence. If none can, returns NOT_FOUND
// with those that were tried and what to do; DEADLINE_EXCEEDED if the search takes longer than
// `limit`. Assumes that agents have the environment of this process, from which they start tasks.
absl::StatusOr<std::string> DescribeTrialPython(absl::Duration limit = absl::Seconds(20));

}  // namespace det::cli

#endif  // CLI_TRIAL_PYTHON_H_
