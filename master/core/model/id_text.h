// Conversions between ids: the id of a job contains its experiment, and that of an allocation its
// experiment, trial and run. Only these functions parse ids.
//
// On any thread. PURE.
#ifndef MASTER_CORE_MODEL_ID_TEXT_H_
#define MASTER_CORE_MODEL_ID_TEXT_H_

#include <optional>
#include <string>

#include "master/core/model/ids.h"

namespace det::model {

JobId ToJobId(ExperimentId experiment);  // "exp-7"
// Nullopt if the id is not that of an experiment's job.
std::optional<ExperimentId> ParseJobId(const JobId& job);
// Returns the prefix of the ids of exactly the experiment's allocations: "7."
std::string AllocationPrefix(ExperimentId experiment);

// The parts of an allocation id: "7.12.1" is run 1 of trial 12 of experiment 7, whose task is
// "7.12". Nullopt if the id is not that of an allocation.
struct RunName {
  ExperimentId experiment;
  TrialId trial;
  int run = 0;
  TaskId task;
};
std::optional<RunName> ParseAllocationId(const AllocationId& allocation);

// Whether the id has the form of a task that is not a trial: a UUID, which has no dot.
bool IsOtherTask(const TaskId& task);
// Returns the task of an allocation of such a task: "<uuid>.1". Nullopt for any other id.
std::optional<TaskId> ParseOtherTask(const AllocationId& allocation);

}  // namespace det::model

#endif  // MASTER_CORE_MODEL_ID_TEXT_H_
