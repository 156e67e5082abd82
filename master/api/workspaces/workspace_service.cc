#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "det/api/v1/workspace.unary.h"
#include "master/api/common/convert.h"
#include "master/api/common/convert_resources.h"
#include "master/api/experiments/experiment_config.h"
#include "master/api/experiments/experiment_deletion.h"
#include "master/api/rpc/api_service.h"
#include "master/api/users/convert_user.h"
#include "master/api/workspaces/convert_workspace.h"
#include "master/api/workspaces/services.h"
#include "master/parse/parse.h"
#include "master/store/interfaces/canonical.h"

namespace det::api {
namespace {

// Checks that the pool exists; an empty name is OK.
absl::Status CheckPool(const cluster::Cluster& cluster, const std::string& pool) {
  if (pool.empty()) return absl::OkStatus();
  for (const cluster::KnownPool& known : cluster.pools()) {
    if (known.pool.name == pool) return absl::OkStatus();
  }
  return NoSuchPool(cluster, pool);
}

// Bindings and quotas refer to workspaces by name. While one refers to a name, a workspace cannot
// give up or take that name; only a cluster administrator, who may set bindings and quotas, can
// take it.
absl::Status CheckNameUnused(const cluster::Cluster& cluster, const std::string& workspace) {
  const auto refuse = [&](const std::string& by) {
    return absl::FailedPreconditionError(absl::StrCat(
        "workspace name \"", workspace, "\" is in use by ", by,
        "; ask a cluster administrator to remove it first, and to set it again for the new name"));
  };
  for (const cluster::KnownPool& known : cluster.pools()) {
    const std::vector<std::string>& bound = known.pool.workspaces;
    if (std::count(bound.begin(), bound.end(), workspace) > 0) {
      return refuse(absl::StrCat("a binding of resource pool ", known.pool.name));
    }
  }
  for (const scheduler::Limit& limit : cluster.limits()) {
    if (limit.quota.scope != model::Quota::Scope::kWorkspace) continue;
    if (limit.quota.name == workspace) return refuse("a quota");
  }
  return absl::OkStatus();
}

// Validates the storage configuration and returns it as a configuration layer.
absl::StatusOr<std::string> ReadStorage(const ExperimentDefaults& experiment_defaults,
                                        const google::protobuf::Struct& given) {
  if (given.fields().empty()) return std::string();
  for (const char* secret : {"access_key", "secret_key", "connection_string", "credential"}) {
    const auto it = given.fields().find(secret);
    if (it == given.fields().end() || it->second.string_value() != "********") continue;
    return absl::InvalidArgumentError(
        absl::StrCat("checkpoint_storage_config.", secret,
                     ": asterisks replace a secret that is not shown; enter the secret itself"));
  }
  std::string text = FromStruct(given, Numbers::kIntegersIfWhole).ToJson();
  model::ConfigDefaults defaults;
  defaults.checkpoint_host_path = experiment_defaults.checkpoint_locations.own;
  AddStorageLayer("the master's checkpoint_storage", experiment_defaults.checkpoint_storage,
                  defaults.below);
  AddStorageLayer("checkpoint_storage_config", text, defaults.below);
  DET_ASSIGN_OR_RETURN(
      const model::ExperimentConfig config,
      model::ParseExperimentConfig(
          "{entrypoint: any, searcher: {name: single, metric: any, max_length: {batches: 1}}}", "",
          {}, defaults));
  DET_RETURN_IF_ERROR(checkpoint_storage::CheckCheckpointLocation(
      experiment_defaults.checkpoint_locations, config.checkpoint_storage));
  return text;
}

class WorkspaceService final : public ApiService<v1::WorkspaceService> {
 public:
  WorkspaceService(CallPipeline& calls, engine::Engine& engine, store::Store& store,
                   auth::Authenticator& authenticator, base::ThreadPool& pool,
                   const base::Clock& clock, const ExperimentDefaults& defaults,
                   std::optional<model::RoleId> creator_role)
      : ApiService(calls),
        engine_(engine),
        store_(store),
        authenticator_(authenticator),
        pool_(pool),
        clock_(clock),
        defaults_(defaults),
        creator_role_(creator_role) {}

  grpc::ServerUnaryReactor* GetWorkspaces(grpc::CallbackServerContext* context,
                                          const v1::GetWorkspacesRequest* request,
                                          v1::GetWorkspacesResponse* response) override {
    return Unary(
        __func__, context, request, response,
        [this, request, response](const auth::Principal& principal) -> absl::Status {
          store::WorkspaceQuery query = ToQuery(*request, principal.user);
          query.visible = principal.Visible(model::Permission::kViewWorkspace);
          DET_ASSIGN_OR_RETURN(const store::WorkspacePage page, workspaces().ListWorkspaces(query));
          for (const auto& record : page.workspaces) {
            *response->add_workspaces() = ToProto(record);
          }
          *response->mutable_pagination() = ToPagination(request->offset(), request->limit(),
                                                         response->workspaces_size(), page.total);
          return absl::OkStatus();
        });
  }

  grpc::ServerUnaryReactor* GetWorkspace(grpc::CallbackServerContext* context,
                                         const v1::GetWorkspaceRequest* request,
                                         v1::GetWorkspaceResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal& principal) -> absl::Status {
                   DET_ASSIGN_OR_RETURN(const auto record,
                                        workspaces().GetWorkspace(request->id(), principal.user));
                   *response->mutable_workspace() = ToProto(record);
                   return absl::OkStatus();
                 });
  }

  grpc::ServerUnaryReactor* PostWorkspace(grpc::CallbackServerContext* context,
                                          const v1::PostWorkspaceRequest* request,
                                          v1::PostWorkspaceResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal& principal, Done done) {
                   Post(*request, principal, response->mutable_workspace(), std::move(done));
                 });
  }

  grpc::ServerUnaryReactor* PatchWorkspace(grpc::CallbackServerContext* context,
                                           const v1::PatchWorkspaceRequest* request,
                                           v1::PatchWorkspaceResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal& principal, Done done) {
                   Patch(*request, principal, response->mutable_workspace(), std::move(done));
                 });
  }

  grpc::ServerUnaryReactor* DeleteWorkspace(grpc::CallbackServerContext* context,
                                            const v1::DeleteWorkspaceRequest* request,
                                            v1::DeleteWorkspaceResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal&, Done done) {
                   Delete(request->id(), response, std::move(done));
                 });
  }

  grpc::ServerUnaryReactor* ArchiveWorkspace(grpc::CallbackServerContext* context,
                                             const v1::ArchiveWorkspaceRequest* request,
                                             v1::ArchiveWorkspaceResponse* response) override {
    return Unary(
        __func__, context, request, response, [this, request](const auth::Principal&, Done done) {
          const auto changed = Archive(request->id(), true);
          if (!changed.ok()) return done(changed.status());
          KillTasksIn(request->id(), absl::StrCat("workspace ", changed->name, " was archived"),
                      std::move(done));
        });
  }
  grpc::ServerUnaryReactor* UnarchiveWorkspace(grpc::CallbackServerContext* context,
                                               const v1::UnarchiveWorkspaceRequest* request,
                                               v1::UnarchiveWorkspaceResponse* response) override {
    return Unary(__func__, context, request, response, [this, request](const auth::Principal&) {
      return Archive(request->id(), false).status();
    });
  }

  grpc::ServerUnaryReactor* PinWorkspace(grpc::CallbackServerContext* context,
                                         const v1::PinWorkspaceRequest* request,
                                         v1::PinWorkspaceResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request](const auth::Principal& principal) {
                   return workspaces().PinWorkspace(principal.user, request->id(), clock_.Now());
                 });
  }
  grpc::ServerUnaryReactor* UnpinWorkspace(grpc::CallbackServerContext* context,
                                           const v1::UnpinWorkspaceRequest* request,
                                           v1::UnpinWorkspaceResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request](const auth::Principal& principal) {
                   return workspaces().PinWorkspace(principal.user, request->id(), std::nullopt);
                 });
  }

  grpc::ServerUnaryReactor* GetWorkspaceProjects(
      grpc::CallbackServerContext* context, const v1::GetWorkspaceProjectsRequest* request,
      v1::GetWorkspaceProjectsResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal& principal) {
                   return ListProjects(*request, principal, response);
                 });
  }

  grpc::ServerUnaryReactor* ListRPsBoundToWorkspace(
      grpc::CallbackServerContext* context, const v1::ListRPsBoundToWorkspaceRequest* request,
      v1::ListRPsBoundToWorkspaceResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal&, Done done) {
                   ListPools(*request, response, std::move(done));
                 });
  }

 private:
  store::Workspaces& workspaces() { return store_.workspaces(); }

  absl::StatusOr<store::WorkspaceRecord> Archive(int32_t id, bool archived) {
    return workspaces().ChangeWorkspace(id, {.archived = archived});
  }

  // Kills the tasks that are not trials. The workspace cannot be used for new ones anymore; those
  // that are being created are killed by their request (api/tasks/launch.h).
  void KillTasksIn(int32_t workspace, const std::string& reason, Done done) {
    auto kill = std::make_shared<cluster::KillTasks>();
    kill->reason = reason;
    engine_.Query(
        [workspace, kill](const cluster::Cluster& cluster) {
          for (const experiment::Task* task : cluster.live_tasks()) {
            if (task->workspace == workspace) kill->ids.push_back(task->id);
          }
        },
        [this, kill, done = std::move(done)](absl::Status status) mutable {
          if (!status.ok() || kill->ids.empty()) return done(std::move(status));
          SubmitAndFinish(engine_, std::move(*kill), std::move(done));
        });
  }

  // Runs `check` on the cluster's state, then continues on the pool.
  void CheckCluster(std::function<absl::Status(const cluster::Cluster& cluster)> check, Done then) {
    auto result = std::make_shared<absl::Status>();
    engine_.Query([check = std::move(check),
                   result](const cluster::Cluster& cluster) { *result = check(cluster); },
                  [this, result, then = std::move(then)](absl::Status status) mutable {
                    if (status.ok()) status = *result;
                    pool_.Post([status = std::move(status), then = std::move(then)]() mutable {
                      then(std::move(status));
                    });
                  });
  }

  static bool CanTakeAnyName(const auth::Principal& caller) {
    return caller.RoleIn(0) == model::Role::kClusterAdmin;
  }

  // Tasks in the workspace run as this user, also as root. `request` may name it.
  template <class Request>
  static absl::Status CheckAgentUser(const auth::Principal& caller, int32_t workspace,
                                     const Request& request) {
    if (!request.has_agent_user_group() ||
        caller.Holds(model::Permission::kSetWorkspaceAgentUserGroup, workspace)) {
      return absl::OkStatus();
    }
    return absl::PermissionDeniedError(
        "agent_user_group: only cluster administrators may set the user of tasks; ask one");
  }

  absl::StatusOr<store::WorkspaceRecord> ParseWorkspace(const v1::PostWorkspaceRequest& request,
                                                        model::UserId owner) {
    store::WorkspaceRecord record;
    record.owner = owner;
    record.pinned_at = clock_.Now();
    DET_ASSIGN_OR_RETURN(record.name, ParseSpaceName(request.name()));
    DET_ASSIGN_OR_RETURN(record.checkpoint_storage,
                         ReadStorage(defaults_, request.checkpoint_storage_config()));
    if (request.has_agent_user_group()) record.agent_user = FromProto(request.agent_user_group());
    record.default_compute_pool = request.default_compute_pool();
    record.default_aux_pool = request.default_aux_pool();
    return record;
  }

  void Post(const v1::PostWorkspaceRequest& request, const auth::Principal& caller,
            v1::Workspace* out, Done done) {
    if (absl::Status may = CheckAgentUser(caller, 0, request); !may.ok()) {
      return done(std::move(may));
    }
    absl::StatusOr<store::WorkspaceRecord> record = ParseWorkspace(request, caller.user);
    if (!record.ok()) return done(record.status());
    CheckCluster(
        [&request, name = record->name,
         free = CanTakeAnyName(caller)](const cluster::Cluster& cluster) -> absl::Status {
          if (!free) DET_RETURN_IF_ERROR(CheckNameUnused(cluster, name));
          DET_RETURN_IF_ERROR(CheckPool(cluster, request.default_compute_pool()));
          return CheckPool(cluster, request.default_aux_pool());
        },
        [this, record = *std::move(record), out, done = std::move(done)](absl::Status ok) mutable {
          if (!ok.ok()) return done(std::move(ok));
          const auto created = workspaces().AddWorkspace(record, creator_role_);
          if (created.ok()) {
            *out = ToProto(*created);
            authenticator_.InvalidateUser(record.owner);  // the owner has a role in it
          }
          done(created.status());
        });
  }

  absl::StatusOr<store::WorkspacePatch> ReadPatch(const v1::PatchWorkspace& given) {
    store::WorkspacePatch patch;
    if (given.has_name()) {
      DET_ASSIGN_OR_RETURN(patch.name, ParseSpaceName(given.name()));
    }
    if (given.has_agent_user_group()) patch.agent_user = FromProto(given.agent_user_group());
    if (given.has_checkpoint_storage_config()) {
      DET_ASSIGN_OR_RETURN(patch.checkpoint_storage,
                           ReadStorage(defaults_, given.checkpoint_storage_config()));
    }
    if (given.has_default_compute_resource_pool()) {
      patch.default_compute_pool = given.default_compute_resource_pool();
    }
    if (given.has_default_aux_resource_pool()) {
      patch.default_aux_pool = given.default_aux_resource_pool();
    }
    if (given.has_default_compute_pool()) patch.default_compute_pool = given.default_compute_pool();
    if (given.has_default_aux_pool()) patch.default_aux_pool = given.default_aux_pool();
    return patch;
  }

  void Delete(int32_t id, v1::DeleteWorkspaceResponse* response, Done done) {
    auto named = workspaces().GetWorkspaceName(id);
    if (!named.ok()) return done(named.status());
    CheckCluster(
        [name = *named](const cluster::Cluster& cluster) { return CheckNameUnused(cluster, name); },
        [this, id, name = *named, response, done = std::move(done)](absl::Status ok) mutable {
          if (!ok.ok()) return done(std::move(ok));
          DeleteUnused(
              id, response, [this, id, name, done = std::move(done)](absl::Status deleted) mutable {
                if (!deleted.ok()) return done(std::move(deleted));
                KillTasksIn(id, absl::StrCat("workspace ", name, " was deleted"), std::move(done));
              });
        });
  }

  // Deletes an empty workspace; otherwise garbage collection deletes it with its experiments.
  void DeleteUnused(int32_t id, v1::DeleteWorkspaceResponse* response, Done done) {
    absl::Status status = workspaces().DeleteWorkspace(id);
    response->set_completed(status.ok());
    if (!absl::IsFailedPrecondition(status)) return done(std::move(status));
    status = CheckNotHeld(store_, {.visible = std::vector<int32_t>{id}});
    if (status.ok()) status = workspaces().StartDeletion(id);
    if (!status.ok()) return done(std::move(status));
    // Wakes garbage collection.
    SubmitAndFinish(engine_, cluster::DeleteCheckpoints{}, std::move(done));
  }

  void Patch(const v1::PatchWorkspaceRequest& request, const auth::Principal& caller,
             v1::Workspace* out, Done done) {
    absl::Status may = CheckAgentUser(caller, request.id(), request.workspace());
    if (!may.ok()) return done(std::move(may));
    const auto patch = ReadPatch(request.workspace());
    if (!patch.ok()) return done(patch.status());
    const auto now = workspaces().GetWorkspace(request.id(), caller.user);
    if (!now.ok()) return done(now.status());
    const bool renamed = patch->name && *patch->name != now->name;
    CheckCluster(
        [patch = *patch, renamed, name = now->name,
         free = CanTakeAnyName(caller)](const cluster::Cluster& cluster) {
          absl::Status ok = renamed ? CheckNameUnused(cluster, name) : absl::OkStatus();
          if (ok.ok() && renamed && !free) ok = CheckNameUnused(cluster, *patch.name);
          for (const auto& pool : {patch.default_compute_pool, patch.default_aux_pool}) {
            if (ok.ok() && pool) ok = CheckPool(cluster, *pool);
          }
          // The workspace that the path names exists.
          if (absl::IsNotFound(ok)) ok = absl::FailedPreconditionError(ok.message());
          return ok;
        },
        [this, id = request.id(), patch = *patch, renamed, caller = caller.user, out,
         done = std::move(done)](absl::Status ok) mutable {
          if (!ok.ok()) return done(std::move(ok));
          // The lock keeps renames in the same order in the store and in the cluster.
          const std::lock_guard lock(renaming_);
          auto changed = workspaces().ChangeWorkspace(id, patch);
          if (changed.ok()) changed = workspaces().GetWorkspace(id, caller);
          if (!changed.ok()) return done(changed.status());
          *out = ToProto(*changed);
          if (!renamed) return done(absl::OkStatus());
          SubmitAndFinish(engine_,
                          cluster::RenameWorkspaceOrProject{.workspace = id, .name = changed->name},
                          std::move(done));
        });
  }

  absl::Status ListProjects(const v1::GetWorkspaceProjectsRequest& request,
                            const auth::Principal& principal,
                            v1::GetWorkspaceProjectsResponse* response) {
    if (request.id() != 0) {
      DET_RETURN_IF_ERROR(workspaces().GetWorkspaceName(request.id()).status());
    }
    store::ProjectQuery query = ToQuery(request);
    query.visible = principal.Visible(model::Permission::kViewProject);
    DET_ASSIGN_OR_RETURN(const store::ProjectPage page, store_.projects().ListProjects(query));
    for (const auto& record : page.projects) *response->add_projects() = ToProto(record);
    *response->mutable_pagination() =
        ToPagination(request.offset(), request.limit(), response->projects_size(), page.total);
    return absl::OkStatus();
  }

  void ListPools(const v1::ListRPsBoundToWorkspaceRequest& request,
                 v1::ListRPsBoundToWorkspaceResponse* response, Done done) {
    auto name = workspaces().GetWorkspaceName(request.workspace_id());
    if (!name.ok()) return done(name.status());
    engine_.Query(
        [&request, response, name = *std::move(name)](const cluster::Cluster& cluster) {
          for (const cluster::KnownPool& known : cluster.pools()) {
            const std::vector<std::string>& bound = known.pool.workspaces;
            if (bound.empty() || std::count(bound.begin(), bound.end(), name) > 0) {
              response->add_resource_pools(known.pool.name);
            }
          }
          *response->mutable_pagination() =
              ApplyWindow(request, response->mutable_resource_pools());
        },
        std::move(done));
  }

  engine::Engine& engine_;
  store::Store& store_;
  auth::Authenticator& authenticator_;
  base::ThreadPool& pool_;
  const base::Clock& clock_;
  std::mutex renaming_;
  const ExperimentDefaults& defaults_;
  const std::optional<model::RoleId> creator_role_;
};

}  // namespace

std::unique_ptr<Service> MakeWorkspaceService(CallPipeline& calls, engine::Engine& engine,
                                              store::Store& store,
                                              auth::Authenticator& authenticator,
                                              base::ThreadPool& pool, const base::Clock& clock,
                                              const ExperimentDefaults& defaults,
                                              std::optional<model::RoleId> creator_role) {
  return std::make_unique<WorkspaceService>(calls, engine, store, authenticator, pool, clock,
                                            defaults, creator_role);
}

}  // namespace det::api
