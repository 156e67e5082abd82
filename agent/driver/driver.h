// Runs tasks: an interface with one contract (driver_contract.h) for every way of running them.
// Called by Agent on its loop; answers through the listener, on threads of the driver's own.
// Never decides when a task is stopped, never talks to the master.
#ifndef AGENT_DRIVER_DRIVER_H_
#define AGENT_DRIVER_DRIVER_H_

#include <vector>

#include "agent/core/event.h"
#include "agent/core/task.h"

namespace det::agent {

// Calls for one task never overlap and come in this order: OnStarted (unless the start failed),
// OnOutput any number of times, OnExited exactly once.
class TaskListener {
 public:
  virtual ~TaskListener() = default;
  virtual void OnStarted(const AllocationId& allocation, int pid) = 0;
  virtual void OnOutput(const AllocationId& allocation, std::vector<OutputLine> lines) = 0;
  // Every process of the task is gone and its private folders are removed.
  virtual void OnExited(const AllocationId& allocation, const TaskExit& exit) = 0;
};

class Driver {
 public:
  // Kills what still runs and waits until it is gone; every task is answered by OnExited.
  virtual ~Driver() = default;

  // Returns at once. REQUIRES that no task of this allocation runs.
  virtual void Start(const TaskSpec& spec) = 0;

  // Returns at once; nothing happens if the task is unknown or has ended. A task that is still
  // being prepared is not started any more.
  virtual void Signal(const AllocationId& allocation, StopSignal signal) = 0;
};

}  // namespace det::agent

#endif  // AGENT_DRIVER_DRIVER_H_
