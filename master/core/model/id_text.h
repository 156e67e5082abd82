// How ids are made of others, and what they say: a job is named after its experiment, and an
// allocation's id begins with it. Nobody else takes ids apart.
//
// On any thread. PURE.
#ifndef MASTER_CORE_MODEL_ID_TEXT_H_
#define MASTER_CORE_MODEL_ID_TEXT_H_

#include <optional>
#include <string>

#include "master/core/model/ids.h"

namespace det::model {

JobId JobOf(ExperimentId experiment);  // "exp-7"
// Nullopt for what no experiment's job is called.
std::optional<ExperimentId> ExperimentOf(const JobId& job);
// With which the ids of all of the experiment's allocations begin, and no others: "7."
std::string AllocationPrefix(ExperimentId experiment);

// "7.12.0" is run 0 of trial 12 of experiment 7, whose task is "7.12". Nullopt for what no
// allocation is called.
struct RunName {
  ExperimentId experiment;
  TrialId trial;
  int run = 0;
  TaskId task;
};
std::optional<RunName> RunOf(const AllocationId& allocation);

}  // namespace det::model

#endif  // MASTER_CORE_MODEL_ID_TEXT_H_
