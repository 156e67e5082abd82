// Assigns the running gangs of a snapshot to their slots. Private to scheduler/json. PURE.
#ifndef MASTER_CORE_SCHEDULER_JSON_RUNNING_H_
#define MASTER_CORE_SCHEDULER_JSON_RUNNING_H_

#include <string>
#include <vector>

#include "master/core/model/ids.h"
#include "master/core/scheduler/json/members.h"
#include "master/core/scheduler/snapshot.h"

namespace det::scheduler {

// What a gang holds on one agent.
struct RunningPart {
  std::string path;
  model::AgentId agent;
  std::vector<int> slots;  // named slots
  int count = 0;           // slots that are still to be chosen
};

// Assigns named slots first, then counted ones in order: the lowest free slots. `parts` has an
// entry for each of `gangs`. A slot that does not exist or is in use is a problem.
void PlaceRunning(const std::vector<Node>& nodes, std::vector<std::vector<RunningPart>>& parts,
                  std::vector<Gang>& gangs, Problems* problems);

}  // namespace det::scheduler

#endif  // MASTER_CORE_SCHEDULER_JSON_RUNNING_H_
