// The model registry: models, each with versions that refer to checkpoints. Plain records, one
// transaction each. Reached through Store::models(). Any thread; blocks.
//
// A checkpoint that a version refers to is not deleted: versions are created between two commits,
// and a commit that gives up checkpoints checks for references (garbage_collection.h).
#ifndef MASTER_STORE_INTERFACES_MODELS_H_
#define MASTER_STORE_INTERFACES_MODELS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "master/core/model/ids.h"
#include "master/core/model/states.h"
#include "master/core/model/value.h"
#include "master/store/interfaces/window.h"

namespace det::store {

struct ModelRecord {
  int32_t id = 0;
  std::string name;  // unique in the cluster
  std::string description;
  std::string notes;
  model::Value metadata = model::Value::Object();
  std::vector<std::string> labels;
  int32_t workspace = 0;
  std::string workspace_name;
  model::UserId owner;
  std::string owner_name;
  bool archived = false;
  absl::Time created_at;
  absl::Time updated_at;
  int num_versions = 0;
  friend bool operator==(const ModelRecord&, const ModelRecord&) = default;
};
struct ModelPatch {
  std::optional<std::string> name;
  std::optional<std::string> description;
  std::optional<std::string> notes;
  std::optional<model::Value> metadata;
  std::optional<std::vector<std::string>> labels;
  std::optional<int32_t> workspace;
  std::optional<bool> archived;
  absl::Time at;
};
struct ModelQuery {
  enum class Sort { kId, kName, kDescription, kCreated, kUpdated, kNumVersions, kWorkspace };
  Window window;
  Sort sort = Sort::kId;
  bool descending = false;
  std::optional<int32_t> id;
  std::string name;  // substring of the name, case-insensitive
  std::string description;
  std::vector<std::string> labels;  // any of these; empty: all models
  std::optional<bool> archived;
  std::vector<std::string> owners;
  std::vector<model::UserId> owner_ids;
  std::vector<std::string> workspace_names;
  std::vector<int32_t> workspaces;
  std::optional<std::vector<int32_t>> visible;  // only in these workspaces
};
struct ModelPage {
  std::vector<ModelRecord> models;
  int total = 0;
};
struct ModelVersionRecord {
  int32_t id = 0;
  int32_t model = 0;
  int32_t version = 0;  // from 1 in each model
  model::CheckpointId checkpoint;
  std::string name;
  std::string comment;
  std::string notes;
  model::Value metadata = model::Value::Object();
  std::vector<std::string> labels;
  model::UserId owner;
  std::string owner_name;
  absl::Time created_at;
  absl::Time updated_at;
  friend bool operator==(const ModelVersionRecord&, const ModelVersionRecord&) = default;
};
struct ModelVersionPatch {
  std::optional<std::string> name;
  std::optional<std::string> comment;
  std::optional<std::string> notes;
  std::optional<model::Value> metadata;
  std::optional<std::vector<std::string>> labels;
  absl::Time at;
};
struct ModelVersionQuery {
  Window window;
  bool by_time = false;  // else by number
  bool descending = false;
};
struct ModelVersionPage {
  std::vector<ModelVersionRecord> versions;
  int total = 0;
};

class Models {
 public:
  virtual ~Models() = default;

  // `name` is the name, or the id in digits. NOT_FOUND.
  virtual absl::StatusOr<ModelRecord> GetModel(const std::string& name) = 0;
  virtual absl::StatusOr<ModelPage> ListModels(const ModelQuery& query) = 0;
  // Assigns the id. ALREADY_EXISTS if the name is taken; NOT_FOUND or FAILED_PRECONDITION if the
  // workspace does not exist or is archived.
  virtual absl::StatusOr<ModelRecord> AddModel(const ModelRecord& model) = 0;
  // NOT_FOUND; ALREADY_EXISTS if the name is taken; FAILED_PRECONDITION if the model is archived
  // and `archived` is not set, or if the new workspace is archived.
  virtual absl::StatusOr<ModelRecord> ChangeModel(int32_t id, const ModelPatch& patch) = 0;
  virtual absl::Status DeleteModel(int32_t id) = 0;
  // Labels of all matching models, the most frequent first.
  virtual absl::StatusOr<std::vector<std::string>> ListModelLabels(const ModelQuery& query) = 0;

  // NOT_FOUND.
  virtual absl::StatusOr<ModelVersionRecord> GetVersion(int32_t model, int32_t version) = 0;
  virtual absl::StatusOr<ModelVersionPage> ListVersions(int32_t model,
                                                        const ModelVersionQuery& query) = 0;
  // Assigns the id and the model's next version number; numbers are never reused. NOT_FOUND;
  // FAILED_PRECONDITION if the model is archived or the checkpoint is not COMPLETED.
  virtual absl::StatusOr<ModelVersionRecord> AddVersion(const ModelVersionRecord& version) = 0;
  // NOT_FOUND; FAILED_PRECONDITION if the model is archived.
  virtual absl::StatusOr<ModelVersionRecord> ChangeVersion(int32_t model, int32_t version,
                                                           const ModelVersionPatch& patch) = 0;
  virtual absl::Status DeleteVersion(int32_t model, int32_t version, absl::Time at) = 0;
  // Names (GetHolderName()) of the versions that refer to checkpoints of the experiment, sorted by
  // model and number.
  virtual absl::StatusOr<std::vector<std::string>> ListHolders(model::ExperimentId id) = 0;
};

std::string GetHolderName(const std::string& model, int32_t version);  // "version 3 of model bert"
// The id if `name` consists of digits. No model may have such a name.
std::optional<int32_t> ParseModelId(const std::string& name);

// Errors that all implementations return.
absl::Status NoSuchModel(const std::string& name);
absl::Status NoSuchVersion(const std::string& model, int32_t version);
absl::Status ModelExists(const std::string& name);
absl::Status ModelIsArchived(const std::string& name);
absl::Status NoSuchCheckpointToHold(const model::CheckpointId& id);
absl::Status NotCompleted(const model::CheckpointId& id, model::CheckpointState state);
absl::Status WorkspaceHasModels(const std::string& workspace, int64_t models);

}  // namespace det::store

#endif  // MASTER_STORE_INTERFACES_MODELS_H_
