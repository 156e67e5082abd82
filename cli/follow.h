// Staying with an experiment: progress, logs, the final state.
// Called by `experiment create -f`, `wait`, on the main thread, which waits.
// A master that restarts meanwhile is waited for (patience.h). Ends with CANCELLED when
// interrupted; the experiment goes on.
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

// "62 %"; "-" for one that failed, whose searcher is done all the same.
std::string ProgressText(const api::v1::Experiment& experiment);

// "● 42 mnist-asha   62 %  7 running  64 done  best 0.913 (trial 117)   ETA 6 min". A long name
// gives way to state and progress where the terminal is narrow.
std::string ProgressLine(const api::v1::Experiment& experiment, absl::Time now, const Style& style);

// Shows progress on stderr until the experiment is terminal, and that last state. `changed` hears
// of each state on the way.
absl::StatusOr<api::v1::Experiment> FollowExperiment(
    const ApiClient& api, int id, Screen* screen,
    absl::FunctionRef<void(const api::v1::Experiment&)> changed);

// The same with the lines of the experiment's first trial.
absl::StatusOr<api::v1::Experiment> FollowWithLogs(const ApiClient& api, int id, LogForm form,
                                                   Screen* screen);

// The id of the experiment's first trial; 0 if it has none, with `wait` if it ended without.
absl::StatusOr<int> FirstTrial(const ApiClient& api, int experiment_id, bool wait, Screen* screen);

}  // namespace det::cli

#endif  // CLI_FOLLOW_H_
