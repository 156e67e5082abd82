// Projects: plain records, one transaction each. Reached through Store::projects(). Project 1, in
// workspace 1, is named Uncategorized; it is immutable and always exists. Any thread; blocks.
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
  WorkspaceState state = WorkspaceState::kLive;
  std::string error;
  std::vector<ProjectNote> notes;
  std::optional<absl::Time> last_experiment_started_at;
  int num_experiments = 0;
  int num_active_experiments = 0;
  int num_runs = 0;
  friend bool operator==(const ProjectRecord&, const ProjectRecord&) = default;
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
  // Names are sorted without regard to case.
  enum class Sort { kId, kName, kDescription, kLastExperimentStart };
  Window window;
  Sort sort = Sort::kId;
  bool descending = false;
  int32_t workspace = 0;  // 0: of all
  std::string name;       // substring of the name, case-insensitive
  std::string exact_name;
  std::optional<bool> archived;
  std::vector<std::string> owners;
  std::vector<model::UserId> owner_ids;
  std::optional<std::vector<int32_t>> visible;  // only in these workspaces
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
  // The same without its counts, which take longer the more experiments there are.
  virtual absl::StatusOr<ProjectRecord> GetProjectSettings(int32_t id) = 0;
  virtual absl::StatusOr<ProjectRecord> GetProjectByKey(const std::string& key) = 0;
  virtual absl::StatusOr<ProjectPage> ListProjects(const ProjectQuery& query) = 0;
  // Assigns the id, and a key derived from the name if it is empty. ALREADY_EXISTS if the key, or
  // the name in its workspace, is taken; FAILED_PRECONDITION if the workspace is archived.
  virtual absl::StatusOr<ProjectRecord> AddProject(const ProjectRecord& project) = 0;
  // NOT_FOUND; ALREADY_EXISTS as above; FAILED_PRECONDITION if the project is immutable and more
  // than its description and notes changes, if it is archived and more than that and its notes
  // changes, or if its workspace or the new one is archived and more than the notes changes.
  virtual absl::StatusOr<ProjectRecord> ChangeProject(int32_t id, const ProjectPatch& patch) = 0;
  virtual absl::StatusOr<std::vector<ProjectNote>> AddNote(int32_t id, const ProjectNote& note) = 0;
  // FAILED_PRECONDITION if the project is immutable or contains an experiment.
  virtual absl::Status DeleteProject(int32_t id) = 0;
  // Marks the project DELETING: garbage collection deletes its experiments, then the project.
  // NOT_FOUND; FAILED_PRECONDITION if it is immutable or contains an experiment that has not ended.
  virtual absl::Status StartDeletion(int32_t id) = 0;
  // DELETING projects, sorted by id.
  virtual absl::StatusOr<std::vector<int32_t>> ListDeletions() = 0;
  // Changes the state from DELETING to DELETE_FAILED.
  virtual absl::Status MarkDeletionFailed(int32_t id, const std::string& reason) = 0;
  // The id of the workspace that contains the resource. NOT_FOUND.
  virtual absl::StatusOr<int32_t> GetWorkspaceId(model::ExperimentId id) = 0;
  virtual absl::StatusOr<int32_t> GetWorkspaceId(model::TrialId id) = 0;
  virtual absl::StatusOr<int32_t> GetWorkspaceId(const model::CheckpointId& id) = 0;
  // Cheaper than GetProject, which counts the project's contents.
  virtual absl::StatusOr<int32_t> GetProjectWorkspaceId(int32_t id) = 0;
  // Projects that the user opened; newest first.
  virtual absl::Status RecordVisit(model::UserId user, int32_t project, absl::Time at) = 0;
  virtual absl::StatusOr<std::vector<ProjectRecord>> ListLastVisited(model::UserId user,
                                                                     int limit) = 0;
  // Labels of the project's experiments (0: all workspaces of `visible`, the workspaces; without
  // these of all), the most frequent first.
  virtual absl::StatusOr<std::vector<std::string>> ListLabels(
      int32_t project, const std::optional<std::vector<int32_t>>& visible) = 0;
};

// Whether the patch changes more than the description and notes.
inline bool ChangesIdentity(const ProjectPatch& patch) {
  return patch.name || patch.key || patch.workspace || patch.archived;
}

// Whether an archived project must be unarchived before the patch.
inline bool ChangesContents(const ProjectPatch& patch) {
  return patch.name || patch.key || patch.workspace || patch.description;
}

// The n-th candidate for the key of a project with this name: "VIS", "VIS2", ...
std::string MakeProjectKey(const std::string& name, int n);

// Errors that all implementations return.
absl::Status NoSuchProject(int32_t id);
absl::Status NoSuchProjectKey(const std::string& key);
absl::Status ProjectExists(const std::string& name);
absl::Status ProjectKeyExists(const std::string& key);
absl::Status WorkspaceIsArchived(const std::string& name);
absl::Status ProjectIsArchived(const std::string& name);
absl::Status NoSuchResource();

}  // namespace det::store

#endif  // MASTER_STORE_INTERFACES_PROJECTS_H_
