// As whom tasks run, as a column of JSON. Called by the sources here. Never talks to the database.
#ifndef MASTER_STORE_POSTGRES_AGENT_USER_ROWS_H_
#define MASTER_STORE_POSTGRES_AGENT_USER_ROWS_H_

#include <optional>

#include "absl/status/statusor.h"
#include "master/store/interfaces/agent_user.h"
#include "master/store/postgres/connection.h"

namespace det::store {

// INTERNAL for what no master wrote.
absl::StatusOr<std::optional<AgentUser>> ToAgentUser(const Result& result, int row, int column);
Param ToParam(const std::optional<AgentUser>& user);

}  // namespace det::store

#endif  // MASTER_STORE_POSTGRES_AGENT_USER_ROWS_H_
