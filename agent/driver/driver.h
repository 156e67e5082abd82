// Runs tasks: an interface with one contract (driver_contract.h) for every way of running them.
// Called by Agent on its loop; answers through the listener, on threads of the driver's own.
// Never decides when a task is stopped, never talks to the master.
//
// Tasks outlive a driver: the next one on the same folder takes them up, and tells what the one
// before could not.
#ifndef AGENT_DRIVER_DRIVER_H_
#define AGENT_DRIVER_DRIVER_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/core/event.h"
#include "agent/core/task.h"

namespace det::agent {

// Calls for one task never overlap and come in this order: OnStarted (unless the start failed),
// OnOutput any number of times, OnExited exactly once, OnOutput for what is still to be read,
// OnOutputEnded exactly once.
class TaskListener {
 public:
  virtual ~TaskListener() = default;
  virtual void OnStarted(const AllocationId& allocation, int pid) = 0;
  // Lines are numbered from 1 on, the same each time they are told; a number that is left out is a
  // line that was lost, and the next line of the agent's own says so.
  virtual void OnOutput(const AllocationId& allocation, std::vector<OutputLine> lines) = 0;
  // Every process of the task is gone and its private folders are removed.
  virtual void OnExited(const AllocationId& allocation, const TaskExit& exit) = 0;
  virtual void OnOutputEnded(const AllocationId& allocation) = 0;
};

class Driver {
 public:
  // Tasks go on; what is still being prepared is not started any more.
  virtual ~Driver() = default;

  // Takes up what a driver before this one left, and tells of each task as of one that is started
  // now, but for lines that were Delivered. Once, before Start. An error says what keeps it from
  // doing so.
  virtual absl::StatusOr<std::vector<RunningTask>> Adopt() = 0;

  // Returns at once. REQUIRES that no task of this allocation is known, or that it was forgotten.
  virtual void Start(const TaskSpec& spec) = 0;

  // Returns at once; nothing happens if the task is unknown or has ended. A task that is still
  // being prepared is not started any more.
  virtual void Signal(const AllocationId& allocation, StopSignal signal) = 0;

  // All lines up to this number are stored for good. A driver holds back what is far ahead of it.
  virtual void Delivered(const AllocationId& allocation, int64_t sequence) = 0;

  // The master knows all about a task that has ended: nothing of it is kept. Nothing happens if it
  // is unknown or still runs.
  virtual void Forget(const AllocationId& allocation) = 0;
};

}  // namespace det::agent

#endif  // AGENT_DRIVER_DRIVER_H_
