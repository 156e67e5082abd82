// A simple second implementation of the rules of docs/scheduling.md, to check plans.
#ifndef MASTER_CORE_SCHEDULER_TESTING_ORACLE_H_
#define MASTER_CORE_SCHEDULER_TESTING_ORACLE_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "master/core/scheduler/plan.h"
#include "master/core/scheduler/snapshot.h"

namespace det::scheduler {

// Whether the gang fits into the free slots of the snapshot without the gangs for which `ignored`
// holds.
bool FitsLeftover(const Snapshot& snapshot, const Gang& gang,
                  const std::function<bool(const Gang&)>& ignored);

// Whether the gang could use the slot if it were free.
bool CouldUse(const Snapshot& snapshot, const Gang& gang, const Node& node, const Slot& slot);

// Removes everything that one of the waiting gangs could claim: slots, and cpus, memory and places
// if they request those.
Snapshot RemoveHeldResources(Snapshot snapshot, const std::vector<Gang>& waiting);

// Returns when the gang fits at the latest, by max_run_time and after terminating gangs have
// exited; nullopt if unknown. Gangs for which `ignored` holds are ignored.
std::optional<absl::Time> FitsAt(const Snapshot& snapshot, const Gang& gang,
                                 const std::function<bool(const Gang&)>& ignored);

// Returns what is wrong with the placement of a gang; "" if nothing is. `after` is the snapshot
// with the plan applied.
std::string WrongPlacement(const Snapshot& after, const Gang& gang);

// Returns which limit of a job, user or workspace the plan exceeds; "" if none.
std::string OverLimit(const Snapshot& after, const Plan& plan);

const model::ResourcePool& GetPool(const Snapshot& snapshot, const std::string& name);
const Job& GetJob(const Snapshot& snapshot, const model::JobId& id);

}  // namespace det::scheduler

#endif  // MASTER_CORE_SCHEDULER_TESTING_ORACLE_H_
