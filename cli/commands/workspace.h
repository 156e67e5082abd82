// Functions of the workspace, project and user commands that other commands use.
#ifndef CLI_COMMANDS_WORKSPACE_H_
#define CLI_COMMANDS_WORKSPACE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "cli/api_client.h"
#include "cli/command.h"
#include "det/api/v1/experiment.pb.h"
#include "det/api/v1/project.pb.h"
#include "det/api/v1/workspace.pb.h"

namespace det::cli {

// Return NOT_FOUND for an unknown name.
absl::StatusOr<api::v1::Workspace> FindWorkspace(const ApiClient& api, const std::string& name);
absl::StatusOr<api::v1::Project> FindProject(const ApiClient& api, const std::string& workspace,
                                             const std::string& name);

// Prints projects in the order of the response.
absl::StatusOr<int> ListProjects(Invocation& run, const std::string& workspace);

// Prints the experiments of `request` with the options of `det experiment list`.
absl::StatusOr<int> ListExperiments(Invocation& run, api::v1::GetExperimentsRequest request);
const std::vector<Option>& ListExperimentsOptions();

// --agent-uid, --agent-gid, --agent-user, --agent-group: the Unix user of tasks on agents.
const std::vector<Option>& AgentUserOptions();
bool HasAgentUser(const Invocation& run);
absl::StatusOr<api::v1::AgentUserGroup> ReadAgentUser(const Invocation& run);
// "u (1000), g (1000)"; "-" if not set.
std::string AgentUserText(const api::v1::AgentUserGroup& group);

}  // namespace det::cli

#endif  // CLI_COMMANDS_WORKSPACE_H_
