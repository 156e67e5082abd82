// Figures and plans as text and as JSON.
// Called by main. PURE.
#ifndef MASTER_SIMULATE_REPORT_H_
#define MASTER_SIMULATE_REPORT_H_

#include <string>

#include "master/core/scheduler/scheduler.h"
#include "master/core/scheduler/snapshot.h"
#include "master/simulate/figures.h"

namespace det::simulate {

// The maximum number of users in text, those with the most requested slot hours; JSON has all.
inline constexpr size_t kUsersShown = 10;

std::string FiguresText(const Figures& figures, const Simulation& simulation, bool bold);
// {utilisation, waits: {all, by_size, by_user, by_priority}, ...}; times in seconds.
std::string FiguresJson(const Figures& figures, const Simulation& simulation);
// The outcome of each job as CSV: arrival, slots, user, priority, wait, preemptions and so on.
std::string JobsCsv(const Workload& workload, const Simulation& simulation);

// The decision of one pass of the scheduler about each gang, with the reason.
std::string PlanText(const scheduler::Snapshot& snapshot, const scheduler::Scheduled& scheduled,
                     bool bold);
// Like scheduler::ToJson, with texts for the gangs that start.
std::string PlanJson(const scheduler::Scheduled& scheduled);

}  // namespace det::simulate

#endif  // MASTER_SIMULATE_REPORT_H_
