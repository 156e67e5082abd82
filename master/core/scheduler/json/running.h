// Puts the running gangs of a snapshot on their slots. Private to scheduler/json. PURE.
#ifndef MASTER_CORE_SCHEDULER_JSON_RUNNING_H_
#define MASTER_CORE_SCHEDULER_JSON_RUNNING_H_

#include <string>
#include <vector>

#include "master/core/model/ids.h"
#include "master/core/scheduler/json/members.h"
#include "master/core/scheduler/snapshot.h"

namespace det::scheduler {

// Of a gang: what it holds on one agent.
struct RunningPart {
  std::string path;
  model::AgentId agent;
  std::vector<int> slots;  // that were named
  int count = 0;           // that are still to be chosen
};

// First those whose slots are named, then, in order, those that are counted: the lowest that are
// free. `parts` has an entry for each of `gangs`. What is not there, or taken, is a problem.
void PlaceRunning(const std::vector<Node>& nodes, std::vector<std::vector<RunningPart>>& parts,
                  std::vector<Gang>& gangs, Problems* problems);

}  // namespace det::scheduler

#endif  // MASTER_CORE_SCHEDULER_JSON_RUNNING_H_
