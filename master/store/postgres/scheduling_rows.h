// Rows of pools and quotas: structs to rows and back. Called by the store's parts on
// their threads.
#ifndef MASTER_STORE_POSTGRES_SCHEDULING_ROWS_H_
#define MASTER_STORE_POSTGRES_SCHEDULING_ROWS_H_

#include "absl/status/status.h"
#include "master/core/cluster/change.h"
#include "master/core/cluster/image.h"
#include "master/store/postgres/connection.h"

namespace det::store {

Connection::Statement Put(const model::ResourcePool& pool);
Connection::Statement Drop(const cluster::DropPool& drop);
Connection::Statement Put(const cluster::PutDefaultPools& put);
Connection::Statement Put(const model::Quota& quota);
Connection::Statement Drop(const cluster::DropQuota& drop);

// Reads all of them, and agents, and what was used of quotas. INTERNAL for a row that does not make
// sense.
absl::Status AddScheduling(Connection& connection, cluster::Image& image);

}  // namespace det::store

#endif  // MASTER_STORE_POSTGRES_SCHEDULING_ROWS_H_
