// Conversion between messages of the agent protocol and the model. Called by agent_hub.cc and
// agent_connection.cc, on any thread. Does no I/O.
#ifndef MASTER_AGENTS_MESSAGES_H_
#define MASTER_AGENTS_MESSAGES_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "det/agent/v1/agent.pb.h"
#include "master/auth/tokens.h"
#include "master/core/cluster/effect.h"
#include "master/core/cluster/event.h"
#include "master/core/model/reports.h"

namespace det::agents {

// Checks an id from the network: at most 255 bytes of printable ASCII, since it is used in rows,
// indices, logs and paths. INVALID_ARGUMENT otherwise, without the id itself.
absl::Status CheckId(const char* what, const std::string& id);

// INVALID_ARGUMENT for an agent without a name or with duplicate slots, and for an invalid id.
absl::StatusOr<cluster::AgentRegistered> ToEvent(const det::agent::v1::Register& message,
                                                 absl::Time now);

// Returns nullopt for a kind of report that this master does not know. INVALID_ARGUMENT for an
// invalid id.
absl::StatusOr<std::optional<cluster::Event>> ToEvent(const det::agent::v1::TaskReport& report,
                                                      const model::AgentId& agent);

det::agent::v1::MasterMessage ToMessage(const cluster::StartTask& order,
                                        const auth::AllocationTokens& tokens);
det::agent::v1::MasterMessage ToMessage(const cluster::StopTask& order);

// The task of the allocation "<task>.<run>".
model::TaskId GetTaskId(const model::AllocationId& allocation);

// INVALID_ARGUMENT for an invalid id.
absl::StatusOr<std::vector<model::LogLine>> ToLines(const det::agent::v1::PostLogsRequest& request);

}  // namespace det::agents

#endif  // MASTER_AGENTS_MESSAGES_H_
