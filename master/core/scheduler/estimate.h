// When a waiting gang may start, and what must end first: the queue played forward.
//
// What runs is taken to end by its max_run_time, or after as long as others of its job took,
// whichever comes first; each end is followed by a pass of the Scheduler, until the gangs that are
// asked for have started. An estimate: it knows of nobody who comes later, and of no failure.
//
// Used by service/job_service.cc. PURE.
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

// How long gangs of a job took that have ended: their mean.
using Experience = std::map<model::JobId, absl::Duration>;

struct Estimate {
  // Whose end, or leave, lets the gang start; those that end first, first. Gangs that wait
  // themselves may be among them: they are served before.
  std::vector<model::AllocationId> after;
  // Absent: of some of them nothing is known, or they are too many to play through.
  std::optional<absl::Time> start;
  std::string basis;  // "by the max_run_time of 1.1.1"; why there is no start, where there is none
  friend bool operator==(const Estimate&, const Estimate&) = default;
};

// One for each of `gangs`, which wait in the snapshot. `most_steps` bounds the passes.
std::map<model::AllocationId, Estimate> EstimateStarts(
    const Snapshot& snapshot, const Experience& experience,
    const std::vector<model::AllocationId>& gangs, int most_steps = 1000);

}  // namespace det::scheduler

#endif  // MASTER_CORE_SCHEDULER_ESTIMATE_H_
