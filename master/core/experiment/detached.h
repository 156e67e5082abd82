// Decisions about unmanaged experiments and trials, which run outside of the cluster and only
// report to it (docs/detached-mode.md).
//
// PURE.
#ifndef MASTER_CORE_EXPERIMENT_DETACHED_H_
#define MASTER_CORE_EXPERIMENT_DETACHED_H_

#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "master/core/experiment/experiment.h"
#include "master/core/experiment/trial.h"
#include "master/core/model/reports.h"
#include "master/core/model/states.h"
#include "master/core/model/value.h"

namespace det::experiment {

// A running trial without a sign of life for this time is lost.
inline constexpr absl::Duration kLostAfter = absl::Minutes(5);

// Starts the next attempt: the trial becomes RUNNING. FAILED_PRECONDITION if it was started before
// and does not resume.
absl::Status StartAttempt(Trial& trial, bool resume);

// Sets the state that the program has reported. A terminal state sets the end; any other clears it.
// INVALID_ARGUMENT if a program cannot report this state.
absl::Status ReportState(Trial& trial, model::TrialState state, absl::Time now);

// Whether the trial has ended because it was lost.
bool WasLost(const Trial& trial);
// A sign of life: a trial that was lost is RUNNING again. Returns whether it changed.
bool ReviveLost(Trial& trial);
// Ends a running trial whose last sign of life was at `last_activity`. Returns false if it does not
// run.
bool EndLost(Trial& trial, absl::Time last_activity);

// The trials of an experiment in one state.
struct TrialsInState {
  model::TrialState state = model::TrialState::kPaused;
  std::optional<absl::Time> last_end;  // of those that have ended
};
// Sets the state of the experiment to the most advanced one of its trials: PAUSED, CANCELED, ERROR,
// COMPLETED, RUNNING (the experiment is then ACTIVE). Returns whether the state has changed.
bool FollowTrials(Experiment& experiment, const std::vector<TrialsInState>& trials);

// Records the searcher's metric of a validation in the trial and its experiment, unless it is NaN
// or infinite. Returns whether the experiment has a new best.
bool RecordMetric(Experiment& experiment, Trial& trial, int64_t steps, double metric);

// INVALID_ARGUMENT if a validation has the searcher's metric, but not as a number.
absl::Status CheckSearcherMetric(const Experiment& experiment, const model::MetricReport& report);

}  // namespace det::experiment

#endif  // MASTER_CORE_EXPERIMENT_DETACHED_H_
