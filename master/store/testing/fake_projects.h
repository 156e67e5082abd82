// Projects in memory. Used by FakeStore. Any thread; never blocks.
#ifndef MASTER_STORE_TESTING_FAKE_PROJECTS_H_
#define MASTER_STORE_TESTING_FAKE_PROJECTS_H_

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "master/store/interfaces/projects.h"
#include "master/store/testing/fake_database.h"

namespace det::store {

class FakeProjects final : public Projects {
 public:
  // `held` is asked before each write, without the database's mutex.
  FakeProjects(FakeDatabase* database, std::function<absl::Status()> held)
      : db_(*database), held_(std::move(held)) {}

  absl::StatusOr<ProjectRecord> GetProject(int32_t id) override;
  absl::StatusOr<ProjectRecord> GetProjectByKey(const std::string& key) override;
  absl::StatusOr<ProjectPage> ListProjects(const ProjectQuery& query) override;
  absl::StatusOr<ProjectRecord> AddProject(const ProjectRecord& project) override;
  absl::StatusOr<ProjectRecord> ChangeProject(int32_t id, const ProjectPatch& patch) override;
  absl::StatusOr<std::vector<ProjectNote>> AddNote(int32_t id, const ProjectNote& note) override;
  absl::Status DeleteProject(int32_t id) override;
  absl::StatusOr<int32_t> WorkspaceOf(model::ExperimentId id) override;
  absl::StatusOr<int32_t> WorkspaceOf(model::TrialId id) override;
  absl::StatusOr<int32_t> WorkspaceOf(const model::CheckpointId& id) override;
  absl::StatusOr<int32_t> WorkspaceOfProject(int32_t id) override;
  absl::Status NoteVisit(model::UserId user, int32_t project, absl::Time at) override;
  absl::StatusOr<std::vector<ProjectRecord>> LastVisited(model::UserId user, int limit) override;
  absl::StatusOr<std::vector<std::string>> ListLabels(
      int32_t project, const std::optional<std::vector<int32_t>>& visible) override;

 private:
  // These hold the mutex already.
  ProjectRecord Read(const ProjectRecord& row) const;
  bool IsNameTaken(int32_t workspace, const std::string& name, int32_t but) const;
  bool IsKeyTaken(const std::string& key, int32_t but) const;

  FakeDatabase& db_;
  const std::function<absl::Status()> held_;
};

}  // namespace det::store

#endif  // MASTER_STORE_TESTING_FAKE_PROJECTS_H_
