// Projects in PostgreSQL. Used by SqlStore. Any thread; blocks.
#ifndef MASTER_STORE_POSTGRES_SQL_PROJECTS_H_
#define MASTER_STORE_POSTGRES_SQL_PROJECTS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "master/store/interfaces/projects.h"
#include "master/store/postgres/fence.h"
#include "master/store/postgres/pool.h"

namespace det::store {

class SqlProjects final : public Projects {
 public:
  SqlProjects(Pool* pool, Fence* fence) : pool_(*pool), fence_(*fence) {}

  absl::StatusOr<ProjectRecord> GetProject(int32_t id) override;
  absl::StatusOr<ProjectRecord> GetProjectSettings(int32_t id) override;
  absl::StatusOr<ProjectRecord> GetProjectByKey(const std::string& key) override;
  absl::StatusOr<ProjectPage> ListProjects(const ProjectQuery& query) override;
  absl::StatusOr<ProjectRecord> AddProject(const ProjectRecord& project) override;
  absl::StatusOr<ProjectRecord> ChangeProject(int32_t id, const ProjectPatch& patch) override;
  absl::StatusOr<std::vector<ProjectNote>> AddNote(int32_t id, const ProjectNote& note) override;
  absl::Status DeleteProject(int32_t id) override;
  absl::Status StartDeletion(int32_t id) override;
  absl::StatusOr<std::vector<int32_t>> ListDeletions() override;
  absl::Status MarkDeletionFailed(int32_t id, const std::string& reason) override;
  absl::StatusOr<int32_t> GetWorkspaceId(model::ExperimentId id) override;
  absl::StatusOr<int32_t> GetWorkspaceId(model::TrialId id) override;
  absl::StatusOr<int32_t> GetWorkspaceId(const model::CheckpointId& id) override;
  absl::StatusOr<int32_t> GetProjectWorkspaceId(int32_t id) override;
  absl::Status RecordVisit(model::UserId user, int32_t project, absl::Time at) override;
  absl::StatusOr<std::vector<ProjectRecord>> ListLastVisited(model::UserId user,
                                                             int limit) override;
  absl::StatusOr<std::vector<std::string>> ListLabels(
      int32_t project, const std::optional<std::vector<int32_t>>& visible) override;

 private:
  Pool& pool_;
  Fence& fence_;
};

}  // namespace det::store

#endif  // MASTER_STORE_POSTGRES_SQL_PROJECTS_H_
