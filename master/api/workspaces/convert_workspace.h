// Converts between workspaces and projects of the store and the messages of the API.
//
// Any thread. Does no I/O.
#ifndef MASTER_API_WORKSPACES_CONVERT_WORKSPACE_H_
#define MASTER_API_WORKSPACES_CONVERT_WORKSPACE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "det/api/v1/project.pb.h"
#include "det/api/v1/workspace.pb.h"
#include "master/store/interfaces/projects.h"
#include "master/store/interfaces/workspaces.h"

namespace det::api {

// Secrets of the checkpoint storage are replaced by "********".
v1::Workspace ToProto(const store::WorkspaceRecord& record);
v1::Project ToProto(const store::ProjectRecord& record);
v1::Note ToProto(const store::ProjectNote& note);

store::ProjectNote FromProto(const v1::Note& note);
store::WorkspaceQuery ToQuery(const v1::GetWorkspacesRequest& request, model::UserId caller);
store::ProjectQuery ToQuery(const v1::GetWorkspaceProjectsRequest& request);

// Parses the name of a workspace or project. Returns INVALID_ARGUMENT if it is empty, too long or
// has several lines.
absl::StatusOr<std::string> ParseSpaceName(const std::string& name);
// Parses a project key of at most five letters and digits, and converts it to upper case.
absl::StatusOr<std::string> ParseProjectKey(const std::string& key);

}  // namespace det::api

#endif  // MASTER_API_WORKSPACES_CONVERT_WORKSPACE_H_
