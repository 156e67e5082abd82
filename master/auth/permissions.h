// Which principals may call which method in which scope (docs/api.md). What a method requires is an
// option of its declaration in proto/ (det/access.proto).
//
// Used by api/authz/authorizer.h and agents/agent_hub.cc for every call, and by services; any
// thread.
#ifndef MASTER_AUTH_PERMISSIONS_H_
#define MASTER_AUTH_PERMISSIONS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "master/core/model/ids.h"
#include "master/core/model/role.h"

namespace google::protobuf {
class MethodDescriptor;
}  // namespace google::protobuf

namespace det::auth {

enum class PrincipalKind {
  kNobody,      // no token
  kUser,        // a session or access token of a user
  kAgent,       // an agent of the cluster
  kAllocation,  // a running allocation
};

// Workspace 0 is the cluster: the role holds in all workspaces.
struct WorkspaceRole {
  int32_t workspace = 0;
  model::Role role = model::Role::kNone;
  friend bool operator==(const WorkspaceRole&, const WorkspaceRole&) = default;
};

// The caller of a method.
struct Principal {
  PrincipalKind kind = PrincipalKind::kNobody;
  model::UserId user;  // kUser
  bool admin = false;  // kUser: ClusterAdmin of the cluster
  model::Role limit =
      model::Role::kNone;  // kUser with an access token: the maximum role; kNone: the user's roles
  int32_t access_token = 0;          // id of the access token; 0: a login
  model::AllocationId allocation;    // kAllocation
  std::string token_hash;            // kUser: hash of the session's token
  std::string name;                  // kUser
  std::vector<WorkspaceRole> roles;  // kUser
  friend bool operator==(const Principal&, const Principal&) = default;

  // The highest role in a workspace (0: for the cluster), and in any workspace; kNone if there is
  // none.
  model::Role RoleIn(int32_t workspace) const;
  model::Role RoleAnywhere() const;
  // Whether the principal may see resources in this workspace.
  bool Sees(int32_t workspace) const { return RoleIn(workspace) != model::Role::kNone; }
  // Workspaces whose resources may be listed; nullopt: all.
  std::optional<std::vector<int32_t>> Visible() const;
};

// Where the role must be held. From kWorkspace on: in the workspace of the resource that the
// request names.
enum class Scope {
  kAnywhere,  // resources without a workspace: a role in any workspace suffices
  kVisible,   // like kAnywhere; the response contains what the caller may see
  kCluster,
  kSelf,  // resources of the caller, or ClusterAdmin; without a field, always the caller's own
  kWorkspace,
  kProject,
  kProjectKey,
  kExperiment,
  kTrial,
  kCheckpoint,
  kJob,
  kTask,
  kAllocation,
  kModel,
  kTemplate,
  kWebhook,  // a webhook without a workspace is in workspace 0, the cluster
};
// Returns "experiment", ...
std::string_view GetNoun(Scope scope);

// What a method requires of its caller.
struct Requirement {
  std::string method;  // its full name, "det.api.v1.TrialService.GetTrial"
  PrincipalKind kind = PrincipalKind::kNobody;
  bool is_public = false;  // callable without a token
  bool is_denied = false;  // denied to all
  bool own_task = false;   // also callable by a task for itself, its trial and its experiment
  // For users:
  model::Role role = model::Role::kNone;
  Scope scope = Scope::kAnywhere;
  std::string_view field =
      "";  // the request field that names the resource, "experiment.id"; for a list, each element
  // A second resource that the request may name, and the role that is required there.
  Scope second_scope = Scope::kAnywhere;
  std::string_view second_field = "";
  model::Role second_role = model::Role::kNone;

  // Only reads, although it requires more than Viewer.
  bool read_only = false;

  // Creates a resource, so that it is not idempotent: accepts an Idempotency-Key.
  bool creates = false;

  // Further fields in the audit record of a call: a request field, "user.username", and a response
  // field with the id of the created resource, "experiment.id".
  std::string_view audit_field = "";
  std::string_view audit_result_field = "";
  // Audited although it requires no role for changes, such as a login.
  bool always_audited = false;
  // Not audited although it changes something, because programs repeat it: a report, a heartbeat.
  bool never_audited = false;

  // Whether a call changes anything.
  bool changes() const { return role > model::Role::kViewer && !read_only; }
  bool is_audited() const { return always_audited || (changes() && !never_audited); }
};
// Looks up the declaration of a method by its full name. Unknown methods are denied to all. Callers
// that need it more than once per call keep the result and pass it on.
Requirement GetRequirement(std::string_view method);
// Whether the method declares who may call it. The master refuses to serve one that does not.
bool HasAccessOption(const google::protobuf::MethodDescriptor& method);

// Checks the kind of the principal and, for a user, whether the role is held in any workspace where
// it may count. UNAUTHENTICATED without a required token, PERMISSION_DENIED otherwise.
absl::Status Authorize(const Requirement& requirement, const Principal& principal);
inline absl::Status Authorize(std::string_view method, const Principal& principal) {
  return Authorize(GetRequirement(method), principal);
}

// Checks the role of a user in the workspace of the named resource ("experiment", "7"). NOT_FOUND
// if the user has no role there, as if the resource did not exist; PERMISSION_DENIED if the role is
// too low. Services call it for a resource whose workspace they have read themselves; for all
// others api/authz/authorizer.h finds the workspace and calls it.
absl::Status AuthorizeInWorkspace(std::string_view method, const Principal& principal,
                                  model::Role role, int32_t workspace, Scope scope,
                                  std::string_view id);

// The error for resources that do not exist or that the caller may not see.
absl::Status ResourceNotFound(Scope scope, std::string_view id);

}  // namespace det::auth

#endif  // MASTER_AUTH_PERMISSIONS_H_
