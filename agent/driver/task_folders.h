// The directories of a task, <work dir>/tasks/<allocation>. Any thread; blocks on disk access. Does
// nothing for an id that is not a valid file name, so nothing outside is touched.
#ifndef AGENT_DRIVER_TASK_FOLDERS_H_
#define AGENT_DRIVER_TASK_FOLDERS_H_

#include <string>

#include "agent/core/task.h"
#include "agent/driver/task_env.h"
#include "agent/keeper/keeper_folder.h"

namespace det::agent {

// Returns whether an id is safe to use as a file name.
bool IsSafeFileName(const std::string& name);

TaskFolders GetTaskFolders(const std::string& work_dir, const AllocationId& allocation);
KeeperFolder GetKeeperFolder(const std::string& work_dir, const AllocationId& allocation);

// Removes a directory as far as possible; the next start of the agent removes the rest.
void RemoveFolder(const std::string& folder);
void RemoveTaskFolder(const std::string& work_dir, const AllocationId& allocation);

}  // namespace det::agent

#endif  // AGENT_DRIVER_TASK_FOLDERS_H_
