// The properties that must hold at every rest of a master. Each function returns the first
// violation.
//
// Called by World, Master and MasterProcess.
#ifndef TESTS_SIM_INVARIANTS_H_
#define TESTS_SIM_INVARIANTS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "master/core/cluster/cluster.h"
#include "master/core/cluster/image.h"
#include "master/core/cluster/outcome.h"
#include "master/core/cluster/testing/rows.h"

namespace det::sim {

// Checks the active rows: no slot is used twice; gangs are placed as a whole or not at all; trials
// agree with their allocations; a held trial does not run, and a paused trial is held or its
// experiment is paused; max_concurrent_trials is respected.
absl::Status CheckRows(const cluster::Rows& rows);

// The allocation that an effect starts or continues; null if there is none.
const model::AllocationId* GetContinuedAllocation(const cluster::Effect& effect);

// Checks that an effect follows from the committed rows.
absl::Status CheckCommitted(const cluster::Rows& rows, const cluster::Effect& effect);

// Checks that the state in memory equals the rows that these changes wrote; all of them are in
// `rows`.
absl::Status CheckChanges(const cluster::Cluster& cluster, const cluster::Rows& rows,
                          const std::vector<cluster::Change>& changes);

// Checks that the state in memory equals all rows, and that restoring them gives the same state.
absl::Status CheckDurable(const cluster::Cluster& cluster, const cluster::Image& rows);

// Checks restarts, search budgets and states after all work has ended.
absl::Status CheckEnd(const cluster::Rows& rows);

// The decisions of the search of an experiment as text: its trials in order, and its state.
std::string Decisions(const cluster::Rows& rows, model::ExperimentId id);

}  // namespace det::sim

#endif  // TESTS_SIM_INVARIANTS_H_
