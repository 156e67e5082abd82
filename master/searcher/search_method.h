// A search method: events in, operations out, and a snapshot of itself. Deterministic: its only
// randomness is the Rng that it is given, so that the same history gives the same search.
// Implementations: one file each; all pass search_method_contract.h.
//
// Called by searcher::Searcher, on the cluster's loop. Never does I/O, never waits.
// PURE.
#ifndef MASTER_SEARCHER_SEARCH_METHOD_H_
#define MASTER_SEARCHER_SEARCH_METHOD_H_

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "base/rng.h"
#include "master/model/experiment_config.h"
#include "master/searcher/operation.h"

namespace det::searcher {

// What a method may use: the space to sample, and the experiment's random numbers. A method draws
// from rng.Split(n) for its n-th trial, so that what trial n gets does not depend on the order in
// which others end.
struct Context {
  const model::SearchSpace& space;
  base::Rng& rng;
};

class SearchMethod {
 public:
  virtual ~SearchMethod() = default;

  // The first operations of a search.
  virtual std::vector<Operation> Start(Context context) = 0;

  // Each is called once per event, in the order of the journal, and only for a trial that was asked
  // for and has not exited; exits may come without creation, validations with any metric.
  virtual std::vector<Operation> OnTrialCreated(Context context, const TrialCreated& event) = 0;
  virtual std::vector<Operation> OnValidation(Context context, const ValidationReported& event) = 0;
  virtual std::vector<Operation> OnTrialExited(Context context, const TrialExited& event) = 0;

  // 0..1, given how far each live trial says it is.
  virtual double Progress(const std::map<model::RequestId, double>& trial_progress) const = 0;

  // Everything needed to go on; Restore(Snapshot()) continues in the same way.
  virtual model::Value Snapshot() const = 0;
  virtual absl::Status Restore(const model::Value& snapshot) = 0;
};

// Sorted.
std::vector<std::string> SearchMethodNames();

// INVALID_ARGUMENT for a name that is not known, with the known ones.
absl::StatusOr<std::unique_ptr<SearchMethod>> MakeSearchMethod(const model::SearcherConfig& config);

}  // namespace det::searcher

#endif  // MASTER_SEARCHER_SEARCH_METHOD_H_
