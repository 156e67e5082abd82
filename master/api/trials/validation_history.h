// How the best value of an experiment's metric came to be.
//
// Called by the search service on the pool; ReadHistory blocks.
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

// Those that were better than all before them, by time; of one moment, by trial.
std::vector<Validation> Improvements(std::vector<Validation> validations, bool smaller_is_better);

// Of all trials of the experiment. NOT_FOUND.
absl::StatusOr<std::vector<Validation>> ReadHistory(store::Store& store, model::ExperimentId id);

}  // namespace det::api

#endif  // MASTER_API_TRIALS_VALIDATION_HISTORY_H_
