// Rows of agents, and of what was decided about them: structs to rows and back. Called by the
// store's parts on their threads.
#ifndef MASTER_STORE_POSTGRES_AGENT_ROWS_H_
#define MASTER_STORE_POSTGRES_AGENT_ROWS_H_

#include "absl/status/status.h"
#include "master/core/cluster/change.h"
#include "master/core/cluster/image.h"
#include "master/store/postgres/connection.h"

namespace det::store {

Connection::Statement Put(const model::Agent& agent);
Connection::Statement Drop(const cluster::DropAgent& drop);
Connection::Statement Add(const cluster::AddCapacity& add);
Connection::Statement Put(const model::AgentState& agent);

// Reads all of them. INTERNAL for a row that does not make sense.
absl::Status AddAgents(Connection& connection, cluster::Image& image);

}  // namespace det::store

#endif  // MASTER_STORE_POSTGRES_AGENT_ROWS_H_
