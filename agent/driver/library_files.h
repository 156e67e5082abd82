// The files that programs with the determined library expect: that library reads /run/determined,
// and checkpoints are in /determined_shared_fs. Each task has a private directory <run>/determined,
// which is mounted there for that task only (docs/task_environment.md). Called by ProcessDriver on
// a task's thread.
#ifndef AGENT_DRIVER_LIBRARY_FILES_H_
#define AGENT_DRIVER_LIBRARY_FILES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "agent/core/task.h"
#include "agent/driver/task_env.h"
#include "base/subprocess.h"

namespace det::agent {

// The mount points of these directories in tasks; empty: tasks have no private mounts.
struct LibraryMountPoints {
  std::string run;        // "/run/determined"
  std::string shared_fs;  // "/determined_shared_fs"
};

// Creates both mount points on this machine as empty directories, and tries a private mount there.
// Returns PERMISSION_DENIED or another error if tasks cannot have them.
absl::StatusOr<LibraryMountPoints> PrepareLibraryMountPoints();

// Returns <run>/determined.
std::string GetLibraryFolder(const TaskFolders& folders);
// Returns the directory for the second copy of the context, which the task does not modify.
std::string GetModelFolder(const TaskFolders& folders);

// Creates the directories, and all files that the master does not provide. Called before the run
// files are written.
absl::Status WriteLibraryFiles(const TaskSpec& spec, const Host& host, const TaskFolders& folders);

// Returns the command, preceded by the context's `startup-hook.sh` if it exists. The command sees
// variables that the hook exports.
std::vector<std::string> WithStartupHook(std::vector<std::string> argv, const TaskFolders& folders);

// Returns the mounts of a task; creates its checkpoint directory if it is missing.
absl::StatusOr<std::vector<base::Mount>> GetMounts(const TaskSpec& spec, const TaskFolders& folders,
                                                   const LibraryMountPoints& mount_points);

}  // namespace det::agent

#endif  // AGENT_DRIVER_LIBRARY_FILES_H_
