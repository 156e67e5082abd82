// What must hold at every rest of a master, whatever happened before. Each gives the first
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

// Of what lives in the rows: no slot twice; a gang whole or absent; trials and their allocations
// agree; who is held rests, and who rests is held or paused; max_concurrent_trials is kept.
absl::Status CheckRows(const cluster::Rows& rows);

// The allocation that an effect tells to begin or to go on; null: it tells nobody that.
const model::AllocationId* Furthered(const cluster::Effect& effect);

// What leaves the master is true of the committed rows.
absl::Status CheckCommitted(const cluster::Rows& rows, const cluster::Effect& effect);

// Memory equals the rows that these changes wrote; all of them are in `rows`.
absl::Status CheckChanges(const cluster::Cluster& cluster, const cluster::Rows& rows,
                          const std::vector<cluster::Change>& changes);

// Memory equals all rows, and these restore to the same memory.
absl::Status CheckDurable(const cluster::Cluster& cluster, const cluster::Image& rows);

// Restarts, search budgets and states, judged by all rows once everything is over.
absl::Status CheckEnd(const cluster::Rows& rows);

// What the search of an experiment has decided, as text: its trials in their order, and where it
// stands.
std::string Decisions(const cluster::Rows& rows, model::ExperimentId id);

}  // namespace det::sim

#endif  // TESTS_SIM_INVARIANTS_H_
