// Facts that agents, trials and the engine's timers report. event.h combines all events in one
// type.
//
// PURE.
#ifndef MASTER_CORE_CLUSTER_FACT_H_
#define MASTER_CORE_CLUSTER_FACT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "master/core/experiment/retention.h"
#include "master/core/model/agent.h"
#include "master/core/model/ids.h"
#include "master/core/model/reports.h"
#include "master/core/model/states.h"

namespace det::cluster {

// ---- facts from agents ----

struct AgentRegistered {
  model::Agent agent;
  std::vector<model::AllocationId> running;  // allocations with a local task on the agent
};
struct AgentDisconnected {
  model::AgentId id;
};
// The agent was disconnected for longer than the master's agent timeout.
struct AgentLost {
  model::AgentId id;
};
struct LocalTaskStarted {
  model::AllocationId allocation;
  model::AgentId agent;
};
struct LocalTaskExited {
  model::AllocationId allocation;
  model::AgentId agent;
  int exit_code = 0;
  int signal = 0;
  std::string message;
  bool start_failed = false;
  bool system_failure = false;
};

// A line of a task's log looks like broken hardware (agents/hardware_patterns.h).
struct HardwareSuspected {
  model::AllocationId allocation;
  model::AgentId agent;
  std::string line;
};
// A line matched a log policy of the experiment.
struct LogPolicyMatched {
  model::AllocationId allocation;
  model::AgentId agent;
  std::string policy;  // its name, or its pattern if it has no name
  bool cancel_retries = false;
  bool exclude_node = false;
  std::string pattern;
  std::string line;
};

// ---- facts from trials; `allocation` is the sender's; facts of an old allocation are dropped ----

// The validations of one report, in order; all are committed together. Repeating the event is safe:
// rows are overwritten, and the outcome is the same. A validation of another trial than the
// sender's is dropped.
struct ValidationsReported {
  model::AllocationId allocation;
  std::vector<model::MetricReport> reports;
};
struct CheckpointReported {
  model::AllocationId allocation;
  model::CheckpointRecord checkpoint;
};
// A trial found on load that the files of a checkpoint are damaged, and continues from another
// checkpoint. Not reported if there was no other one: then the storage itself may be unavailable.
struct CheckpointDamaged {
  model::AllocationId allocation;
  model::TrialId trial;
  model::CheckpointId id;
  std::string damage;  // "file model.pt is missing"
  model::CheckpointId instead;
  int64_t steps_completed = 0;  // of `instead`
};
struct ProgressReported {
  model::AllocationId allocation;
  model::TrialId trial;
  double progress = 0;
  std::string runner_state;
};
struct PreemptionAcked {
  model::AllocationId allocation;
};
struct EarlyExitReported {
  model::AllocationId allocation;
  model::ExitReason reason = model::ExitReason::kNone;  // kInvalidHp or kInvalidCode
  std::string message;
};

// The service of a task that is not a trial answers on this port of its agent's loopback interface.
struct TaskReady {
  model::AllocationId allocation;
  int port = 0;
};

// ---- facts from the engine ----

struct ScheduleTick {};
// Garbage collection evaluated the retention policy of an ended experiment: the checkpoints in
// `drop` are deleted if the policy is unchanged. ABORTED if the experiment runs again.
struct RetainCheckpoints {
  model::ExperimentId id;
  experiment::RetentionPolicy policy;
  std::vector<model::CheckpointId> drop;
};
// A maintenance window or a month has ended.
struct CalendarTick {};
struct AllocationDeadline {
  model::AllocationId id;
};

}  // namespace det::cluster

#endif  // MASTER_CORE_CLUSTER_FACT_H_
