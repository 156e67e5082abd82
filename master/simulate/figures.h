// The metrics of a simulation: utilisation compared with an upper bound for any scheduler, wait
// times, cost of preemption, fairness among users. Called by main, report and benchmarks. PURE.
#ifndef MASTER_SIMULATE_FIGURES_H_
#define MASTER_SIMULATE_FIGURES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "master/simulate/simulation.h"
#include "master/simulate/workload.h"

namespace det::simulate {

// Slot seconds of useful work (without work lost by preemption) per available slot second: the
// reached value, and the upper bound.
struct Utilisation {
  double reached = 0;
  double bound = 0;
  double GetRatioToBound() const { return bound > 0 ? reached / bound : 1; }
};

// Wait times until the first start over a group of jobs, without those that never started.
struct Waits {
  std::string group;  // "2-4 slots", "user-7", "priority 42"
  int64_t jobs = 0;
  double slot_hours = 0;  // requested
  absl::Duration median;
  absl::Duration p90;
  absl::Duration p99;
  absl::Duration max;
};

struct Figures {
  int64_t jobs = 0;
  int64_t completed = 0;
  int64_t slots = 0;
  // The offered window: from the first arrival to the last.
  absl::Duration window;
  double offered_load = 0;  // requested slot seconds per available slot second in the window
  Utilisation in_window;
  // From the first arrival to the end of the last job.
  absl::Duration makespan;
  Utilisation in_makespan;
  Waits all;
  std::vector<Waits> by_size;
  std::vector<Waits> by_priority;
  std::vector<Waits> by_user;  // by requested slot hours, descending
  int64_t preemptions = 0;
  double lost_slot_hours = 0;
  // The fairness index of Jain, Chiu and Hawe (DEC-TR-301, 1984) over users: of the slot seconds
  // that each got in the window, divided by those that it could have used there. 1 is perfectly
  // fair.
  double fairness = 1;
};

// REQUIRES that the simulation is of this workload.
Figures MakeFigures(const Workload& workload, const Options& options, const Simulation& simulation);

// Returns the offline bound on slot seconds that can be served until `until`. Gangs are relaxed to
// slots: every slot second of a job may be served by any slot of its pool at any time after its
// arrival, but no job gets more than its own slots could do by then.
double ComputeSlotSecondsBound(const Workload& jobs_of_pool, double slots, absl::Duration until);
// Returns a lower bound on the time when the last job ends.
absl::Duration ComputeMakespanBound(const Workload& jobs_of_pool, double slots);

// Returns the quantile of sorted values by nearest rank; zero if there are none.
absl::Duration Quantile(const std::vector<absl::Duration>& sorted, double q);

}  // namespace det::simulate

#endif  // MASTER_SIMULATE_FIGURES_H_
