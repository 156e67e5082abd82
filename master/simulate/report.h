// Figures and plans for the eye and as JSON.
// Called by main. PURE.
#ifndef MASTER_SIMULATE_REPORT_H_
#define MASTER_SIMULATE_REPORT_H_

#include <string>

#include "master/core/scheduler/scheduler.h"
#include "master/core/scheduler/snapshot.h"
#include "master/simulate/figures.h"

namespace det::simulate {

// The users who asked for most, up to this many, are listed in text; JSON has them all.
inline constexpr size_t kUsersShown = 10;

std::string FiguresText(const Figures& figures, const Simulation& simulation, bool bold);
// {utilisation, waits: {all, by_size, by_user, by_priority}, ...}; times in seconds.
std::string FiguresJson(const Figures& figures, const Simulation& simulation);
// What became of each job: a CSV of arrival, slots, user, priority, wait, preemptions and so on.
std::string JobsCsv(const Workload& workload, const Simulation& simulation);

// One pass of the scheduler: what it decides about each gang, and why.
std::string PlanText(const scheduler::Snapshot& snapshot, const scheduler::Scheduled& scheduled,
                     bool bold);
// As scheduler::ToJson, with words for the gangs that start.
std::string PlanJson(const scheduler::Scheduled& scheduled);

}  // namespace det::simulate

#endif  // MASTER_SIMULATE_REPORT_H_
