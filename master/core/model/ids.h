// Ids. Each kind has its own type, so that a trial id cannot be passed as an experiment id.
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
// A UUID that the trial chooses.
using CheckpointId = base::Id<struct CheckpointTag, std::string>;
// The unit of fairness and order: one experiment's queue entry.
using JobId = base::Id<struct JobTag, std::string>;
// The searcher's id of a trial that it created; makes replay idempotent.
using RequestId = base::Id<struct RequestTag, std::string>;

}  // namespace det::model

#endif  // MASTER_CORE_MODEL_IDS_H_
