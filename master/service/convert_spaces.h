// Between workspaces and projects of the store and the messages of the API.
//
// Any thread. Does no I/O.
#ifndef MASTER_SERVICE_CONVERT_SPACES_H_
#define MASTER_SERVICE_CONVERT_SPACES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "det/api/v1/project.pb.h"
#include "det/api/v1/workspace.pb.h"
#include "master/store/projects.h"
#include "master/store/workspaces.h"

namespace det::service {

// Keys to the storage are shown as "********".
det::api::v1::Workspace ToProto(const store::WorkspaceRecord& record);
det::api::v1::Project ToProto(const store::ProjectRecord& record);
det::api::v1::Note ToProto(const store::ProjectNote& note);

store::ProjectNote FromProto(const det::api::v1::Note& note);
store::WorkspaceQuery ToQuery(const det::api::v1::GetWorkspacesRequest& request,
                              model::UserId asking);
store::ProjectQuery ToQuery(const det::api::v1::GetWorkspaceProjectsRequest& request);

// The name of a workspace or project. INVALID_ARGUMENT for none, and for one longer than a line.
absl::StatusOr<std::string> ReadName(const std::string& name);
// At most five letters and digits; in capitals then.
absl::StatusOr<std::string> ReadKey(const std::string& key);

}  // namespace det::service

#endif  // MASTER_SERVICE_CONVERT_SPACES_H_
