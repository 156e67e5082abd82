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
#include "master/core/model/permission.h"
#include "master/core/model/role.h"

namespace google::protobuf {
class MethodDescriptor;
}  // namespace google::protobuf

namespace det::auth {

enum class PrincipalKind {
  kNobody,      // no token
  kUser,        // a session or access token of a user, or the token with which a task acts as one
  kAgent,       // an agent of the cluster
  kAllocation,  // a running allocation
};

// What a caller needs: a permission, or, where none fits, one of the basic roles; Viewer then means
// any role.
struct Need {
  model::Role role = model::Role::kNone;  // the lowest basic role that has the permission
  model::Permission permission = model::Permission::kNone;

  Need() = default;
  Need(model::Role role) : role(role) {}  // NOLINT: a role is a need
  Need(model::Permission permission)      // NOLINT: a permission is a need
      : role(model::GetInfo(permission).role), permission(permission) {}
};

// Workspace 0 is the cluster: the role holds in all workspaces.
struct WorkspaceRole {
  int32_t workspace = 0;
  model::RoleId role;
  // What the role may do, if it is not a built-in role, or if the mode without roles applies.
  std::optional<model::PermissionSet> permissions = std::nullopt;
  // Permissions that hold only for resources that the principal owns.
  model::PermissionSet own = {};
  friend bool operator==(const WorkspaceRole&, const WorkspaceRole&) = default;

  const model::PermissionSet& GetPermissions() const {
    return permissions ? *permissions : model::GetPermissions(role);
  }
};

// The caller of a method.
struct Principal {
  PrincipalKind kind = PrincipalKind::kNobody;
  model::UserId user;  // kUser
  bool admin = false;  // kUser: ClusterAdmin of the cluster
  model::Role limit =
      model::Role::kNone;  // kUser with an access token: the maximum role; kNone: the user's roles
  int32_t access_token = 0;          // id of the access token; 0: a login
  model::AllocationId allocation;    // kAllocation; kUser with the token of a task
  std::string token_hash;            // kUser: hash of the session's token
  std::string name;                  // kUser
  std::vector<WorkspaceRole> roles;  // kUser; also those of the user's groups
  bool basic = false;                // kUser: the mode without roles applies (docs/api.md)
  friend bool operator==(const Principal&, const Principal&) = default;

  // Whether a role for the cluster or in this workspace (0: only for the cluster) has what is
  // needed.
  bool Holds(const Need& need, int32_t workspace) const;
  bool HoldsAnywhere(const Need& need) const;
  // Whether it holds for resources in this workspace that the principal owns.
  bool HoldsForOwn(const Need& need, int32_t workspace) const;
  // All permissions for the cluster or in this workspace.
  model::PermissionSet GetPermissions(int32_t workspace) const;
  // The highest basic role in a workspace (0: for the cluster), and in any workspace; kNone if
  // there is none.
  model::Role RoleIn(int32_t workspace) const;
  model::Role RoleAnywhere() const;
  // Whether the principal may see resources in this workspace.
  bool Sees(int32_t workspace) const { return Holds(model::Role::kViewer, workspace); }
  // Workspaces whose resources may be listed; nullopt: all.
  std::optional<std::vector<int32_t>> Visible(const Need& need = model::Role::kViewer) const;

 private:
  bool Has(const WorkspaceRole& role, const Need& need) const;
};

// Where the permission must be held. From kWorkspace on: in the workspace of the resource that the
// request names.
enum class Scope {
  kAnywhere,  // resources without a workspace: the permission in any workspace suffices
  kVisible,   // like kAnywhere; the response contains what the caller may see
  kCluster,
  kSelf,  // resources of the caller; of others, for user administrators; without a field, always
          // the caller's own
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
  model::Role role = model::Role::kNone;                    // the lowest sufficient basic role
  model::Permission permission = model::Permission::kNone;  // kNone: `role` alone decides
  Scope scope = Scope::kAnywhere;
  std::string_view field =
      "";  // the request field that names the resource, "experiment.id"; for a list, each element
  // A second resource that the request may name, and what is required there.
  Scope second_scope = Scope::kAnywhere;
  std::string_view second_field = "";
  Need second_need;

  // Only reads, although a Viewer may not call it.
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

  Need need() const {
    return permission != model::Permission::kNone ? Need(permission) : Need(role);
  }
  // Whether a call changes anything.
  bool changes() const { return role > model::Role::kViewer && !read_only; }
  bool is_audited() const { return always_audited || (changes() && !never_audited); }
};
// Looks up the declaration of a method by its full name. Unknown methods are denied to all. Callers
// that need it more than once per call keep the result and pass it on.
Requirement GetRequirement(std::string_view method);
// What a method on many experiments or runs needs for each of them: the same, and for those that
// delete or move them, the permission to delete them.
Need GetElementNeed(std::string_view method);
// Whether the method declares who may call it. The master refuses to serve one that does not.
bool HasAccessOption(const google::protobuf::MethodDescriptor& method);

// Checks the kind of the principal and, for a user, whether the permission is held in any workspace
// where it may count. UNAUTHENTICATED without a required token, PERMISSION_DENIED otherwise.
absl::Status Authorize(const Requirement& requirement, const Principal& principal);
inline absl::Status Authorize(std::string_view method, const Principal& principal) {
  return Authorize(GetRequirement(method), principal);
}

// Checks what a user holds in the workspace of the named resource ("experiment", "7"). NOT_FOUND
// if the user has no role there or may not read it, as if the resource did not exist;
// PERMISSION_DENIED if the permission is missing. Services call it for a resource whose workspace
// they have read themselves; for all others api/authz/authorizer.h finds the workspace and calls
// it.
absl::Status AuthorizeInWorkspace(std::string_view method, const Principal& principal,
                                  const Need& need, int32_t workspace, Scope scope,
                                  std::string_view id);

// The error for resources that do not exist or that the caller may not see.
absl::Status ResourceNotFound(Scope scope, std::string_view id);

}  // namespace det::auth

#endif  // MASTER_AUTH_PERMISSIONS_H_
