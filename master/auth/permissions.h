// Who may call which method, and where: one table (docs/api.md).
//
// Asked by service/admission.h and agents/agent_hub.cc for every call, on any thread. PURE.
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

namespace det::auth {

enum class PrincipalKind {
  kNobody,      // no token
  kUser,        // a person's session
  kAgent,       // an agent of the cluster
  kAllocation,  // a running task, for itself
};

// Workspace 0 is the cluster, hence all workspaces.
struct WorkspaceRole {
  int32_t workspace = 0;
  model::Role role = model::Role::kNone;
  friend bool operator==(const WorkspaceRole&, const WorkspaceRole&) = default;
};

// Who is asking.
struct Principal {
  PrincipalKind kind = PrincipalKind::kNobody;
  model::UserId user;                      // kUser
  bool admin = false;                      // kUser: ClusterAdmin of the cluster
  model::Role limit = model::Role::kNone;  // kUser, by an access token: no more; kNone: as the user
  int32_t access_token = 0;                // the number of that token; 0: a login
  model::AllocationId allocation;          // kAllocation
  std::string token_hash;                  // kUser: of the session
  std::string name;                        // kUser
  std::vector<WorkspaceRole> roles;        // kUser
  friend bool operator==(const Principal&, const Principal&) = default;

  // The highest role in a workspace (0: for the cluster), and in any; kNone without one.
  model::Role RoleIn(int32_t workspace) const;
  model::Role RoleAnywhere() const;
  // Whether something that is there may be shown at all.
  bool Sees(int32_t workspace) const { return RoleIn(workspace) != model::Role::kNone; }
  // All whose things lists may show; nullopt: those of every workspace.
  std::optional<std::vector<int32_t>> Visible() const;
};

// Where the role must be held. Of kUser and on: in the workspace in which what the request names
// lies.
enum class Where {
  kAnywhere,  // what belongs to no workspace: a role in any of them does
  kVisible,   // the same; the answer shows what the caller sees
  kCluster,
  kSelf,  // the caller's own, or ClusterAdmin; without a field, the caller's own by its nature
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
  kWebhook,  // one of no workspace lies in 0, the cluster
};
// "experiment", ...
std::string_view Noun(Where where);

// What a method asks for; `method` is its full name, "det.api.v1.TrialService.GetTrial". Nothing of
// an unknown service is open: it asks for what nobody has.
struct Requirement {
  PrincipalKind kind = PrincipalKind::kNobody;
  bool anyone = false;    // also without a token
  bool nobody = false;    // refused to all
  bool own_task = false;  // of users: also a task, about itself, its trial and its experiment
  // Of users:
  model::Role role = model::Role::kNone;
  Where where = Where::kAnywhere;
  std::string_view field = "";  // whose value names it, "experiment.id"; of a list, each of them
  // What it names besides, if it does, and the role that is needed there.
  Where also = Where::kAnywhere;
  std::string_view also_field = "";
  model::Role also_role = model::Role::kNone;

  // Reads what not every viewer may.
  bool reads = false;

  // Makes something, so that doing it twice makes two: takes an Idempotency-Key.
  bool makes = false;

  // Besides these, what the record of a call shows of its request: "user.username"; and of its
  // answer, what was made: "experiment.id".
  std::string_view told = "";
  std::string_view made = "";
  // Leaves a record, though it asks for no role that changes something: a login.
  bool noted = false;

  // Whether a call changes something.
  bool changes() const { return role > model::Role::kViewer && !reads; }
  bool leaves_record() const { return noted || changes(); }
};
Requirement RequirementOf(std::string_view method);

// By the caller's kind, and of a user whether the role is held somewhere where it may count.
// UNAUTHENTICATED without a token where one is needed, PERMISSION_DENIED otherwise.
absl::Status Authorize(std::string_view method, const Principal& principal);

// Of a user, in the workspace of what the request names ("experiment", "7"). NOT_FOUND where the
// caller has no role, as if it did not exist; PERMISSION_DENIED where it is too little.
absl::Status AuthorizeIn(std::string_view method, const Principal& principal, model::Role role,
                         int32_t workspace, Where where, std::string_view id);

// What is said of what is not there, and of what may not be seen.
absl::Status DoesNotExist(Where where, std::string_view id);

}  // namespace det::auth

#endif  // MASTER_AUTH_PERMISSIONS_H_
