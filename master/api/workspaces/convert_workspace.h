// Between workspaces and projects of the store and the messages of the API.
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

// Keys to the storage are shown as "********".
v1::Workspace ToProto(const store::WorkspaceRecord& record);
v1::Project ToProto(const store::ProjectRecord& record);
v1::Note ToProto(const store::ProjectNote& note);

store::ProjectNote FromProto(const v1::Note& note);
store::WorkspaceQuery ToQuery(const v1::GetWorkspacesRequest& request, model::UserId asking);
store::ProjectQuery ToQuery(const v1::GetWorkspaceProjectsRequest& request);

// The name of a workspace or project. INVALID_ARGUMENT for none, and for one longer than a line.
absl::StatusOr<std::string> ReadName(const std::string& name);
// At most five letters and digits; in capitals then.
absl::StatusOr<std::string> ReadKey(const std::string& key);

}  // namespace det::api

#endif  // MASTER_API_WORKSPACES_CONVERT_WORKSPACE_H_
