// A search method: handles events, returns operations, and has a snapshot. Deterministic: its only
// randomness is the given Rng, so the same history gives the same search. Each implementation has
// its own file and passes search_method_contract.h.
//
// Called by searcher::Searcher, on the cluster's loop. Does no I/O and never blocks.
// PURE.
#ifndef MASTER_CORE_SEARCHER_SEARCH_METHOD_H_
#define MASTER_CORE_SEARCHER_SEARCH_METHOD_H_

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/rng.h"
#include "master/core/model/experiment_config.h"
#include "master/core/searcher/operation.h"

namespace det::searcher {

// The input of a method: the search space and the experiment's random numbers. A method draws from
// rng.Split(n) for its n-th trial, so that the trial does not depend on the order in which others
// end.
struct Context {
  const model::SearchSpace& space;
  const base::Rng& rng;
};

// A validation for methods: every loss is minimized; a metric that is not finite becomes an
// infinite loss, which is the worst. One loss per objective.
struct Report {
  model::RequestId request;
  double length = 0;
  std::vector<double> losses;
  // The metrics as reported, in the order of the objectives; the last ones may be missing.
  std::vector<double> metrics = {};
};

// An event for a program that drives the search; see custom.h for the format.
struct PendingEvent {
  int64_t id = 0;  // 1, 2, ... in the order in which they happened
  model::Value description;
  friend bool operator==(const PendingEvent&, const PendingEvent&) = default;
};

// The outcome of a trial at a rung.
enum class Outcome {
  kWaiting,    // may still continue
  kContinued,  // was promoted
  kStopped,    // was stopped or has ended
  kDone,       // at the last rung
};

// A trial that arrived at a rung or ended on its way there.
struct Arrival {
  model::RequestId request;
  double loss = 0;
  Outcome outcome = Outcome::kWaiting;
  friend bool operator==(const Arrival&, const Arrival&) = default;
};

// One rung of a bracket, for display.
struct Rung {
  double length = 0;
  int64_t reported = 0;   // trials that have arrived
  int64_t continued = 0;  // promoted ones among them
  std::optional<double> best_loss;
  // The arrived trials, best first. Fewer than `reported` if an old snapshot did not have them.
  std::vector<Arrival> arrivals = {};
};
using Bracket = std::vector<Rung>;

// A number of trials that train to this length and end there.
struct PlannedTrials {
  int64_t trials = 0;
  int64_t length = 0;
  friend bool operator==(const PlannedTrials&, const PlannedTrials&) = default;
};
// The planned trials of each bracket; a method without rungs has one bracket.
using Plan = std::vector<std::vector<PlannedTrials>>;

class SearchMethod {
 public:
  virtual ~SearchMethod() = default;

  // Returns the first operations of a search.
  virtual std::vector<Operation> Start(Context context) = 0;

  // Called once per event, in the order of the journal, and only for a trial that was created by
  // the method and has not exited; OnTrialExited may come without OnTrialCreated. Reports are only
  // of trials that are not being stopped or paused, in ascending order of steps, with any length.
  virtual std::vector<Operation> OnTrialCreated(Context, const TrialCreated&) { return {}; }
  virtual std::vector<Operation> OnReport(Context context, const Report& report) = 0;
  virtual std::vector<Operation> OnTrialExited(Context context, const TrialExited& event) = 0;
  // FAILED_PRECONDITION unless a program drives the method; an error changes nothing. After
  // Shutdown it returns no operations.
  virtual absl::StatusOr<std::vector<Operation>> OnPosted(Context context,
                                                          const OperationsPosted& event);
  // Returns the events that the program has not acknowledged: the first `most` after event `after`.
  virtual std::vector<PendingEvent> PendingEvents(int64_t /*after*/, size_t /*most*/) const {
    return {};
  }

  // Returns the progress, 0..1, given the progress of each live trial.
  virtual double Progress(const std::map<model::RequestId, double>& trial_progress) const = 0;

  // Returns the state of each bracket; empty for methods without rungs.
  virtual std::vector<Bracket> Brackets() const { return {}; }

  // Returns the lengths at which the trial must report, ascending; empty if it may choose.
  virtual std::vector<int64_t> ReportLengths(const model::RequestId&) const { return {}; }

  // Returns the planned trials, assuming that no trial fails.
  virtual Plan Preview(const model::SearchSpace& space) const = 0;

  // The complete state; Restore(Snapshot()) continues identically.
  virtual model::Value Snapshot() const = 0;
  virtual absl::Status Restore(const model::Value& snapshot) = 0;
};

// Sorted.
std::vector<std::string> SearchMethodNames();

// INVALID_ARGUMENT for an unknown name, and, with the path of the field, for a configuration that
// the method does not support.
absl::StatusOr<std::unique_ptr<SearchMethod>> MakeSearchMethod(
    const model::ExperimentConfig& config);

// Returns the maximum number of trials with invalid hyperparameters that a search of `trials`
// trials replaces.
int64_t MaxReplacements(int64_t trials);

}  // namespace det::searcher

#endif  // MASTER_CORE_SEARCHER_SEARCH_METHOD_H_
