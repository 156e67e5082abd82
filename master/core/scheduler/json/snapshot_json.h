// Snapshots and plans as JSON: what `det cluster snapshot` writes and `det dev schedule` reads. The
// format is public and stable; docs/scheduling.md, "Snapshot format", is its manual.
// Called by simulate and service, on any thread. PURE.
#ifndef MASTER_CORE_SCHEDULER_JSON_SNAPSHOT_JSON_H_
#define MASTER_CORE_SCHEDULER_JSON_SNAPSHOT_JSON_H_

#include <map>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "master/core/model/ids.h"
#include "master/core/scheduler/scheduler.h"
#include "master/core/scheduler/snapshot.h"

namespace det::scheduler {

// What is absent has its default. INVALID_ARGUMENT with all problems at once, a line each:
//   gangs[4].running[0].slots: agent "a" has no slot 9
absl::StatusOr<Snapshot> ParseSnapshot(std::string_view json);

// A line for each agent, job and gang; ParseSnapshot gives the same snapshot again, if each slot,
// agent, job and gang is there once.
std::string ToJson(const Snapshot& snapshot);

// {assign: {gang: [{agent, slots: [id]}]}, preempt: [gang], waiting: {gang: "NO_CAPACITY"},
//  reasons: {gang: words}, look_again: time}. `started`: words for those that start, if any.
std::string ToJson(const Scheduled& scheduled,
                   const std::map<model::AllocationId, std::string>& started = {});

}  // namespace det::scheduler

#endif  // MASTER_CORE_SCHEDULER_JSON_SNAPSHOT_JSON_H_
