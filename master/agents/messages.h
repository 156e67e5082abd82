// Between the agent protocol's messages and the model.
//
// Called by agent_hub.cc and connection.cc, on any thread. Does no I/O.
#ifndef MASTER_AGENTS_MESSAGES_H_
#define MASTER_AGENTS_MESSAGES_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "det/agent/v1/agent.pb.h"
#include "master/cluster/effect.h"
#include "master/cluster/event.h"
#include "master/model/reports.h"

namespace det::agents {

// INVALID_ARGUMENT for an agent without a name or with a slot twice.
absl::StatusOr<cluster::AgentRegistered> ToEvent(const det::agent::v1::Register& message,
                                                 absl::Time now);

// Nothing for a report of a kind that this master does not know.
std::optional<cluster::Event> ToEvent(const det::agent::v1::TaskReport& report,
                                      const model::AgentId& agent);

det::agent::v1::MasterMessage ToMessage(const cluster::StartTask& order,
                                        const std::string& session_token);
det::agent::v1::MasterMessage ToMessage(const cluster::StopTask& order);

// The task of the allocation "<task>.<run>".
model::TaskId TaskOf(const model::AllocationId& allocation);

std::vector<model::LogLine> ToLines(const det::agent::v1::PostLogsRequest& request);

}  // namespace det::agents

#endif  // MASTER_AGENTS_MESSAGES_H_
