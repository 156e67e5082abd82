// Converts agents, slots, resource pools and quotas to messages of the API and back.
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

v1::Device ToDevice(const model::Device& device);

// The local tasks that have not exited, by agent.
using Occupants =
    std::map<model::AgentId,
             std::vector<std::pair<const experiment::Allocation*, const experiment::LocalTask*>>>;
Occupants FindOccupants(const cluster::Cluster& cluster);

// An agent that is connected, or that has stored state such as "disabled". An agent with stored
// state alone has no slots and is not connected. Returns nullopt if the agent is unknown.
std::optional<v1::Agent> FindAgent(const cluster::Cluster& cluster, const Occupants& occupants,
                                   const model::AgentId& id, absl::Time now);

// All pools with their statistics, sorted by name.
std::vector<v1::ResourcePool> ListPools(const cluster::Cluster& cluster);
// NOT_FOUND with the names of the pools that exist.
absl::Status NoSuchPool(const cluster::Cluster& cluster, const std::string& name);

v1::Quota ToProto(const scheduler::Limit& limit, double slots_used);
// Returns INVALID_ARGUMENT for a scope other than "user" and "workspace".
absl::StatusOr<model::Quota::Scope> ParseScope(const std::string& scope);
absl::StatusOr<model::Quota> FromProto(const v1::Quota& quota);
// Applies the fields of the request to a pool. INVALID_ARGUMENT names the field and its allowed
// values.
absl::Status Apply(const v1::PutResourcePoolRequest& request, model::ResourcePool* pool);

}  // namespace det::api

#endif  // MASTER_API_COMMON_CONVERT_RESOURCES_H_
