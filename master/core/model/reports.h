// Reports of trials and tasks: metrics, checkpoints, log lines.
//
// PURE.
#ifndef MASTER_CORE_MODEL_REPORTS_H_
#define MASTER_CORE_MODEL_REPORTS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/time/time.h"
#include "master/core/model/file_globs.h"
#include "master/core/model/ids.h"
#include "master/core/model/states.h"
#include "master/core/model/value.h"

namespace det::model {

struct MetricReport {
  TrialId trial;
  int run_id = 0;  // the run of the trial
  std::string group;
  int64_t steps_completed = 0;
  absl::Time time;
  Value metrics;        // an object
  Value batch_metrics;  // a list of objects, or null
  friend bool operator==(const MetricReport&, const MetricReport&) = default;
};

struct CheckpointRecord {
  CheckpointId id;
  TrialId trial;
  AllocationId allocation;  // empty: of an unmanaged trial
  int64_t steps_completed = 0;
  Resources resources;
  Value metadata;
  absl::Time time;
  CheckpointState state = CheckpointState::kCompleted;
  // The ID of its storage, if it was reported with one (docs/detached-mode.md); else it is in the
  // storage of its experiment.
  std::optional<int32_t> storage;
  friend bool operator==(const CheckpointRecord&, const CheckpointRecord&) = default;
};

// The same numbers as in det.api.v1.LogLevel.
enum class LogLevel { kUnknown, kTrace, kDebug, kInfo, kWarning, kError, kCritical };

struct LogLine {
  TaskId task;
  AllocationId allocation;
  std::string agent;      // empty: the master wrote it
  std::string container;  // as the task reported it; empty: the allocation
  int64_t sequence = 0;   // by (allocation, agent), from 1; 0: none
  absl::Time time;
  std::optional<int> rank;
  LogLevel level = LogLevel::kInfo;
  std::string stdtype;
  std::string source;  // "task", "agent", "master"
  std::string text;
  friend bool operator==(const LogLine&, const LogLine&) = default;
};

}  // namespace det::model

#endif  // MASTER_CORE_MODEL_REPORTS_H_
