// The names of things. Each is a type of its own, so that a trial is never passed for an
// experiment.
//
// PURE.
#ifndef MASTER_CORE_MODEL_IDS_H_
#define MASTER_CORE_MODEL_IDS_H_

#include <cstdint>
#include <string>

#include "base/id.h"

namespace det::model {

using ExperimentId = base::Id<struct ExperimentTag, int32_t>;
using TrialId = base::Id<struct TrialTag, int32_t>;
using UserId = base::Id<struct UserTag, int32_t>;
// "<experiment>.<trial>": a trial is one task.
using TaskId = base::Id<struct TaskTag, std::string>;
// "<task>.<run>": each start of a task is one allocation.
using AllocationId = base::Id<struct AllocationTag, std::string>;
using AgentId = base::Id<struct AgentTag, std::string>;
// A UUID that the trial chose.
using CheckpointId = base::Id<struct CheckpointTag, std::string>;
// The unit of fairness and order: one experiment's queue entry.
using JobId = base::Id<struct JobTag, std::string>;
// The searcher's name for a trial that it asked for; makes replay idempotent.
using RequestId = base::Id<struct RequestTag, std::string>;

}  // namespace det::model

#endif  // MASTER_CORE_MODEL_IDS_H_
