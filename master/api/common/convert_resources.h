// Agents, slots, resource pools and quotas as messages of the API.
//
// Called on the engine's loop, inside a Query. Does no I/O.
#ifndef MASTER_API_COMMON_CONVERT_RESOURCES_H_
#define MASTER_API_COMMON_CONVERT_RESOURCES_H_

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "det/api/v1/agent.pb.h"
#include "det/api/v1/resource_pool.pb.h"
#include "master/core/cluster/cluster.h"
#include "master/core/model/resource_pool.h"

namespace det::api {

// What runs where: shares that have not ended, by agent.
using Occupants =
    std::map<model::AgentId,
             std::vector<std::pair<const experiment::Allocation*, const experiment::Share*>>>;
Occupants OccupantsOf(const cluster::Cluster& cluster);

// An agent that is known; one that only was, and of which somebody has decided something, has no
// slots and is not connected. nullopt: never heard of.
std::optional<v1::Agent> FindAgent(const cluster::Cluster& cluster, const Occupants& occupants,
                                   const model::AgentId& id, absl::Time now);

// All pools, by name, with their figures.
std::vector<v1::ResourcePool> ListPools(const cluster::Cluster& cluster);
// "there are: default, gpu", for those that name another.
absl::Status NoSuchPool(const cluster::Cluster& cluster, const std::string& name);

v1::Quota ToProto(const scheduler::Limit& limit, double slots_used);
// INVALID_ARGUMENT for another scope than "user" and "workspace".
absl::StatusOr<model::Quota::Scope> ParseScope(const std::string& scope);
absl::StatusOr<model::Quota> FromProto(const v1::Quota& quota);
// What the request changes of a pool. INVALID_ARGUMENT names the field and what it may be.
absl::Status Apply(const v1::PutResourcePoolRequest& request, model::ResourcePool* pool);

}  // namespace det::api

#endif  // MASTER_API_COMMON_CONVERT_RESOURCES_H_
