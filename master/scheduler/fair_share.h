// What is fair: shares of what a pool has, and what each job is entitled to of its slots.
//
// PURE.
#ifndef MASTER_SCHEDULER_FAIR_SHARE_H_
#define MASTER_SCHEDULER_FAIR_SHARE_H_

#include "absl/container/flat_hash_map.h"
#include "master/scheduler/pool_state.h"
#include "master/scheduler/state.h"

namespace det::scheduler {

// The largest of its shares of slots, cpus and memory.
double DominantShare(const Usage& usage, const Usage& total);
double WeightOf(const JobState& job);

// The slots of the pool divided fairly among those who run or wait, nobody given more than it
// wants: among workspaces, within each among its users, within each among its jobs by weight.
using Entitlements = absl::flat_hash_map<const JobState*, double>;  // in slots
Entitlements EntitlementsOf(const PoolState& pool);

}  // namespace det::scheduler

#endif  // MASTER_SCHEDULER_FAIR_SHARE_H_
