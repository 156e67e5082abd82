// Runs each task as processes of a session of its own, under a keeper (agent/keeper), with a folder
// <work_dir>/tasks/<allocation>/{work,run,keep}. The first two go at the task's end, the last when
// it is forgotten: these folders are the agent's memory of what runs.
// Made by Agent; all but the listener on its loop. Each task that is told of has a thread.
// Never runs a shell, never shows a task what belongs to another.
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

// Where context archives come from.
class ContextSource {
 public:
  virtual ~ContextSource() = default;
  // The gzipped tar archive with this hash, open for reading. Waits; CANCELLED once `stop` is set.
  virtual absl::StatusOr<base::Fd> Open(const std::string& hash, std::stop_token stop) = 0;
};

struct ProcessDriverOptions {
  std::string work_dir;                      // absolute
  std::string keeper;                        // path of resolute-keeper
  int64_t spool_limit = int64_t{256} << 20;  // bytes of output kept for each task
  std::string group;  // in which tasks have control groups (control_group.h); empty: they have none
  LibraryPlaces places;  // of the folders that the existing library for tasks looks for
  ContextSource* contexts = nullptr;
  TaskListener* listener = nullptr;
};

class ProcessDriver : public Driver {
 public:
  // What the tasks started from now on are told.
  virtual void SetHost(const Host& host) = 0;
};

std::unique_ptr<ProcessDriver> MakeProcessDriver(const ProcessDriverOptions& options);

// "DET_RUN_DIR=<...>": what marks the processes of this allocation, or with an empty one, as a
// prefix, of all that ever ran below `work_dir`.
std::string ProcessMark(const std::string& work_dir, const AllocationId& allocation);

}  // namespace det::agent

#endif  // AGENT_DRIVER_PROCESS_DRIVER_H_
