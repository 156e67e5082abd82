// The interface that runs local tasks; driver_contract.h tests every implementation. Called by
// Agent on its loop; results are passed to the listener, on the driver's threads. Neither decides
// when a task is stopped nor talks to the master.
//
// Tasks outlive a driver: the next driver for the same directory reattaches to them and reports
// what the previous one could not.
#ifndef AGENT_DRIVER_DRIVER_H_
#define AGENT_DRIVER_DRIVER_H_

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"
#include "agent/core/event.h"
#include "agent/core/task.h"

namespace det::agent {

// Receives events of tasks. Calls for one task never overlap and arrive in this order: OnStarted
// (unless the start failed), OnOutput any number of times, OnExited exactly once, OnOutput for the
// remaining lines, OnOutputEnded exactly once.
class TaskListener {
 public:
  virtual ~TaskListener() = default;
  virtual void OnStarted(const AllocationId& allocation, int pid) = 0;
  // Lines are numbered from 1; a line that is delivered again has the same number. A missing number
  // is a lost line; the next line, written by the agent, reports the loss.
  virtual void OnOutput(const AllocationId& allocation, std::vector<OutputLine> lines) = 0;
  // All processes of the task have ended and its private directories are removed.
  virtual void OnExited(const AllocationId& allocation, const TaskExit& exit) = 0;
  virtual void OnOutputEnded(const AllocationId& allocation) = 0;
};

class Driver {
 public:
  // Running tasks continue; tasks that are still being prepared are not started.
  virtual ~Driver() = default;

  // Reattaches to the tasks that a previous driver left, and reports each of them as if it were
  // started now, except for lines that were Delivered. Called once, before Start. Returns an error
  // if this is not possible.
  virtual absl::StatusOr<std::vector<RunningTask>> Adopt() = 0;

  // Starts a task and returns immediately. REQUIRES that no task of this allocation is known, or
  // that it was forgotten.
  virtual void Start(const TaskSpec& spec) = 0;

  // Returns immediately. Does nothing if the task is unknown or has ended. A task that is still
  // being prepared is not started.
  virtual void Signal(const AllocationId& allocation, StopSignal signal) = 0;

  // All lines up to `sequence` are stored permanently. A driver limits how many lines it delivers
  // ahead of this number.
  virtual void Delivered(const AllocationId& allocation, int64_t sequence) = 0;

  // The master has all information about a task that has ended: its files are removed. Does nothing
  // if the task is unknown or still running.
  virtual void Forget(const AllocationId& allocation) = 0;
};

}  // namespace det::agent

#endif  // AGENT_DRIVER_DRIVER_H_
