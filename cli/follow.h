// Follows an experiment until it ends: progress, logs and the final state. Used by `experiment
// create -f` and `experiment wait` on the main thread, which blocks. If the master restarts, waits
// for it (retry_policy.h). Returns CANCELLED when interrupted; the experiment keeps running.
#ifndef CLI_FOLLOW_H_
#define CLI_FOLLOW_H_

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/api_client.h"
#include "cli/logs.h"
#include "cli/terminal.h"
#include "det/api/v1/experiment.pb.h"

namespace det::cli {

// Returns the progress as "62 %"; "-" for a failed experiment whose searcher has finished.
std::string ProgressText(const api::v1::Experiment& experiment);

// Returns "● 42 mnist-asha   62 %  7 running  64 done  best 0.913 (trial 117)   ETA 6 min". On a
// narrow terminal a long name is shortened so that state and progress fit.
std::string ProgressLine(const api::v1::Experiment& experiment, absl::Time now, const Style& style);

// Shows progress on stderr until the experiment has ended and returns the final state. `changed` is
// called with each state.
absl::StatusOr<api::v1::Experiment> FollowExperiment(
    const ApiClient& api, int id, Screen* screen,
    absl::FunctionRef<void(const api::v1::Experiment&)> changed);

// Same as FollowExperiment, and also prints the log of the experiment's first trial.
absl::StatusOr<api::v1::Experiment> FollowWithLogs(const ApiClient& api, int id, LogFormat form,
                                                   Screen* screen);

// Returns the ID of the experiment's first trial; 0 if it has no trial, with `wait` only if it
// ended without one. Prints no notices if `screen` is nullptr.
absl::StatusOr<int> FirstTrial(const ApiClient& api, int experiment_id, bool wait, Screen* screen);

}  // namespace det::cli

#endif  // CLI_FOLLOW_H_
