// Projects in memory. Used by FakeStore. Any thread; never blocks.
#ifndef MASTER_STORE_TESTING_FAKE_PROJECTS_H_
#define MASTER_STORE_TESTING_FAKE_PROJECTS_H_

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "master/store/interfaces/projects.h"
#include "master/store/testing/fake_database.h"

namespace det::store {

class FakeProjects final : public Projects {
 public:
  // `check_epoch` is called before each write, without the database's mutex.
  FakeProjects(FakeDatabase* database, std::function<absl::Status()> check_epoch)
      : db_(*database), check_epoch_(std::move(check_epoch)) {}

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
  // REQUIRE the mutex.
  ProjectRecord Read(const ProjectRecord& row) const;
  bool IsNameTaken(int32_t workspace, const std::string& name, int32_t excluded) const;
  bool IsKeyTaken(const std::string& key, int32_t excluded) const;

  FakeDatabase& db_;
  const std::function<absl::Status()> check_epoch_;
};

}  // namespace det::store

#endif  // MASTER_STORE_TESTING_FAKE_PROJECTS_H_
