// Projects: plain records, one transaction each. Reached by Store::projects(). Project 1, of
// workspace 1, is named Uncategorized, immutable and always there. Any thread; blocks.
#ifndef MASTER_STORE_INTERFACES_PROJECTS_H_
#define MASTER_STORE_INTERFACES_PROJECTS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "master/core/model/ids.h"
#include "master/store/interfaces/window.h"
#include "master/store/interfaces/workspaces.h"

namespace det::store {

struct ProjectNote {
  std::string name;
  std::string contents;
  friend bool operator==(const ProjectNote&, const ProjectNote&) = default;
};
struct ProjectRecord {
  int32_t id = 0;
  int32_t workspace = 0;
  std::string workspace_name;
  std::string name;
  std::string key;
  std::string description;
  model::UserId owner;
  std::string owner_name;
  bool archived = false;
  bool immutable = false;
  SpaceState state = SpaceState::kLive;
  std::string error;
  std::vector<ProjectNote> notes;
  std::optional<absl::Time> last_experiment_started_at;
  int num_experiments = 0;
  int num_active_experiments = 0;
  int num_runs = 0;
};
struct ProjectPatch {
  std::optional<std::string> name;
  std::optional<std::string> description;
  std::optional<std::string> key;
  std::optional<std::vector<ProjectNote>> notes;
  std::optional<int32_t> workspace;
  std::optional<bool> archived;
};
struct ProjectQuery {
  enum class Sort { kId, kName, kDescription, kLastExperimentStart };
  Window window;
  Sort sort = Sort::kId;
  bool descending = false;
  int32_t workspace = 0;  // 0: of all
  std::string name;       // contained in the name, any case
  std::string exact_name;
  std::optional<bool> archived;
  std::vector<std::string> owners;
  std::vector<model::UserId> owner_ids;
  std::optional<std::vector<int32_t>> visible;  // of these workspaces alone
};
struct ProjectPage {
  std::vector<ProjectRecord> projects;
  int total = 0;
};

class Projects {
 public:
  virtual ~Projects() = default;

  // NOT_FOUND.
  virtual absl::StatusOr<ProjectRecord> GetProject(int32_t id) = 0;
  virtual absl::StatusOr<ProjectRecord> GetProjectByKey(const std::string& key) = 0;
  virtual absl::StatusOr<ProjectPage> ListProjects(const ProjectQuery& query) = 0;
  // Gives it its id; an empty key is made from the name. ALREADY_EXISTS by name in its workspace,
  // and by key; FAILED_PRECONDITION when that is archived.
  virtual absl::StatusOr<ProjectRecord> AddProject(const ProjectRecord& project) = 0;
  // NOT_FOUND; ALREADY_EXISTS as above; FAILED_PRECONDITION for an immutable one, except for its
  // description and notes, and when the workspace that it is to go to is archived.
  virtual absl::StatusOr<ProjectRecord> ChangeProject(int32_t id, const ProjectPatch& patch) = 0;
  virtual absl::StatusOr<std::vector<ProjectNote>> AddNote(int32_t id, const ProjectNote& note) = 0;
  // FAILED_PRECONDITION for an immutable one, and while an experiment is in it.
  virtual absl::Status DeleteProject(int32_t id) = 0;
  // The workspace in which it lies. NOT_FOUND.
  virtual absl::StatusOr<int32_t> WorkspaceOf(model::ExperimentId id) = 0;
  virtual absl::StatusOr<int32_t> WorkspaceOf(model::TrialId id) = 0;
  virtual absl::StatusOr<int32_t> WorkspaceOf(const model::CheckpointId& id) = 0;
  // Of a project. Reads less than GetProject, which counts what is in it.
  virtual absl::StatusOr<int32_t> WorkspaceOfProject(int32_t id) = 0;
  // The user has looked at it; newest first.
  virtual absl::Status NoteVisit(model::UserId user, int32_t project, absl::Time at) = 0;
  virtual absl::StatusOr<std::vector<ProjectRecord>> LastVisited(model::UserId user, int limit) = 0;
  // Of the experiments in it (0: of all of `visible`, the workspaces; without these of all), the
  // most used first.
  virtual absl::StatusOr<std::vector<std::string>> ListLabels(
      int32_t project, const std::optional<std::vector<int32_t>>& visible) = 0;
};

// Whether it changes more than what people write into it.
inline bool ChangesIdentity(const ProjectPatch& patch) {
  return patch.name || patch.key || patch.workspace || patch.archived;
}

// The n-th key to try for a project of this name: "VIS", "VIS2", ...
std::string KeyFor(const std::string& name, int n);

// What all implementations say.
absl::Status NoSuchProject(int32_t id);
absl::Status NoSuchProjectKey(const std::string& key);
absl::Status ProjectExists(const std::string& name);
absl::Status ProjectKeyExists(const std::string& key);
absl::Status WorkspaceIsArchived(const std::string& name);
absl::Status LiesNowhere();

}  // namespace det::store

#endif  // MASTER_STORE_INTERFACES_PROJECTS_H_
