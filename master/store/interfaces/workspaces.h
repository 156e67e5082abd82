// Workspaces: plain records, one transaction each. Reached through Store::workspaces(). Workspace 1
// is named Uncategorized; it is immutable and always exists. Any thread; blocks.
#ifndef MASTER_STORE_INTERFACES_WORKSPACES_H_
#define MASTER_STORE_INTERFACES_WORKSPACES_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "master/core/model/ids.h"
#include "master/core/model/role.h"
#include "master/store/interfaces/agent_user.h"
#include "master/store/interfaces/window.h"

namespace det::store {

inline constexpr int32_t kUncategorized = 1;  // the id of the workspace and of the project

// State of a deletion.
enum class WorkspaceState { kLive, kDeleting, kDeleteFailed };

struct WorkspaceRecord {
  int32_t id = 0;
  std::string name;
  model::UserId owner;
  std::string owner_name;
  bool archived = false;
  bool immutable = false;  // cannot be renamed, moved, archived or deleted
  WorkspaceState state = WorkspaceState::kLive;
  std::string error;
  std::optional<AgentUser> agent_user;
  std::string
      checkpoint_storage;  // JSON, merged into every configuration in the workspace; empty: none
  std::string default_compute_pool;
  std::string default_aux_pool;
  std::optional<absl::Time> pinned_at;  // by the user who queries
  int num_projects = 0;
  int num_experiments = 0;
};
struct WorkspacePatch {
  std::optional<std::string> name;
  std::optional<AgentUser> agent_user;
  std::optional<std::string> checkpoint_storage;
  std::optional<std::string> default_compute_pool;
  std::optional<std::string> default_aux_pool;
  std::optional<bool> archived;  // also archives its projects
};
struct WorkspaceQuery {
  enum class Sort { kId, kName };  // names without regard to case
  model::UserId caller;            // the user whose pins are returned
  Window window;
  Sort sort = Sort::kId;
  bool descending = false;
  std::string name;  // substring of the name, case-insensitive
  std::string exact_name;
  std::optional<bool> archived;
  std::optional<bool> pinned;
  std::vector<std::string> owners;
  std::vector<model::UserId> owner_ids;
  std::optional<std::vector<int32_t>> visible;  // only these
};
struct WorkspacePage {
  std::vector<WorkspaceRecord> workspaces;
  int total = 0;
};

class Workspaces {
 public:
  virtual ~Workspaces() = default;

  // NOT_FOUND.
  virtual absl::StatusOr<WorkspaceRecord> GetWorkspace(int32_t id, model::UserId caller) = 0;
  // The same without its counts, which take longer the more experiments there are, and its pin.
  virtual absl::StatusOr<WorkspaceRecord> GetWorkspaceSettings(int32_t id) = 0;
  // NOT_FOUND.
  virtual absl::StatusOr<std::string> GetWorkspaceName(int32_t workspace) = 0;
  virtual absl::StatusOr<WorkspacePage> ListWorkspaces(const WorkspaceQuery& query) = 0;
  // Assigns the id, gives the owner `role` in it, and pins it for the owner if `pinned_at` is set.
  // ALREADY_EXISTS if the name is taken.
  virtual absl::StatusOr<WorkspaceRecord> AddWorkspace(const WorkspaceRecord& workspace,
                                                       std::optional<model::RoleId> role) = 0;
  absl::StatusOr<WorkspaceRecord> AddWorkspace(const WorkspaceRecord& workspace) {
    return AddWorkspace(workspace, model::Role::kWorkspaceAdmin);
  }
  // NOT_FOUND; ALREADY_EXISTS if the name is taken; FAILED_PRECONDITION if it is immutable, or
  // archived unless the patch sets `archived`.
  virtual absl::StatusOr<WorkspaceRecord> ChangeWorkspace(int32_t id,
                                                          const WorkspacePatch& patch) = 0;
  // Also deletes its projects. FAILED_PRECONDITION if it is immutable, or contains an experiment or
  // a model.
  virtual absl::Status DeleteWorkspace(int32_t id) = 0;
  // Marks the workspace DELETING: garbage collection deletes its experiments, then the workspace.
  // NOT_FOUND; FAILED_PRECONDITION if it is immutable, or contains a model or an experiment that
  // has not ended.
  virtual absl::Status StartDeletion(int32_t id) = 0;
  // DELETING workspaces, sorted by id.
  virtual absl::StatusOr<std::vector<int32_t>> ListDeletions() = 0;
  // Changes the state from DELETING to DELETE_FAILED.
  virtual absl::Status MarkDeletionFailed(int32_t id, const std::string& reason) = 0;
  virtual absl::Status PinWorkspace(model::UserId user, int32_t id,
                                    std::optional<absl::Time> at) = 0;
};

// Errors that all implementations return.
inline absl::Status NoSuchWorkspace(int32_t id) {
  return absl::NotFoundError(
      absl::StrCat("workspace ", id, " not found; `det workspace list` shows all"));
}
inline absl::Status WorkspaceExists(const std::string& name) {
  return absl::AlreadyExistsError(
      absl::StrCat("another workspace is named \"", name, "\"; choose another name"));
}
// "workspace Uncategorized cannot be deleted".
inline absl::Status ImmutableError(const char* noun, const std::string& name, const char* what) {
  return absl::FailedPreconditionError(absl::StrCat(noun, " ", name, " cannot be ", what));
}
inline absl::Status RunningError(const char* noun, const std::string& name, int64_t experiments) {
  return absl::FailedPreconditionError(
      absl::StrCat(noun, " \"", name, "\" contains ", experiments,
                   experiments == 1 ? " experiment that has" : " experiments that have",
                   " not ended; kill them or move them elsewhere first"));
}
inline absl::Status NotEmptyError(const char* noun, const std::string& name, int64_t experiments) {
  return absl::FailedPreconditionError(
      absl::StrCat(noun, " \"", name, "\" contains ", experiments,
                   experiments == 1 ? " experiment" : " experiments",
                   "; move them elsewhere or delete them first"));
}

}  // namespace det::store

#endif  // MASTER_STORE_INTERFACES_WORKSPACES_H_
