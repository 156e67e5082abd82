#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "det/api/v1/model.unary.h"
#include "master/api/common/checkpoint_storages.h"
#include "master/api/common/convert.h"
#include "master/api/models/convert_model.h"
#include "master/api/models/services.h"
#include "master/api/rpc/api_service.h"
#include "master/auth/permissions.h"
#include "master/checkpoint_storage/checkpoint_location.h"

namespace det::api {
namespace {

// The checkpoints of the versions in a response, read in one query.
class CheckpointMessages {
 public:
  static absl::StatusOr<CheckpointMessages> Read(
      store::Store& store, const std::vector<store::ModelVersionRecord>& versions) {
    CheckpointMessages shown;
    store::CheckpointQuery query;
    for (const store::ModelVersionRecord& each : versions) query.ids.push_back(each.checkpoint);
    if (query.ids.empty()) return shown;
    DET_ASSIGN_OR_RETURN(const store::CheckpointPage page, store.ListCheckpoints(query));
    DET_RETURN_IF_ERROR(shown.ReadOrigins(store, page.checkpoints));
    CheckpointStorages storages(store);
    for (const store::CheckpointEntry& entry : page.checkpoints) {
      const model::CheckpointId& id = entry.checkpoint.id;
      const Origin& origin = shown.origins_.at(entry.experiment);
      DET_ASSIGN_OR_RETURN(const auto storage, storages.Find(entry.checkpoint, origin.storage));
      shown.messages_[id] =
          ToProto(entry, checkpoint_storage::GetCheckpointFolder(storage, id), origin.config);
    }
    return shown;
  }

  v1::Checkpoint Show(const model::CheckpointId& id) const {
    const auto found = messages_.find(id);
    return found == messages_.end() ? v1::Checkpoint() : found->second;
  }

 private:
  struct Origin {
    model::CheckpointStorageConfig storage;
    google::protobuf::Struct config;
  };

  absl::Status ReadOrigins(store::Store& store,
                           const std::vector<store::CheckpointEntry>& entries) {
    std::set<model::ExperimentId> missing;
    for (const store::CheckpointEntry& entry : entries) missing.insert(entry.experiment);
    store::ExperimentQuery query;
    query.ids.assign(missing.begin(), missing.end());
    DET_ASSIGN_OR_RETURN(const store::ExperimentPage page, store.ListExperiments(query));
    for (const store::ExperimentRecord& record : page.experiments) {
      missing.erase(record.experiment.id);
      Add(record);
    }
    // ListExperiments leaves out deleted experiments; some of their checkpoints may still be
    // registered.
    for (const model::ExperimentId& id : missing) {
      DET_ASSIGN_OR_RETURN(const store::ExperimentRecord record, store.GetExperiment(id));
      Add(record);
    }
    return absl::OkStatus();
  }
  void Add(const store::ExperimentRecord& record) {
    const model::ExperimentConfig& config = *record.experiment.config;
    origins_[record.experiment.id] = {config.checkpoint_storage, ToStruct(ToShownConfig(record))};
  }

  std::map<model::CheckpointId, v1::Checkpoint> messages_;
  std::map<model::ExperimentId, Origin> origins_;
};

class ModelService final : public ApiService<v1::ModelService> {
 public:
  ModelService(CallPipeline& calls, store::Store& store, const base::Clock& clock)
      : ApiService(calls), store_(store), clock_(clock) {}

  grpc::ServerUnaryReactor* GetModels(grpc::CallbackServerContext* context,
                                      const v1::GetModelsRequest* request,
                                      v1::GetModelsResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal& principal) -> absl::Status {
                   store::ModelQuery query = ToQuery(*request);
                   query.visible = principal.Visible(model::Permission::kViewModelRegistry);
                   DET_ASSIGN_OR_RETURN(const store::ModelPage page, models().ListModels(query));
                   for (const auto& record : page.models) *response->add_models() = ToProto(record);
                   *response->mutable_pagination() = ToPagination(
                       request->offset(), request->limit(), response->models_size(), page.total);
                   return absl::OkStatus();
                 });
  }

  grpc::ServerUnaryReactor* GetModel(grpc::CallbackServerContext* context,
                                     const v1::GetModelRequest* request,
                                     v1::GetModelResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal&) -> absl::Status {
                   DET_ASSIGN_OR_RETURN(const auto record,
                                        models().GetModel(request->model_name()));
                   *response->mutable_model() = ToProto(record);
                   return absl::OkStatus();
                 });
  }

  grpc::ServerUnaryReactor* PostModel(grpc::CallbackServerContext* context,
                                      const v1::PostModelRequest* request,
                                      v1::PostModelResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal& principal) -> absl::Status {
                   DET_ASSIGN_OR_RETURN(store::ModelRecord record, FromProto(*request));
                   DET_ASSIGN_OR_RETURN(record.workspace,
                                        ResolveWorkspace(*request, principal, "PostModel"));
                   record.owner = principal.user;
                   record.created_at = clock_.Now();
                   DET_ASSIGN_OR_RETURN(const auto created, models().AddModel(record));
                   *response->mutable_model() = ToProto(created);
                   return absl::OkStatus();
                 });
  }

  grpc::ServerUnaryReactor* PatchModel(grpc::CallbackServerContext* context,
                                       const v1::PatchModelRequest* request,
                                       v1::PatchModelResponse* response) override {
    return Unary(
        __func__, context, request, response,
        [this, request, response](const auth::Principal& principal) -> absl::Status {
          const v1::PatchModel& given = request->model();
          DET_ASSIGN_OR_RETURN(store::ModelPatch patch, FromProto(given));
          if (given.has_workspace_id() || given.has_workspace_name()) {
            DET_ASSIGN_OR_RETURN(patch.workspace, ResolveWorkspace(given, principal, "PatchModel"));
          }
          return Change(request->model_name(), std::move(patch), response->mutable_model());
        });
  }

  grpc::ServerUnaryReactor* DeleteModel(grpc::CallbackServerContext* context,
                                        const v1::DeleteModelRequest* request,
                                        v1::DeleteModelResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request](const auth::Principal&) -> absl::Status {
                   DET_ASSIGN_OR_RETURN(const auto record,
                                        models().GetModel(request->model_name()));
                   return models().DeleteModel(record.id);
                 });
  }

  grpc::ServerUnaryReactor* ArchiveModel(grpc::CallbackServerContext* context,
                                         const v1::ArchiveModelRequest* request,
                                         v1::ArchiveModelResponse* response) override {
    return Unary(__func__, context, request, response, [this, request](const auth::Principal&) {
      return Change(request->model_name(), {.archived = true}, nullptr);
    });
  }
  grpc::ServerUnaryReactor* UnarchiveModel(grpc::CallbackServerContext* context,
                                           const v1::UnarchiveModelRequest* request,
                                           v1::UnarchiveModelResponse* response) override {
    return Unary(__func__, context, request, response, [this, request](const auth::Principal&) {
      return Change(request->model_name(), {.archived = false}, nullptr);
    });
  }

  grpc::ServerUnaryReactor* MoveModel(grpc::CallbackServerContext* context,
                                      const v1::MoveModelRequest* request,
                                      v1::MoveModelResponse* response) override {
    return Unary(__func__, context, request, response, [this, request](const auth::Principal&) {
      return Change(request->model_name(), {.workspace = request->destination_workspace_id()},
                    nullptr);
    });
  }

  grpc::ServerUnaryReactor* GetModelLabels(grpc::CallbackServerContext* context,
                                           const v1::GetModelLabelsRequest* request,
                                           v1::GetModelLabelsResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal& principal) -> absl::Status {
                   store::ModelQuery query;
                   query.visible = principal.Visible(model::Permission::kViewModelRegistry);
                   if (request->has_workspace_id()) query.workspaces = {request->workspace_id()};
                   DET_ASSIGN_OR_RETURN(const auto labels, models().ListModelLabels(query));
                   response->mutable_labels()->Assign(labels.begin(), labels.end());
                   return absl::OkStatus();
                 });
  }

  grpc::ServerUnaryReactor* GetModelVersions(grpc::CallbackServerContext* context,
                                             const v1::GetModelVersionsRequest* request,
                                             v1::GetModelVersionsResponse* response) override {
    return Unary(
        __func__, context, request, response,
        [this, request, response](const auth::Principal&) -> absl::Status {
          DET_ASSIGN_OR_RETURN(const auto model, models().GetModel(request->model_name()));
          DET_ASSIGN_OR_RETURN(const auto page, models().ListVersions(model.id, ToQuery(*request)));
          *response->mutable_model() = ToProto(model);
          DET_ASSIGN_OR_RETURN(const auto checkpoints,
                               CheckpointMessages::Read(store_, page.versions));
          for (const store::ModelVersionRecord& version : page.versions) {
            Show(model, version, checkpoints, response->add_model_versions());
          }
          *response->mutable_pagination() = ToPagination(
              request->offset(), request->limit(), response->model_versions_size(), page.total);
          return absl::OkStatus();
        });
  }

  grpc::ServerUnaryReactor* GetModelVersion(grpc::CallbackServerContext* context,
                                            const v1::GetModelVersionRequest* request,
                                            v1::GetModelVersionResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal&) -> absl::Status {
                   DET_ASSIGN_OR_RETURN(const auto model, models().GetModel(request->model_name()));
                   DET_ASSIGN_OR_RETURN(
                       const auto version,
                       models().GetVersion(model.id, request->model_version_num()));
                   return ShowOne(model, version, response->mutable_model_version());
                 });
  }

  grpc::ServerUnaryReactor* PostModelVersion(grpc::CallbackServerContext* context,
                                             const v1::PostModelVersionRequest* request,
                                             v1::PostModelVersionResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal& principal) {
                   return Register(*request, principal.user, response->mutable_model_version());
                 });
  }

  grpc::ServerUnaryReactor* PatchModelVersion(grpc::CallbackServerContext* context,
                                              const v1::PatchModelVersionRequest* request,
                                              v1::PatchModelVersionResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal&) {
                   return ChangeVersion(*request, response->mutable_model_version());
                 });
  }

  grpc::ServerUnaryReactor* DeleteModelVersion(grpc::CallbackServerContext* context,
                                               const v1::DeleteModelVersionRequest* request,
                                               v1::DeleteModelVersionResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request](const auth::Principal&) -> absl::Status {
                   DET_ASSIGN_OR_RETURN(const auto model, models().GetModel(request->model_name()));
                   return models().DeleteVersion(model.id, request->model_version_num(),
                                                 clock_.Now());
                 });
  }

 private:
  store::Models& models() { return store_.models(); }

  // Finds the workspace that a message names by ID or by name, and checks that the caller is an
  // Editor there: authorization before the call cannot resolve names.
  template <class Message>
  absl::StatusOr<int32_t> ResolveWorkspace(const Message& message, const auth::Principal& principal,
                                           const char* method) {
    int32_t id = message.has_workspace_id() ? message.workspace_id() : store::kUncategorized;
    std::string shown = absl::StrCat(id);
    if (!message.has_workspace_id() && !message.workspace_name().empty()) {
      shown = message.workspace_name();
      DET_ASSIGN_OR_RETURN(const auto in,
                           store_.workspaces().ListWorkspaces({.exact_name = shown}));
      if (in.workspaces.empty()) return auth::ResourceNotFound(auth::Scope::kWorkspace, shown);
      id = in.workspaces.front().id;
    }
    DET_RETURN_IF_ERROR(auth::AuthorizeInWorkspace(FullName(method), principal,
                                                   model::Permission::kCreateModelRegistry, id,
                                                   auth::Scope::kWorkspace, shown));
    return id;
  }

  // `out` may be null.
  absl::Status Change(const std::string& name, store::ModelPatch patch, v1::Model* out) {
    DET_ASSIGN_OR_RETURN(const auto record, models().GetModel(name));
    patch.at = clock_.Now();
    DET_ASSIGN_OR_RETURN(const auto changed, models().ChangeModel(record.id, patch));
    if (out != nullptr) *out = ToProto(changed);
    return absl::OkStatus();
  }

  static void Show(const store::ModelRecord& model, const store::ModelVersionRecord& version,
                   const CheckpointMessages& checkpoints, v1::ModelVersion* out) {
    *out = ToProto(version);
    *out->mutable_model() = ToProto(model);
    *out->mutable_checkpoint() = checkpoints.Show(version.checkpoint);
  }
  absl::Status ShowOne(const store::ModelRecord& model, const store::ModelVersionRecord& version,
                       v1::ModelVersion* out) {
    DET_ASSIGN_OR_RETURN(const auto checkpoints, CheckpointMessages::Read(store_, {version}));
    Show(model, version, checkpoints, out);
    return absl::OkStatus();
  }

  absl::Status Register(const v1::PostModelVersionRequest& request, model::UserId owner,
                        v1::ModelVersion* out) {
    DET_ASSIGN_OR_RETURN(const auto model, models().GetModel(request.model_name()));
    if (request.checkpoint_uuid().empty()) {
      return absl::InvalidArgumentError(
          "checkpoint_uuid: required; expected the UUID of a checkpoint");
    }
    DET_ASSIGN_OR_RETURN(store::ModelVersionRecord record, FromProto(request));
    record.model = model.id;
    record.owner = owner;
    record.created_at = clock_.Now();
    DET_ASSIGN_OR_RETURN(const auto created, models().AddVersion(record));
    DET_ASSIGN_OR_RETURN(const auto updated, models().GetModel(absl::StrCat(model.id)));
    return ShowOne(updated, created, out);
  }

  absl::Status ChangeVersion(const v1::PatchModelVersionRequest& request, v1::ModelVersion* out) {
    const v1::PatchModelVersion& given = request.model_version();
    DET_ASSIGN_OR_RETURN(store::ModelVersionPatch patch, FromProto(given));
    DET_ASSIGN_OR_RETURN(const auto model, models().GetModel(request.model_name()));
    const int32_t number = request.model_version_num();
    DET_ASSIGN_OR_RETURN(const auto now, models().GetVersion(model.id, number));
    const std::string& uuid = given.checkpoint().uuid();
    if (!uuid.empty() && uuid != now.checkpoint.value()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "checkpoint: ", store::GetHolderName(model.name, number), " has checkpoint ",
          now.checkpoint.value(), ", which cannot change; register another version for ", uuid));
    }
    patch.at = clock_.Now();
    DET_ASSIGN_OR_RETURN(const auto changed, models().ChangeVersion(model.id, number, patch));
    return ShowOne(model, changed, out);
  }

  store::Store& store_;
  const base::Clock& clock_;
};

}  // namespace

std::unique_ptr<Service> MakeModelService(CallPipeline& calls, store::Store& store,
                                          const base::Clock& clock) {
  return std::make_unique<ModelService>(calls, store, clock);
}

}  // namespace det::api
