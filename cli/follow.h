// Staying with an experiment or a trial: progress, logs, the final state.
// Called by `experiment create -f`, `wait`, `logs`, on the main thread, which waits.
// Ends with CANCELLED when interrupted; the experiment goes on.
#ifndef CLI_FOLLOW_H_
#define CLI_FOLLOW_H_

#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "cli/api_client.h"
#include "cli/terminal.h"
#include "det/api/v1/experiment.pb.h"
#include "det/api/v1/trial.pb.h"

namespace det::cli {

// How log lines are shown: on stdout as text or as the API's JSON, or beside a JSON result on
// stderr.
enum class LogForm { kText, kJson, kAside };

// "● 42 mnist-asha   62 %  7 running  64 done  best 0.913 (trial 117)   ETA 6 min"
std::string ProgressLine(const api::v1::Experiment& experiment, absl::Time now, const Style& style);

// Shows progress on stderr until the experiment is terminal, and that last state. `changed` hears
// of each state on the way.
absl::StatusOr<api::v1::Experiment> FollowExperiment(
    const ApiClient& api, int id, Screen* screen,
    absl::FunctionRef<void(const api::v1::Experiment&)> changed);

// The same with the lines of the experiment's first trial.
absl::StatusOr<api::v1::Experiment> FollowWithLogs(const ApiClient& api, int id, LogForm form,
                                                   Screen* screen);

// A line of a log as shown: "[time] [rank=0] text".
std::string LogText(const api::v1::TrialLogsResponse& line, const Style& style);

// The trial's lines, with `follow` until it has ended. kJson: one object per line.
absl::Status PrintLogs(const ApiClient& api, const api::v1::TrialLogsRequest& request, LogForm form,
                       Screen* screen);

// Waits until the experiment has a trial, and its first one's id; 0 if it ended without.
absl::StatusOr<int> FirstTrial(const ApiClient& api, int experiment_id, bool wait);

}  // namespace det::cli

#endif  // CLI_FOLLOW_H_
