// What must hold after every event, whatever happened before. Each gives the first violation.
//
// Called by World and Master.
#ifndef TESTS_SIM_INVARIANTS_H_
#define TESTS_SIM_INVARIANTS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "master/cluster/cluster.h"
#include "master/cluster/image.h"
#include "master/cluster/outcome.h"
#include "master/cluster/testing/rows.h"

namespace det::sim {

// No slot twice; a gang whole or absent; trials and their allocations agree; who is held rests, and
// who rests is held or paused; max_concurrent_trials is kept.
absl::Status CheckImage(const cluster::Image& image);

// Nobody is told of an allocation that is over, except to end it.
absl::Status CheckEffects(const cluster::Cluster& cluster,
                          const std::vector<cluster::Effect>& effects);

// What leaves the master is true of the committed rows.
absl::Status CheckCommitted(const cluster::Rows& rows, const cluster::Effect& effect);

// The parts in which the images differ; empty: none.
std::string Difference(const cluster::Image& a, const cluster::Image& b);

// Restarts, search budgets and states, judged by all rows once everything is over.
absl::Status CheckEnd(const cluster::Rows& rows);

// Memory equals the rows that its changes wrote, and rows restore to the same memory.
absl::Status CheckDurable(const cluster::Cluster& cluster, const cluster::Image& rows);

}  // namespace det::sim

#endif  // TESTS_SIM_INVARIANTS_H_
