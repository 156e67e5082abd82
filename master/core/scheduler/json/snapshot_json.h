// Snapshots and plans as JSON: what `det cluster snapshot` writes and `det dev schedule` reads. The
// format is public and stable; docs/scheduling.md, "Snapshot format", is its manual.
// Called by simulate and the API services, on any thread. PURE.
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

// Absent members have their defaults. INVALID_ARGUMENT with all problems, a line each:
//   gangs[4].running[0].slots: agent "a" has no slot 9
absl::StatusOr<Snapshot> ParseSnapshot(std::string_view json);

// Formats a snapshot with a line for each agent, job and gang. ParseSnapshot returns an equal
// snapshot if all ids are unique.
std::string ToJson(const Snapshot& snapshot);

// {assign: {gang: [{agent, slots: [id]}]}, preempt: [gang], waiting: {gang: "NO_CAPACITY"},
//  reasons: {gang: text}, look_again: time}. `started`: texts for the gangs that start, if any.
std::string ToJson(const Scheduled& scheduled,
                   const std::map<model::AllocationId, std::string>& started = {});

}  // namespace det::scheduler

#endif  // MASTER_CORE_SCHEDULER_JSON_SNAPSHOT_JSON_H_
