// What a program that uses the existing library for tasks finds: that library knows one place,
// /run/determined, and one for checkpoints, /determined_shared_fs. Each task has a folder of its
// own, <run>/determined, which it alone sees there (docs/task_environment.md).
// Called by ProcessDriver on a task's thread.
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

// Where tasks see these folders; empty: nowhere, tasks have no mounts of their own.
struct LibraryPlaces {
  std::string run;        // "/run/determined"
  std::string shared_fs;  // "/determined_shared_fs"
};

// Makes both places on this machine, as empty folders, and tries a private mount there.
// PERMISSION_DENIED, or what else keeps tasks from having them.
absl::StatusOr<LibraryPlaces> PrepareLibraryPlaces();

// <run>/determined.
std::string LibraryFolder(const TaskFolders& folders);
// Where a second copy of the context belongs, which the task leaves as it is.
std::string ModelFolder(const TaskFolders& folders);

// All in it that is not the master's to write, before those files; with it the folders.
absl::Status WriteLibraryFiles(const TaskSpec& spec, const Host& host, const TaskFolders& folders);

// The command, after the context's `startup-hook.sh` where there is one; what that exports, the
// command sees.
std::vector<std::string> WithStartupHook(std::vector<std::string> argv, const TaskFolders& folders);

// Of the task; makes the folder of its checkpoints where it is missing.
absl::StatusOr<std::vector<base::Mount>> MountsOf(const TaskSpec& spec, const TaskFolders& folders,
                                                  const LibraryPlaces& places);

}  // namespace det::agent

#endif  // AGENT_DRIVER_LIBRARY_FILES_H_
