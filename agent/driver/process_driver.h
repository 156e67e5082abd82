// Runs each task as a session of processes under a keeper (agent/keeper), with the directories
// <work_dir>/tasks/<allocation>/{work,run,keep}. The first two are removed when the task ends, the
// last when it is forgotten: it records what is running. Created by Agent; all calls except those
// of the listener happen on its loop. Each task has a thread. Never runs a shell and never exposes
// data of another task.
#ifndef AGENT_DRIVER_PROCESS_DRIVER_H_
#define AGENT_DRIVER_PROCESS_DRIVER_H_

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>

#include "absl/status/statusor.h"
#include "agent/driver/driver.h"
#include "agent/driver/library_files.h"
#include "agent/driver/task_env.h"
#include "base/fd.h"

namespace det::agent {

// Provides context archives.
class ContextSource {
 public:
  virtual ~ContextSource() = default;
  // Opens the gzipped tar archive with this hash for reading. Blocks; returns CANCELLED once `stop`
  // is requested.
  virtual absl::StatusOr<base::Fd> Open(const std::string& hash, std::stop_token stop) = 0;
};

struct ProcessDriverOptions {
  std::string work_dir;                      // absolute path
  std::string keeper;                        // path of resolute-keeper
  std::string runner;                        // path of resolute-runner; empty: none
  int64_t spool_limit = int64_t{256} << 20;  // bytes of output kept for each task
  // parent of the tasks' control groups (control_group.h); empty: tasks have none
  std::string group;
  LibraryMountPoints mount_points;  // mount points for programs that use the determined library
  ContextSource* contexts = nullptr;
  TaskListener* listener = nullptr;
};

class ProcessDriver : public Driver {
 public:
  // Sets the description of the host for tasks that are started from now on.
  virtual void SetHost(const Host& host) = 0;
};

std::unique_ptr<ProcessDriver> MakeProcessDriver(const ProcessDriverOptions& options);

// Returns "DET_RUN_DIR=<...>", the environment entry that identifies the processes of an
// allocation. For an empty allocation, returns a prefix that matches all tasks below `work_dir`.
std::string GetTaskMarker(const std::string& work_dir, const AllocationId& allocation);

}  // namespace det::agent

#endif  // AGENT_DRIVER_PROCESS_DRIVER_H_
