#include "master/api/tasks/launch.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "base/status_macros.h"
#include "base/uuid.h"
#include "master/api/common/convert.h"
#include "master/api/common/word_name.h"
#include "master/api/experiments/experiment_config.h"
#include "master/api/policies/config_policy.h"
#include "master/api/tasks/service_task.h"
#include "master/api/tasks/tensorboard_sources.h"
#include "master/parse/command.h"
#include "master/store/interfaces/workspaces.h"

namespace det::api {
namespace {

constexpr char kLaunch[] = "det.api.v1.CommandService.LaunchCommand";

// Existing clients look for the first part of these errors.
absl::Status WithPrefix(const absl::Status& status) {
  return absl::Status(status.code(),
                      absl::StrCat("failed to prepare launch params: ", status.message()));
}

// A TensorBoard only shows what its owner may see anyway, unless it runs code of its owner
// (AuthorizeOwnCode).
model::Permission GetPermission(model::TaskKind kind) {
  return kind == model::TaskKind::kTensorboard ? model::Permission::kViewWorkspace
                                               : model::Permission::kCreateNsc;
}

absl::StatusOr<store::WorkspaceRecord> FindWorkspace(store::Store& store, model::TaskKind kind,
                                                     int32_t requested,
                                                     const auth::Principal& principal) {
  const int32_t id = requested == 0 ? store::kUncategorized : requested;
  const absl::Status absent = absl::NotFoundError(absl::StrCat("workspace '", id, "' not found"));
  absl::StatusOr<store::WorkspaceRecord> found = store.workspaces().GetWorkspaceSettings(id);
  if (absl::IsNotFound(found.status())) return absent;
  DET_RETURN_IF_ERROR(found.status());
  DET_RETURN_IF_ERROR(auth::AuthorizeInWorkspace(kLaunch, principal, GetPermission(kind), id,
                                                 auth::Scope::kWorkspace, absl::StrCat(id)));
  if (found->archived) {
    return absl::NotFoundError(absl::StrCat("workspace '", id, "' not found: it is archived"));
  }
  if (found->state != store::WorkspaceState::kLive) return absent;
  return found;
}

// Whether the request decides more about a TensorBoard than what it shows and where it runs.
absl::StatusOr<bool> BringsOwnCode(const v1::LaunchCommandRequest& request,
                                   const model::CommandConfig& config,
                                   model::CommandLayers layers) {
  if (!request.files().empty() || !request.template_name().empty()) return true;
  DET_ASSIGN_OR_RETURN(const model::ConfigDocument nothing,
                       model::ConfigDocument::Parse("{}", "config"));
  DET_ASSIGN_OR_RETURN(const model::CommandConfig base, BuildCommandConfig(nothing, {}, layers));
  return config.environment.variables != base.environment.variables ||
         config.tensorboard_args != base.tensorboard_args || config.work_dir != base.work_dir;
}

// The program of a TensorBoard knows the secrets of the storages, and acts as its owner. So an
// owner who brings code must be allowed to run code in the workspace, and in those of the
// experiments.
absl::Status AuthorizeOwnCode(const auth::Principal& principal, int32_t workspace,
                              const TensorboardSources& sources) {
  DET_RETURN_IF_ERROR(auth::AuthorizeInWorkspace(kLaunch, principal, model::Permission::kCreateNsc,
                                                 workspace, auth::Scope::kWorkspace,
                                                 absl::StrCat(workspace)));
  for (const int32_t source : sources.workspaces) {
    DET_RETURN_IF_ERROR(auth::AuthorizeInWorkspace(kLaunch, principal,
                                                   model::Permission::kUpdateExperiment, source,
                                                   auth::Scope::kWorkspace, absl::StrCat(source)));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<model::ConfigLayer>> ReadTemplate(store::Store& store,
                                                             const std::string& name,
                                                             const auth::Principal& principal) {
  std::vector<model::ConfigLayer> layers;
  if (name.empty()) return layers;
  const absl::StatusOr<store::TemplateRecord> record = store.templates().GetTemplate(name);
  if (absl::IsNotFound(record.status())) {
    return absl::NotFoundError(absl::StrCat("template '", name, "' not found"));
  }
  DET_RETURN_IF_ERROR(record.status());
  DET_RETURN_IF_ERROR(auth::AuthorizeInWorkspace(kLaunch, principal,
                                                 model::Permission::kViewTemplates,
                                                 record->workspace, auth::Scope::kTemplate, name));
  layers.push_back({absl::StrCat("template ", name), record->yaml});
  return layers;
}

std::string GetPoolName(const model::ResourcesConfig& resources,
                        const store::WorkspaceRecord& workspace, const LaunchPools& pools) {
  if (!resources.resource_pool.empty()) return resources.resource_pool;
  if (resources.slots_per_trial > 0) {
    return workspace.default_compute_pool.empty() ? pools.default_compute
                                                  : workspace.default_compute_pool;
  }
  return workspace.default_aux_pool.empty() ? pools.default_aux : workspace.default_aux_pool;
}

absl::StatusOr<model::ResourcePool> FindPool(const LaunchPools& pools, const std::string& name,
                                             const store::WorkspaceRecord& workspace) {
  for (const model::ResourcePool& pool : pools.known) {
    if (pool.name != name) continue;
    const auto& bound = pool.workspaces;
    if (bound.empty() || std::count(bound.begin(), bound.end(), workspace.name) > 0) return pool;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("resource pool ", name, " does not exist or is not available to workspace id ",
                   workspace.id));
}

const char* GetNoun(model::TaskKind kind) {
  switch (kind) {
    case model::TaskKind::kNotebook:
      return "JupyterLab";
    case model::TaskKind::kShell:
      return "Shell";
    case model::TaskKind::kTensorboard:
      return "TensorBoard";
    default:
      return "Command";
  }
}

bool HasService(model::TaskKind kind) {
  return kind == model::TaskKind::kNotebook || kind == model::TaskKind::kShell ||
         kind == model::TaskKind::kTensorboard;
}

absl::Status CheckLimit(const LaunchSettings& settings, const LaunchPools& pools,
                        model::TaskKind kind, model::UserId user) {
  const int limit = settings.tasks_per_user;
  const auto found = pools.services.find(user);
  const int count = found == pools.services.end() ? 0 : found->second;
  if (limit == 0 || count < limit || !HasService(kind)) return absl::OkStatus();
  return absl::ResourceExhaustedError(absl::StrCat(
      "you have ", count, " live notebooks, shells and TensorBoards, and the limit is ", limit,
      " (limits.tasks_per_user); kill one that you do not need"));
}

std::optional<absl::Duration> GetIdleTimeout(model::TaskKind kind, const LaunchSettings& settings) {
  if (kind == model::TaskKind::kNotebook) return settings.notebook_timeout;
  if (kind == model::TaskKind::kTensorboard) return settings.tensorboard_timeout;
  return std::nullopt;
}

// The hook of a pool replaces that of the cluster.
std::string GetStartupHook(const LaunchSettings& settings, const std::string& pool) {
  for (const std::string& name : {pool, std::string()}) {
    const auto found = settings.startup_hooks.find(name);
    if (found != settings.startup_hooks.end()) return found->second;
  }
  return "";
}

// Sets what the kind determines, whatever the configuration says.
void ApplyKind(model::TaskKind kind, model::CommandConfig& config) {
  if (!HasService(kind)) return;
  config.entrypoint.clear();
  if (kind != model::TaskKind::kTensorboard) return;
  config.description.clear();
  config.resources.slots_per_trial = 0;
}

// Fails if the workspace was archived or deleted.
absl::Status CheckIsOpen(store::Store& store, int32_t workspace) {
  const absl::StatusOr<store::WorkspaceRecord> found =
      store.workspaces().GetWorkspaceSettings(workspace);
  if (absl::IsNotFound(found.status()) ||
      (found.ok() && (found->archived || found->state != store::WorkspaceState::kLive))) {
    return absl::FailedPreconditionError(
        absl::StrCat("workspace ", workspace, " was archived or deleted"));
  }
  return absl::OkStatus();  // also while the store cannot be read: the task was created
}

std::string MakeDescription(model::TaskKind kind, const model::TaskId& id) {
  if (kind == model::TaskKind::kGeneric) return absl::StrCat("Generic Task ", id.value());
  const auto seed = static_cast<uint32_t>(std::stoul(id.value().substr(0, 8), nullptr, 16));
  return absl::StrCat(GetNoun(kind), " (", MakeWordName(seed), ")");
}

model::TaskDefinition MakeDefinition(model::CommandConfig config, const std::string& pool,
                                     int default_priority, const std::string& context_hash) {
  config.resources.resource_pool = pool;
  model::TaskDefinition definition;
  definition.description = config.description;
  definition.config =
      model::ToShownValue(config, pool, config.resources.priority.value_or(default_priority));
  definition.resources = std::move(config.resources);
  definition.variables = std::move(config.environment.variables);
  definition.proxy_ports = std::move(config.environment.proxy_ports);
  definition.context_hash = context_hash;
  definition.preemptible = config.preemptible;
  definition.preemption_timeout_seconds = config.preemption_timeout_seconds;
  definition.idle_timeout = config.idle_timeout;
  return definition;
}

absl::Status CheckForKind(const model::CommandConfig& config, model::TaskKind kind) {
  if (kind == model::TaskKind::kGeneric) {
    if (!config.entrypoint.empty()) return absl::OkStatus();
    return absl::InvalidArgumentError(
        "entrypoint: must not be empty; set it to a list of the program and its arguments");
  }
  if (config.resources.is_single_node) return absl::OkStatus();
  return absl::InvalidArgumentError(
      "resources.is_single_node: cannot be false; only generic tasks can use several agents");
}

absl::StatusOr<Launch> Prepare(store::Store& store, const LaunchSettings& settings,
                               const v1::LaunchCommandRequest& request, model::TaskKind kind,
                               const LaunchPools& pools, const auth::Principal& principal,
                               const std::string& inherited_context,
                               const TensorboardSources& sources) {
  DET_ASSIGN_OR_RETURN(const store::WorkspaceRecord workspace,
                       FindWorkspace(store, kind, request.workspace_id(), principal));
  if (!request.preview()) {
    DET_RETURN_IF_ERROR(CheckLimit(settings, pools, kind, principal.user));
  }
  const bool is_text = !request.config_yaml().empty();
  const std::string text = is_text
                               ? request.config_yaml()
                               : FromStruct(request.config(), Numbers::kIntegersIfWhole).ToJson();
  DET_RETURN_IF_ERROR(CheckConfigSize("config", text.size()));
  DET_ASSIGN_OR_RETURN(
      const model::ConfigDocument document,
      model::ConfigDocument::Parse(text, is_text ? request.config_path() : "config"));
  const std::vector<std::string> overrides(request.config_overrides().begin(),
                                           request.config_overrides().end());
  model::CommandLayers layers;
  DET_ASSIGN_OR_RETURN(layers.templates, ReadTemplate(store, request.template_name(), principal));
  // The pool determines a layer, and the configuration the pool.
  DET_ASSIGN_OR_RETURN(model::CommandConfig config,
                       BuildCommandConfig(document, overrides, layers));
  ApplyKind(kind, config);
  const std::string pool_name = GetPoolName(config.resources, workspace, pools);
  DET_ASSIGN_OR_RETURN(const model::ResourcePool pool, FindPool(pools, pool_name, workspace));
  AddTaskDefaults(settings.defaults, pool_name, layers.defaults);
  DET_ASSIGN_OR_RETURN(config, BuildCommandConfig(document, overrides, layers));
  ApplyKind(kind, config);
  DET_ASSIGN_OR_RETURN(const ConfigPolicy policy,
                       FindConfigPolicy(store, workspace.id, workspace.name, kTaskWorkload));
  DET_RETURN_IF_ERROR(CheckTaskLimits(policy, config.resources));
  if (kind == model::TaskKind::kCommand && config.entrypoint.empty()) {
    config.entrypoint.assign(request.words().begin(), request.words().end());
  }
  DET_RETURN_IF_ERROR(CheckForKind(config, kind));
  if (kind == model::TaskKind::kTensorboard) {
    DET_ASSIGN_OR_RETURN(const bool own_code, BringsOwnCode(request, config, layers));
    if (own_code) DET_RETURN_IF_ERROR(AuthorizeOwnCode(principal, workspace.id, sources));
  }
  Launch launch;
  launch.context.hash = inherited_context;
  if (!inherited_context.empty() &&
      absl::IsNotFound(store.GetContext(inherited_context).status())) {
    return absl::FailedPreconditionError(
        "the context directory of the other task is no longer stored; add one to the request");
  }
  if (!request.files().empty() || !inherited_context.empty()) {
    const bool given = document.Locate("work_dir") != document.source();
    if (given && !config.work_dir.empty()) {
      return absl::InvalidArgumentError(
          "cannot set work_dir and context directory at the same time");
    }
    config.work_dir.clear();
  }
  if (!request.files().empty()) {
    DET_ASSIGN_OR_RETURN(launch.context, PackContext(request.files()));
  }
  DET_ASSIGN_OR_RETURN(const store::UserRecord user, store.users().GetUser(principal.user));
  experiment::Task& task = launch.event.task;
  task.id = model::TaskId(base::NewUuid());
  if (config.description.empty()) config.description = MakeDescription(kind, task.id);
  task.kind = kind;
  task.owner = principal.user;
  task.owner_name = user.username;
  task.workspace = workspace.id;
  task.workspace_name = workspace.name;
  if (!config.idle_timeout) config.idle_timeout = GetIdleTimeout(kind, settings);
  if (config.environment.image == model::PerSlotType<std::string>()) {
    config.environment.image = sources.image;
  }
  model::TaskDefinition definition =
      MakeDefinition(config, pool_name, pool.default_priority, launch.context.hash);
  definition.argv = MakeRunnerArgv(kind, config, config.entrypoint);
  if (HasService(kind) && !request.preview()) {
    // Existing clients expect the command line of the service.
    (*definition.config.MutableObject())["entrypoint"] =
        model::Value::List(definition.argv.begin(), definition.argv.end());
  }
  if (config.debug) definition.env.emplace("DET_DEBUG", "true");
  if (std::string hook = GetStartupHook(settings, pool_name); !hook.empty()) {
    definition.files["startup-hook.sh"] = std::move(hook);
  }
  DET_RETURN_IF_ERROR(AddService(kind, task.id, config, sources, request, definition));
  task.definition = std::make_shared<const model::TaskDefinition>(std::move(definition));
  return launch;
}

}  // namespace

void QueryLaunchPools(engine::Engine& engine, base::ThreadPool& pool,
                      absl::AnyInvocable<void(absl::StatusOr<LaunchPools>)> then) {
  auto pools = std::make_shared<LaunchPools>();
  engine.Query(
      [pools](const cluster::Cluster& cluster) {
        pools->default_compute = cluster.default_compute();
        pools->default_aux = cluster.default_aux();
        for (const cluster::KnownPool& known : cluster.pools()) pools->known.push_back(known.pool);
        for (const experiment::Task* task : cluster.live_tasks()) {
          if (HasService(task->kind)) ++pools->services[task->owner];
        }
      },
      [&pool, pools, then = std::move(then)](const absl::Status& status) mutable {
        pool.Post([pools, status, then = std::move(then)]() mutable {
          if (!status.ok()) return then(status);
          then(std::move(*pools));
        });
      });
}

absl::StatusOr<Launch> PrepareLaunch(store::Store& store, const LaunchSettings& settings,
                                     const v1::LaunchCommandRequest& request, model::TaskKind kind,
                                     const LaunchPools& pools, const auth::Principal& principal,
                                     const std::string& inherited_context) {
  TensorboardSources sources;
  if (kind == model::TaskKind::kTensorboard) {
    DET_ASSIGN_OR_RETURN(sources,
                         FindTensorboardSources(store, request, settings.cluster_id, principal));
  }
  absl::StatusOr<Launch> launch =
      Prepare(store, settings, request, kind, pools, principal, inherited_context, sources);
  if (!launch.ok()) return WithPrefix(launch.status());
  return launch;
}

void SubmitLaunch(engine::Engine& engine, store::Store& store, base::ThreadPool& pool,
                  Launch launch, absl::AnyInvocable<void(absl::StatusOr<engine::Applied>)> then) {
  if (!launch.context.tgz.empty()) {
    absl::Status stored = store.PutContext(launch.context.hash, launch.context.tgz);
    if (!stored.ok()) return then(std::move(stored));
  }
  const model::TaskId id = launch.event.task.id;
  const int32_t workspace = launch.event.task.workspace;
  engine.Submit(
      std::move(launch.event), [&engine, &store, &pool, id, workspace, then = std::move(then)](
                                   const absl::StatusOr<engine::Applied>& applied) mutable {
        pool.Post([&engine, &store, id, workspace, applied, then = std::move(then)]() mutable {
          if (!applied.ok()) return then(applied.status());
          // Archiving kills the tasks that exist. It does not find one that is created afterwards
          // from what was read before.
          absl::Status open = CheckIsOpen(store, workspace);
          if (open.ok()) return then(applied);
          engine.Submit(cluster::KillTasks{{id}, std::string(open.message())},
                        [open, then = std::move(then)](
                            const absl::StatusOr<engine::Applied>&) mutable { then(open); });
        });
      });
}

}  // namespace det::api
