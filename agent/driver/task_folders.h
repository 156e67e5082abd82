// The folders of a task, <work dir>/tasks/<allocation>, and their removal. Any thread; waits for
// the disk. Never touches what lies elsewhere: nothing happens for an id that is no name for a
// folder.
#ifndef AGENT_DRIVER_TASK_FOLDERS_H_
#define AGENT_DRIVER_TASK_FOLDERS_H_

#include <string>

#include "agent/core/task.h"
#include "agent/driver/task_env.h"
#include "agent/keeper/folder.h"

namespace det::agent {

// Whether an id can be the name of a folder.
bool IsSafeName(const std::string& name);

TaskFolders FoldersOf(const std::string& work_dir, const AllocationId& allocation);
KeepFolder KeepFolderOf(const std::string& work_dir, const AllocationId& allocation);

// What cannot be removed now goes when the agent starts next.
void RemoveFolder(const std::string& folder);
void RemoveTaskFolder(const std::string& work_dir, const AllocationId& allocation);

}  // namespace det::agent

#endif  // AGENT_DRIVER_TASK_FOLDERS_H_
