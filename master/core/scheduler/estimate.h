// Estimates of when a waiting gang may start and what must end first, by simulating the queue.
//
// A running gang is assumed to end at its max_run_time, or after the mean run time of its job,
// whichever comes first; each end is followed by a pass of the Scheduler, until the requested gangs
// have started. The estimate ignores later submissions and failures.
//
// Used by master/api/queue. PURE.
#ifndef MASTER_CORE_SCHEDULER_ESTIMATE_H_
#define MASTER_CORE_SCHEDULER_ESTIMATE_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "master/core/model/ids.h"
#include "master/core/scheduler/snapshot.h"

namespace det::scheduler {

// The mean run time of the ended gangs of a job.
using RuntimeStats = std::map<model::JobId, absl::Duration>;

struct Estimate {
  // The gangs whose end or preemption lets the gang start, in the order of their ends. May contain
  // waiting gangs that are served before it.
  std::vector<model::AllocationId> after;
  // Absent if the end of one is unknown, or if they are too many to simulate.
  std::optional<absl::Time> start;
  std::string basis;  // "by the max_run_time of 1.1.1", or why there is no start
  friend bool operator==(const Estimate&, const Estimate&) = default;
};

// Returns an estimate for each of `gangs`, which wait in the snapshot. `max_steps` limits the
// passes.
std::map<model::AllocationId, Estimate> EstimateStarts(
    const Snapshot& snapshot, const RuntimeStats& runtime_stats,
    const std::vector<model::AllocationId>& gangs, int max_steps = 1000);

}  // namespace det::scheduler

#endif  // MASTER_CORE_SCHEDULER_ESTIMATE_H_
