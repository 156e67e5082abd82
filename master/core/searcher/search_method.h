// A search method: events in, operations out, and a snapshot of itself. Deterministic: its only
// randomness is the Rng that it is given, so that the same history gives the same search.
// Implementations: one file each; all pass search_method_contract.h.
//
// Called by searcher::Searcher, on the cluster's loop. Never does I/O, never waits.
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

// What a method may use: the space to sample, and the experiment's random numbers. A method draws
// from rng.Split(n) for its n-th trial, so that what trial n gets does not depend on the order in
// which others end.
struct Context {
  const model::SearchSpace& space;
  const base::Rng& rng;
};

// A validation as methods hear it: every loss is to be made small, and what was not finite is
// infinite, that is worst. As many losses as the experiment has objectives.
struct Report {
  model::RequestId request;
  double length = 0;
  std::vector<double> losses;
  // As the trial reported them: in the order of the objectives, the last ones possibly missing.
  std::vector<double> metrics = {};
};

// What a program that drives a search from outside reads; see custom.h for the descriptions.
struct PendingEvent {
  int64_t id = 0;  // 1, 2, ... in the order in which they happened
  model::Value description;
  friend bool operator==(const PendingEvent&, const PendingEvent&) = default;
};

// What became of a trial at a rung.
enum class Outcome {
  kWaiting,    // may still go on
  kContinued,  // was let go on
  kStopped,    // goes no further: told so, or ended before
  kDone,       // at the last rung
};

// A trial that has come to a rung, or ended on its way there.
struct Arrival {
  model::RequestId request;
  double loss = 0;
  Outcome outcome = Outcome::kWaiting;
  friend bool operator==(const Arrival&, const Arrival&) = default;
};

// One rung of a bracket, for people to look at.
struct Rung {
  double length = 0;
  int64_t reported = 0;   // trials that have come so far
  int64_t continued = 0;  // of these, let go on
  std::optional<double> best_loss;
  // Those that have come, the best first. Fewer than `reported` where a snapshot did not name them.
  std::vector<Arrival> arrivals = {};
};
using Bracket = std::vector<Rung>;

// So many trials run to this length and end there.
struct PlannedTrials {
  int64_t trials = 0;
  int64_t length = 0;
  friend bool operator==(const PlannedTrials&, const PlannedTrials&) = default;
};
// For each bracket; a method without rungs has one.
using Plan = std::vector<std::vector<PlannedTrials>>;

class SearchMethod {
 public:
  virtual ~SearchMethod() = default;

  // The first operations of a search.
  virtual std::vector<Operation> Start(Context context) = 0;

  // Each is called once per event, in the order of the journal, and only for a trial that was asked
  // for and has not exited; exits may come without creation. Reports come only of trials that were
  // not told to stop or pause, in rising order of steps, with any length.
  virtual std::vector<Operation> OnTrialCreated(Context, const TrialCreated&) { return {}; }
  virtual std::vector<Operation> OnReport(Context context, const Report& report) = 0;
  virtual std::vector<Operation> OnTrialExited(Context context, const TrialExited& event) = 0;
  // FAILED_PRECONDITION unless the method is driven from outside; a refusal changes nothing. May be
  // called after Shutdown, and then asks for nothing.
  virtual absl::StatusOr<std::vector<Operation>> OnPosted(Context context,
                                                          const OperationsPosted& event);
  // What the program that drives the search has not yet said that it has read: the first `most`
  // after event `after`, ascending.
  virtual std::vector<PendingEvent> PendingEvents(int64_t /*after*/, size_t /*most*/) const {
    return {};
  }

  // 0..1, given how far each live trial says it is.
  virtual double Progress(const std::map<model::RequestId, double>& trial_progress) const = 0;

  // Where the search stands, bracket by bracket; empty for methods without rungs.
  virtual std::vector<Bracket> Brackets() const { return {}; }

  // The lengths at which it wants to hear of a trial, ascending; empty: whenever the trial likes.
  virtual std::vector<int64_t> ReportLengths(const model::RequestId&) const { return {}; }

  // What the search will do, if no trial fails.
  virtual Plan Preview(const model::SearchSpace& space) const = 0;

  // Everything needed to go on; Restore(Snapshot()) continues in the same way.
  virtual model::Value Snapshot() const = 0;
  virtual absl::Status Restore(const model::Value& snapshot) = 0;
};

// Sorted.
std::vector<std::string> SearchMethodNames();

// INVALID_ARGUMENT for a name that is not known, with the known ones, and for what the method
// cannot search with, with the path of the field.
absl::StatusOr<std::unique_ptr<SearchMethod>> MakeSearchMethod(
    const model::ExperimentConfig& config);

// How many trials with invalid hyperparameters a search of so many trials replaces, beyond them.
int64_t MaxReplacements(int64_t trials);

}  // namespace det::searcher

#endif  // MASTER_CORE_SEARCHER_SEARCH_METHOD_H_
