// What happens to the cluster without a person's asking: told by agents and trials, and by the
// engine's own timers. event.h has the events as one type.
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
  std::vector<model::AllocationId> running;  // shares that live on it now
};
struct AgentDisconnected {
  model::AgentId id;
};
// Away for longer than the master's patience.
struct AgentLost {
  model::AgentId id;
};
struct ShareStarted {
  model::AllocationId allocation;
  model::AgentId agent;
};
struct ShareExited {
  model::AllocationId allocation;
  model::AgentId agent;
  int exit_code = 0;
  int signal = 0;
  std::string message;
  bool start_failed = false;
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
  std::string policy;  // its name, or its pattern where it has none
  bool cancel_retries = false;
  bool exclude_node = false;
};

// ---- facts from trials; `allocation` is the sender's and stale ones are dropped ----

struct ValidationReported {
  model::AllocationId allocation;
  model::MetricReport report;
};
struct CheckpointReported {
  model::AllocationId allocation;
  model::CheckpointRecord checkpoint;
};
// On load it was found that the files of a registered checkpoint are not what was saved; the run
// goes on from another one. No report when there was none: then the storage may be what is missing.
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

// ---- the engine's own ----

struct ScheduleTick {};
// The sweep has looked at an experiment that has ended: by this policy, if it still is the
// experiment's, `drop` go. ABORTED when the experiment runs again.
struct RetainCheckpoints {
  model::ExperimentId id;
  experiment::RetentionPolicy policy;
  std::vector<model::CheckpointId> drop;
};
// A maintenance window is over; a month has ended.
struct CalendarTick {};
struct AllocationDeadline {
  model::AllocationId id;
};

}  // namespace det::cluster

#endif  // MASTER_CORE_CLUSTER_FACT_H_
