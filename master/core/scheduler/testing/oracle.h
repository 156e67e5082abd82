// The rules of docs/scheduling.md once more, in the plainest way, to judge plans by.
#ifndef MASTER_CORE_SCHEDULER_TESTING_ORACLE_H_
#define MASTER_CORE_SCHEDULER_TESTING_ORACLE_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "master/core/scheduler/plan.h"
#include "master/core/scheduler/snapshot.h"

namespace det::scheduler {

// Whether the gang fits into what the gangs of the snapshot leave free, but for those for which
// `ignored` holds: as if they were not there.
bool FitsLeftover(const Snapshot& snapshot, const Gang& gang,
                  const std::function<bool(const Gang&)>& ignored);

// Whether the gang could have the slot, were it free.
bool CouldUse(const Snapshot& snapshot, const Gang& gang, const Node& node, const Slot& slot);

// Without anything that one of the gangs could use and holds while it waits: slots, and cpus,
// memory and places where they ask for those.
Snapshot WithoutWhatTheyWaitFor(Snapshot snapshot, const std::vector<Gang>& waiting);

// When the gang fits at the latest, as far as max_run_time tells, and those that are leaving go;
// nullopt: nobody knows. Those for whom `ignored` holds are not there.
std::optional<absl::Time> FitsAt(const Snapshot& snapshot, const Gang& gang,
                                 const std::function<bool(const Gang&)>& ignored);

// What is wrong with where the plan starts a gang: "" when nothing is. `after` is the snapshot with
// the plan applied.
std::string WrongPlacement(const Snapshot& after, const Gang& gang);

// What a job, user or workspace holds too much of after the plan; "" when nothing.
std::string OverLimit(const Snapshot& after, const Plan& plan);

const model::ResourcePool& PoolOf(const Snapshot& snapshot, const std::string& name);
const Job& JobOf(const Snapshot& snapshot, const model::JobId& id);

}  // namespace det::scheduler

#endif  // MASTER_CORE_SCHEDULER_TESTING_ORACLE_H_
