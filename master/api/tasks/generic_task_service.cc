#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "det/api/v1/generic_task.unary.h"
#include "master/api/common/project_resolver.h"
#include "master/api/common/task_trial.h"
#include "master/api/rpc/api_service.h"
#include "master/api/tasks/launch.h"
#include "master/api/tasks/services.h"
#include "master/core/model/id_text.h"
#include "master/parse/command.h"

namespace det::api {
namespace {

using Context = grpc::CallbackServerContext;
using CreateRequest = v1::CreateGenericTaskRequest;
using Reactor = grpc::ServerUnaryReactor;
using Records = std::vector<store::TaskRecord>;
using model::TaskState;

// The member of the details of a generic task with its configuration as it was submitted.
constexpr char kSubmitted[] = "submitted_config";

bool IsGeneric(const store::TaskRecord& record) {
  return record.task.kind == model::TaskKind::kGeneric;
}

bool IsLive(const experiment::Task& task) { return !model::IsTerminal(task.state); }

bool IsPaused(const experiment::Task& task) {
  return task.state == TaskState::kPaused || task.end_as == TaskState::kPaused;
}

// "STOPPING_PAUSED"
std::string DescribeState(const experiment::Task& task) {
  const std::string state(model::ToString(task.state));
  if (!task.end_as) return state;
  return absl::StrCat(state, "_", std::string(model::ToString(*task.end_as)));
}

absl::Status CannotChange(const char* verb, const experiment::Task& task) {
  return absl::FailedPreconditionError(absl::StrCat("cannot ", verb, " task ", task.id.value(),
                                                    " as it is in state '", DescribeState(task),
                                                    "'"));
}

std::vector<model::TaskId> GetIds(const Records& records) {
  std::vector<model::TaskId> ids;
  for (const store::TaskRecord& record : records) ids.push_back(record.task.id);
  return ids;
}

// Returns the configuration as it was submitted, without the password of a registry unless the
// caller may change the task.
model::Value GetSubmitted(const experiment::Task& task, const auth::Principal& principal) {
  const model::Value* found = task.definition->details.Find(kSubmitted);
  model::Value config = found == nullptr ? model::Value::Object() : *found;
  if (principal.Holds(model::Permission::kUpdateNsc, task.workspace)) return config;
  model::Value::Object& members = *config.MutableObject();
  const auto environment = members.find("environment");
  if (environment == members.end()) return config;
  if (auto* of_environment = environment->second.MutableObject()) {
    of_environment->erase("registry_auth");
  }
  return config;
}

class GenericTaskService final : public ApiService<v1::GenericTaskService> {
 public:
  GenericTaskService(CallPipeline& calls, engine::Engine& engine, store::Store& store,
                     base::ThreadPool& pool, LaunchSettings settings)
      : ApiService(calls),
        engine_(engine),
        store_(store),
        pool_(pool),
        settings_(std::move(settings)) {}

  Reactor* CreateGenericTask(Context* context, const CreateRequest* request,
                             v1::CreateGenericTaskResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal& principal, Done done) {
                   QueryLaunchPools(
                       engine_, pool_,
                       [this, request, response, principal,
                        done = std::move(done)](const absl::StatusOr<LaunchPools>& pools) mutable {
                         if (!pools.ok()) return done(pools.status());
                         Create(*request, *pools, response, principal, std::move(done));
                       });
                 });
  }

  Reactor* GetGenericTaskConfig(Context* context, const v1::GetGenericTaskConfigRequest* request,
                                v1::GetGenericTaskConfigResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request, response](const auth::Principal& principal) -> absl::Status {
                   const model::TaskId id(request->task_id());
                   if (!model::IsOtherTask(id)) {
                     return ReadTrialTask(store_, request->task_id()).status();
                   }
                   DET_ASSIGN_OR_RETURN(const store::TaskRecord record, store_.tasks().Get(id));
                   if (!IsGeneric(record)) return absl::OkStatus();
                   response->set_config(GetSubmitted(record.task, principal).ToJson());
                   return absl::OkStatus();
                 });
  }

  Reactor* KillGenericTask(Context* context, const v1::KillGenericTaskRequest* request,
                           v1::KillGenericTaskResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request](const auth::Principal& principal, Done done) {
                   absl::StatusOr<cluster::KillTasks> kill = PrepareKill(*request, principal);
                   if (!kill.ok()) return done(kill.status());
                   SubmitAndFinish(engine_, *std::move(kill), std::move(done));
                 });
  }

  Reactor* PauseGenericTask(Context* context, const v1::PauseGenericTaskRequest* request,
                            v1::PauseGenericTaskResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request](const auth::Principal& principal, Done done) {
                   absl::StatusOr<cluster::PauseTasks> pause =
                       PreparePause(request->task_id(), principal);
                   if (!pause.ok()) return done(pause.status());
                   SubmitAndFinish(engine_, *std::move(pause), std::move(done));
                 });
  }

  Reactor* UnpauseGenericTask(Context* context, const v1::UnpauseGenericTaskRequest* request,
                              v1::UnpauseGenericTaskResponse* response) override {
    return Unary(__func__, context, request, response,
                 [this, request](const auth::Principal& principal, Done done) {
                   absl::StatusOr<cluster::ActivateTasks> activate =
                       PrepareActivation(request->task_id(), principal);
                   if (!activate.ok()) return done(activate.status());
                   SubmitAndFinish(engine_, *std::move(activate), std::move(done));
                 });
  }

 private:
  // ---- create ----

  void Create(const CreateRequest& request, const LaunchPools& pools,
              v1::CreateGenericTaskResponse* response, const auth::Principal& principal,
              Done done) {
    absl::StatusOr<Launch> launch = Prepare(request, pools, principal);
    if (!launch.ok()) return done(launch.status());
    response->set_task_id(launch->event.task.id.value());
    SubmitLaunch(
        engine_, store_, pool_, *std::move(launch),
        [response, done = std::move(done)](const absl::StatusOr<engine::Applied>& applied) mutable {
          if (!applied.ok()) return done(applied.status());
          if (applied->exceeds_capacity) {
            response->add_warnings(v1::LAUNCH_WARNING_CURRENT_SLOTS_EXCEEDED);
          }
          done(absl::OkStatus());
        });
  }

  absl::StatusOr<Launch> Prepare(const CreateRequest& request, const LaunchPools& pools,
                                 const auth::Principal& principal) {
    if (request.config().empty() && request.forked_from().empty()) {
      return absl::InvalidArgumentError("No config file nor forked task provided");
    }
    if (request.inherit_context() && request.parent_id().empty()) {
      return absl::InvalidArgumentError("inherit_context: needs parent_id, which is not set");
    }
    DET_ASSIGN_OR_RETURN(const ResolvedProject project,
                         ResolveProject(store_, request.project_id() == 0 ? store::kUncategorized
                                                                          : request.project_id()));
    std::optional<store::TaskRecord> parent, forked;
    if (!request.parent_id().empty()) {
      DET_ASSIGN_OR_RETURN(
          parent, FindRelative(request.parent_id(), model::Permission::kUpdateNsc, principal));
      // It must not outlive a parent that is being killed.
      if (parent->task.end_as == TaskState::kCanceled ||
          parent->task.state == TaskState::kCanceled) {
        return CannotChange("add a child to", parent->task);
      }
    }
    if (!request.forked_from().empty()) {
      DET_ASSIGN_OR_RETURN(
          forked, FindRelative(request.forked_from(), model::Permission::kViewNsc, principal));
    }
    const model::Value base = forked ? GetSubmitted(forked->task, principal) : model::Value();
    const std::string path = request.config_path().empty() ? "config" : request.config_path();
    DET_ASSIGN_OR_RETURN(
        const model::ConfigDocument document,
        model::ConfigDocument::Parse(request.config().empty() ? "{}" : request.config(), path));
    const std::vector<std::string> overrides(request.config_overrides().begin(),
                                             request.config_overrides().end());
    DET_ASSIGN_OR_RETURN(const model::Value submitted,
                         model::MergeSubmittedConfig(base, document, overrides));

    v1::LaunchCommandRequest launch_request;
    // The user's text has the lines that errors name.
    launch_request.set_config_yaml(forked ? submitted.ToJson() : document.text());
    launch_request.set_config_path(path);
    if (!forked) *launch_request.mutable_config_overrides() = request.config_overrides();
    *launch_request.mutable_files() = request.context_directory();
    launch_request.set_workspace_id(project.workspace.id);
    std::string inherited;
    if (forked) inherited = forked->task.definition->context_hash;
    if (request.inherit_context()) inherited = parent->task.definition->context_hash;
    DET_ASSIGN_OR_RETURN(Launch launch,
                         PrepareLaunch(store_, settings_, launch_request, model::TaskKind::kGeneric,
                                       pools, principal, inherited));
    experiment::Task& task = launch.event.task;
    task.project = project.project_ref.project;
    if (parent) task.parent = parent->task.id;
    if (forked) task.forked_from = forked->task.id;
    task.pausable = !request.no_pause();
    auto definition = std::make_shared<model::TaskDefinition>(*task.definition);
    definition->details = model::Value::Object{{kSubmitted, submitted}};
    task.definition = std::move(definition);
    return launch;
  }

  // Returns a task that a request names as another's parent or origin.
  absl::StatusOr<store::TaskRecord> FindRelative(const std::string& id,
                                                 model::Permission permission,
                                                 const auth::Principal& principal) {
    DET_ASSIGN_OR_RETURN(store::TaskRecord record, FindGeneric(id));
    DET_RETURN_IF_ERROR(auth::AuthorizeInWorkspace(FullName("CreateGenericTask"), principal,
                                                   permission, record.task.workspace,
                                                   auth::Scope::kTask, id));
    return record;
  }

  // ---- kill, pause, unpause ----

  absl::StatusOr<cluster::KillTasks> PrepareKill(const v1::KillGenericTaskRequest& request,
                                                 const auth::Principal& principal) {
    DET_ASSIGN_OR_RETURN(store::TaskRecord top, FindGeneric(request.task_id()));
    if (!request.kill_from_root() && !IsLive(top.task)) return CannotChange("cancel", top.task);
    const experiment::Task named = top.task;
    while (request.kill_from_root() && top.task.parent) {
      DET_ASSIGN_OR_RETURN(top, store_.tasks().Get(*top.task.parent));
    }
    DET_ASSIGN_OR_RETURN(Records family, ReadFamily(top.task.id, principal));
    std::erase_if(family, [](const store::TaskRecord& each) { return !IsLive(each.task); });
    if (family.empty()) return CannotChange("cancel", named);
    DET_ASSIGN_OR_RETURN(const store::UserRecord user, store_.users().GetUser(principal.user));
    return cluster::KillTasks{GetIds(family),
                              absl::StrCat("user ", user.username, " requested the kill")};
  }

  absl::StatusOr<cluster::PauseTasks> PreparePause(const std::string& id,
                                                   const auth::Principal& principal) {
    DET_ASSIGN_OR_RETURN(const store::TaskRecord record, FindGeneric(id));
    const experiment::Task& task = record.task;
    if (!task.pausable) {
      return absl::FailedPreconditionError(
          absl::StrCat("cannot pause task ", id, ": it was created with no_pause"));
    }
    if (task.state != TaskState::kQueued && task.state != TaskState::kRunning) {
      return CannotChange("pause", task);
    }
    DET_ASSIGN_OR_RETURN(Records family, ReadFamily(task.id, principal));
    std::erase_if(family, [](const store::TaskRecord& each) {
      return !each.task.pausable || !IsLive(each.task);
    });
    return cluster::PauseTasks{GetIds(family)};
  }

  absl::StatusOr<cluster::ActivateTasks> PrepareActivation(const std::string& id,
                                                           const auth::Principal& principal) {
    DET_ASSIGN_OR_RETURN(const store::TaskRecord record, FindGeneric(id));
    if (!IsPaused(record.task)) return CannotChange("unpause", record.task);
    DET_ASSIGN_OR_RETURN(Records family, ReadFamily(record.task.id, principal));
    std::erase_if(family, [](const store::TaskRecord& each) { return !IsPaused(each.task); });
    return cluster::ActivateTasks{GetIds(family)};
  }

  // Returns the task and those below it, which the caller may all change.
  absl::StatusOr<Records> ReadFamily(const model::TaskId& root, const auth::Principal& principal) {
    DET_ASSIGN_OR_RETURN(Records family, store_.tasks().ListFamily(root));
    for (const store::TaskRecord& each : family) {
      if (principal.Holds(model::Permission::kUpdateNsc, each.task.workspace)) continue;
      return absl::PermissionDeniedError(absl::StrCat("task ", each.task.id.value(),
                                                      ", which is related to the task, is in "
                                                      "workspace ",
                                                      each.task.workspace,
                                                      ", where the caller may not change tasks"));
    }
    return family;
  }

  absl::StatusOr<store::TaskRecord> FindGeneric(const std::string& text) {
    const model::TaskId id(text);
    absl::StatusOr<store::TaskRecord> record = absl::NotFoundError("");
    if (model::IsOtherTask(id)) record = store_.tasks().Get(id);
    if (absl::IsNotFound(record.status()) || (record.ok() && !IsGeneric(*record))) {
      return absl::NotFoundError(
          absl::StrCat("generic task '", text, "' not found (make sure task is of type GENERIC)"));
    }
    return record;
  }

  engine::Engine& engine_;
  store::Store& store_;
  base::ThreadPool& pool_;
  const LaunchSettings settings_;
};

}  // namespace

std::unique_ptr<Service> MakeGenericTaskService(CallPipeline& calls, engine::Engine& engine,
                                                store::Store& store, base::ThreadPool& pool,
                                                LaunchSettings settings) {
  return std::make_unique<GenericTaskService>(calls, engine, store, pool, std::move(settings));
}

}  // namespace det::api
