// Converts the agent's data types to protobuf messages (det.agent.v1) and back. Used by MasterLink
// and its tests, on any thread. Does no I/O.
#ifndef AGENT_LINK_MESSAGES_H_
#define AGENT_LINK_MESSAGES_H_

#include <string>
#include <vector>

#include "agent/core/event.h"
#include "agent/core/task.h"
#include "agent/link/master_link.h"
#include "det/agent/v1/agent.pb.h"

namespace det::agent {

v1::Register ToProto(const Registration& registration);
v1::TaskReport ToProto(const Report& report);
v1::PostLogsRequest ToProto(const std::string& agent_id, const AllocationId& allocation,
                            const std::vector<OutputLine>& lines);

TaskSpec FromProto(const v1::TaskSpec& spec);
StopTask FromProto(const v1::StopTask& stop);

}  // namespace det::agent

#endif  // AGENT_LINK_MESSAGES_H_
