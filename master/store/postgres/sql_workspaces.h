// Workspaces in PostgreSQL. Used by SqlStore. Any thread; blocks.
#ifndef MASTER_STORE_POSTGRES_SQL_WORKSPACES_H_
#define MASTER_STORE_POSTGRES_SQL_WORKSPACES_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "master/store/interfaces/workspaces.h"
#include "master/store/postgres/fence.h"
#include "master/store/postgres/pool.h"

namespace det::store {

class SqlWorkspaces final : public Workspaces {
 public:
  SqlWorkspaces(Pool* pool, Fence* fence) : pool_(*pool), fence_(*fence) {}

  absl::StatusOr<WorkspaceRecord> GetWorkspace(int32_t id, model::UserId caller) override;
  absl::StatusOr<WorkspaceRecord> GetWorkspaceSettings(int32_t id) override;
  absl::StatusOr<std::string> GetWorkspaceName(int32_t workspace) override;
  absl::StatusOr<WorkspacePage> ListWorkspaces(const WorkspaceQuery& query) override;
  absl::StatusOr<WorkspaceRecord> AddWorkspace(const WorkspaceRecord& workspace,
                                               std::optional<model::RoleId> role) override;
  absl::StatusOr<WorkspaceRecord> ChangeWorkspace(int32_t id, const WorkspacePatch& patch) override;
  absl::Status DeleteWorkspace(int32_t id) override;
  absl::Status StartDeletion(int32_t id) override;
  absl::StatusOr<std::vector<int32_t>> ListDeletions() override;
  absl::Status MarkDeletionFailed(int32_t id, const std::string& reason) override;
  absl::Status PinWorkspace(model::UserId user, int32_t id, std::optional<absl::Time> at) override;

 private:
  Pool& pool_;
  Fence& fence_;
};

}  // namespace det::store

#endif  // MASTER_STORE_POSTGRES_SQL_WORKSPACES_H_
