// What the commands of workspaces and projects share with others: who is meant by a name.
#ifndef CLI_COMMANDS_SPACES_H_
#define CLI_COMMANDS_SPACES_H_

#include <string>

#include "absl/status/statusor.h"
#include "cli/api_client.h"
#include "cli/command.h"
#include "det/api/v1/experiment.pb.h"
#include "det/api/v1/project.pb.h"
#include "det/api/v1/workspace.pb.h"

namespace det::cli {

// NOT_FOUND for a name that there is none of.
absl::StatusOr<api::v1::Workspace> FindWorkspace(const ApiClient& api, const std::string& name);
absl::StatusOr<api::v1::Project> FindProject(const ApiClient& api, const std::string& workspace,
                                             const std::string& name);

// Projects as a table; its rows in the order of the answer.
absl::StatusOr<int> ListProjects(Invocation& run, const std::string& workspace);

// Experiments that `request` asks for, as a table with the options of `det experiment list`.
absl::StatusOr<int> ListExperiments(Invocation& run, api::v1::GetExperimentsRequest request);
const std::vector<Option>& ListExperimentsOptions();

// --agent-uid, --agent-gid, --agent-user, --agent-group: as whom tasks run on the nodes.
const std::vector<Option>& AgentUserOptions();
bool HasAgentUser(const Invocation& run);
absl::StatusOr<api::v1::AgentUserGroup> ReadAgentUser(const Invocation& run);
// "u (1000), g (1000)"; "-" where none is set.
std::string AgentUserText(const api::v1::AgentUserGroup& group);

}  // namespace det::cli

#endif  // CLI_COMMANDS_SPACES_H_
