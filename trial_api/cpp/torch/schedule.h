// Determines when to report, validate and save, in batches. PURE: a function of the configuration
// and of the rungs of the search.
//
// Called by the controller. Because the schedule depends on nothing else, a resumed trial validates
// and saves at the same batches as an uninterrupted one.
#ifndef TRIAL_API_CPP_TORCH_SCHEDULE_H_
#define TRIAL_API_CPP_TORCH_SCHEDULE_H_

#include <algorithm>
#include <cstdint>
#include <vector>

#include "trial_api/cpp/core/context.h"

namespace det::trial {

struct Schedule {
  int64_t max_batches = 0;
  int64_t report_every = 0;
  int64_t validate_every = 0;    // 0: only at rungs and at the end
  int64_t checkpoint_every = 0;  // 0: only by policy and at the end
  bool initial_validation = false;
  std::vector<int64_t> rungs;  // batches at which the searcher needs a validation; sorted
  int64_t batches_per_epoch = 1;
  int64_t records_per_batch = 1;

  bool Ended(int64_t steps) const { return steps >= max_batches; }
  bool ValidationDue(int64_t steps) const {
    if (steps == 0) return initial_validation;
    return Ended(steps) || (validate_every > 0 && steps % validate_every == 0) || IsRung(steps);
  }
  bool IsRung(int64_t steps) const { return std::binary_search(rungs.begin(), rungs.end(), steps); }
  bool CheckpointDue(int64_t steps) const {
    return Ended(steps) || (steps > 0 && checkpoint_every > 0 && steps % checkpoint_every == 0);
  }
  bool ReportDue(int64_t steps) const {
    return steps > 0 && (ValidationDue(steps) || steps % report_every == 0);
  }
};

// Creates a schedule. A length in records is rounded down to whole global batches, but a length
// over 0 gives at least one batch; a rung is rounded up, so that it is reached. An epoch is one
// pass over the training data, whatever config.records_per_epoch is. Throws Error without a
// max_length.
Schedule MakeSchedule(const TrainingConfig& config, int64_t global_batch_size,
                      int64_t batches_per_epoch);

// Returns whether an epoch of this many records, rounded to batches, is one pass over the data.
bool IsEpochOf(int64_t records, int64_t global_batch_size, int64_t batches_per_epoch);

}  // namespace det::trial

#endif  // TRIAL_API_CPP_TORCH_SCHEDULE_H_
