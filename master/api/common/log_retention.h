// For how many days what trials write is kept, as people say it and as it is shown to them.
//
// Called by the log retention and the experiment action service on the pool; blocks.
#ifndef MASTER_API_COMMON_LOG_RETENTION_H_
#define MASTER_API_COMMON_LOG_RETENTION_H_

#include <optional>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "master/store/interfaces/store.h"

namespace det::api {

// `days`: -1 is for ever. INVALID_ARGUMENT, NOT_FOUND.
absl::Status KeepLogs(store::Store& store, model::ExperimentId id, int days);
absl::Status KeepLogs(store::Store& store, model::TrialId id, int days);

// Of `days` those that are left `now`, begun ones included; all before the end, nullopt of -1.
std::optional<int> DaysLeft(int days, std::optional<absl::Time> ended_at, absl::Time now);

}  // namespace det::api

#endif  // MASTER_API_COMMON_LOG_RETENTION_H_
