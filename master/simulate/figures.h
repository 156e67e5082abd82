// What a simulation says about a cluster: how busy it was, against what no scheduler could exceed,
// who waited how long, what preemption cost, how evenly users were served.
// Called by main, report and benchmarks. PURE.
#ifndef MASTER_SIMULATE_FIGURES_H_
#define MASTER_SIMULATE_FIGURES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "master/simulate/simulation.h"
#include "master/simulate/workload.h"

namespace det::simulate {

// Slot seconds of work that counted (what preemption lost does not), of those that there are: what
// was reached, and the bound of what could have been.
struct Utilisation {
  double reached = 0;
  double bound = 0;
  double GetRatioToBound() const { return bound > 0 ? reached / bound : 1; }
};

// Waits until the first start, over the jobs of one kind; those that never started are not in them.
struct Waits {
  std::string of;  // "2-4 slots", "user-7", "priority 42"
  int64_t jobs = 0;
  double slot_hours = 0;  // that they asked for
  absl::Duration median, p90, p99, max;
};

struct Figures {
  int64_t jobs = 0, completed = 0;
  int64_t slots = 0;
  // The offered window: from the first arrival to the last.
  absl::Duration window;
  double offered_load = 0;  // slot seconds that arrive in it, of those that there are
  Utilisation in_window;
  // From the first arrival until the last job has ended.
  absl::Duration makespan;
  Utilisation in_makespan;
  Waits all;
  std::vector<Waits> by_size, by_priority;
  std::vector<Waits> by_user;  // by what they asked for, most first
  int64_t preemptions = 0;
  double lost_slot_hours = 0;
  // Jain, Chiu and Hawe (DEC-TR-301, 1984), over users: of the slot seconds that each got in the
  // window, divided by those that it could have used there. 1: all were served alike.
  double fairness = 1;
};

// REQUIRES that the simulation is of this workload.
Figures MakeFigures(const Workload& workload, const Options& options, const Simulation& simulation);

// The offline bound. Gangs relaxed to slots: every slot second of a job may be served by any slot
// of its pool at any time after its arrival, in any order. `until`: those that could have been
// served by then, where no job gets more than its slots could do by then.
double ComputeSlotSecondsBound(const Workload& jobs_of_pool, double slots, absl::Duration until);
// When the last of them could have ended.
absl::Duration ComputeMakespanBound(const Workload& jobs_of_pool, double slots);

// Of values in order, by nearest rank; zero for none.
absl::Duration Quantile(const std::vector<absl::Duration>& sorted, double q);

}  // namespace det::simulate

#endif  // MASTER_SIMULATE_FIGURES_H_
