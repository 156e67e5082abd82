// The best validation of an experiment over time.
//
// Called by the search service on the pool; ReadValidationHistory blocks.
#ifndef MASTER_API_TRIALS_VALIDATION_HISTORY_H_
#define MASTER_API_TRIALS_VALIDATION_HISTORY_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "master/store/interfaces/store.h"

namespace det::api {

struct Validation {
  absl::Time time;
  model::TrialId trial;
  double metric = 0;  // finite
  friend bool operator==(const Validation&, const Validation&) = default;
};

// Returns the validations that are better than all earlier ones, sorted by time, then by trial.
std::vector<Validation> SelectImprovements(std::vector<Validation> validations,
                                           bool smaller_is_better);

// Reads the validations of all trials of the experiment and returns the improvements. Returns
// NOT_FOUND if the experiment does not exist.
absl::StatusOr<std::vector<Validation>> ReadValidationHistory(store::Store& store,
                                                              model::ExperimentId id);

}  // namespace det::api

#endif  // MASTER_API_TRIALS_VALIDATION_HISTORY_H_
