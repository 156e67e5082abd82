// Sets for how many days the logs of experiments and trials are kept, and computes how many days
// are left.
//
// Called by the log retention and the experiment action service on the pool; blocks.
#ifndef MASTER_API_COMMON_LOG_RETENTION_H_
#define MASTER_API_COMMON_LOG_RETENTION_H_

#include <optional>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "master/store/interfaces/store.h"

namespace det::api {

// `days`: -1 keeps logs forever, for trials any negative number. Returns INVALID_ARGUMENT or
// NOT_FOUND.
absl::Status SetLogRetention(store::Store& store, model::ExperimentId id, int days);
absl::Status SetLogRetention(store::Store& store, model::TrialId id, int days);

// The number of `days` after `ended_at` that are left at `now`; a partial day counts as one.
// Returns -1 (forever) if `days` is negative, and otherwise nullopt if there is no end yet.
std::optional<int> ComputeDaysLeft(int days, std::optional<absl::Time> ended_at, absl::Time now);

}  // namespace det::api

#endif  // MASTER_API_COMMON_LOG_RETENTION_H_
