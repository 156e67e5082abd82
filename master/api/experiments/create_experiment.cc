#include "master/api/experiments/create_experiment.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "master/api/common/project_resolver.h"
#include "master/api/common/word_name.h"
#include "master/api/experiments/experiment_config.h"
#include "master/api/experiments/warm_start.h"
#include "master/api/policies/config_policy.h"
#include "master/auth/tokens.h"
#include "master/core/model/entrypoint.h"
#include "master/parse/parse.h"

namespace det::api {
namespace {

constexpr char kCreateExperiment[] = "det.api.v1.ExperimentService.CreateExperiment";

// Requests are looked up by their id in an index, whose entries have a maximum size.
constexpr size_t kMaxRequestIdLength = 128;

using Parent = std::optional<experiment::Experiment>;

// Different for each submission, but the same for a repeated one.
uint32_t MakeSeed(const std::string& cluster_id, const std::string& request_id) {
  const std::string text =
      request_id.empty() ? auth::NewToken() : absl::StrCat(cluster_id, request_id);
  const std::string hash = auth::Sha256Hex(text);
  return static_cast<uint32_t>(std::stoul(hash.substr(0, 8), nullptr, 16)) & 0x7fffffff;
}

absl::Status CheckRequest(const v1::CreateExperimentRequest& request) {
  if (request.request_id().size() > kMaxRequestIdLength) {
    return absl::InvalidArgumentError(absl::StrCat("request_id: ", request.request_id().size(),
                                                   " bytes; at most ", kMaxRequestIdLength,
                                                   " are allowed"));
  }
  if (request.unmanaged() && request.parent_id() != 0) {
    return absl::InvalidArgumentError("parent_id: cannot fork into an unmanaged experiment");
  }
  return absl::OkStatus();
}

// Returns the experiment that the new one is forked from, if any: it provides what the request
// omits.
absl::StatusOr<Parent> FindParent(store::Store& store, const v1::CreateExperimentRequest& request) {
  if (request.parent_id() == 0) return std::nullopt;
  DET_ASSIGN_OR_RETURN(store::ExperimentRecord record,
                       store.GetExperiment(model::ExperimentId(request.parent_id())));
  if (model::IsDeletion(record.experiment.state)) {
    return absl::FailedPreconditionError(
        absl::StrCat("cannot fork experiment ", request.parent_id(), ", which is ",
                     std::string(model::ToString(record.experiment.state))));
  }
  return std::move(record.experiment);
}

// ---- access ----

// A user who may not read the secrets of the parent's configuration, a Viewer of its workspace,
// must not copy them into an experiment either.
absl::Status CheckSecrets(const experiment::Experiment& parent, const auth::Principal& principal) {
  if (principal.Holds(model::Permission::kUpdateExperiment, parent.workspace)) {
    return absl::OkStatus();
  }
  if (!model::HasSecrets(*parent.config)) return absl::OkStatus();
  return absl::PermissionDeniedError(
      absl::StrCat("the configuration of experiment ", parent.id.value(),
                   " contains secrets, which only Editors of workspace ", parent.config->workspace,
                   " may use; fork it with your own configuration, or ask an Editor"));
}

// An experiment shows the values of its template, so the caller must be allowed to see the
// template.
absl::Status AuthorizeTemplate(store::Store& store, const std::string& name,
                               const auth::Principal& principal) {
  if (name.empty()) return absl::OkStatus();
  DET_ASSIGN_OR_RETURN(const store::TemplateRecord record, store.templates().GetTemplate(name));
  return auth::AuthorizeInWorkspace(kCreateExperiment, principal, model::Permission::kViewTemplates,
                                    record.workspace, auth::Scope::kTemplate, name);
}

absl::Status AuthorizeProject(const cluster::ProjectRef& project_ref,
                              const auth::Principal& principal) {
  return auth::AuthorizeInWorkspace(kCreateExperiment, principal,
                                    model::Permission::kCreateExperiment, project_ref.workspace,
                                    auth::Scope::kWorkspace, project_ref.workspace_name);
}

absl::Status AuthorizeWarmStart(store::Store& store, const WarmStart& warm_start,
                                const auth::Principal& principal) {
  DET_ASSIGN_OR_RETURN(const int32_t workspace,
                       store.projects().GetWorkspaceId(warm_start.experiment));
  return auth::AuthorizeInWorkspace(
      kCreateExperiment, principal, model::Permission::kViewExperimentMetadata, workspace,
      auth::Scope::kExperiment, absl::StrCat(warm_start.experiment.value()));
}

// ---- configuration ----

// Parses the configuration that the request contains, or the parent's if it contains none.
absl::StatusOr<ParsedConfig> ParseSubmittedConfig(store::Store& store,
                                                  const std::string& cluster_id,
                                                  const v1::CreateExperimentRequest& request,
                                                  const Parent& parent,
                                                  const auth::Principal& principal) {
  ConfigSubmission submission{.yaml = request.config(), .path = request.config_path()};
  submission.overrides.assign(request.config_overrides().begin(), request.config_overrides().end());
  submission.template_name = request.template_();
  submission.seed = MakeSeed(cluster_id, request.request_id());
  submission.name = absl::StrCat("Experiment (", MakeWordName(submission.seed), ")");
  submission.unmanaged = request.unmanaged();
  if (parent && submission.yaml.empty()) {
    DET_RETURN_IF_ERROR(CheckSecrets(*parent, principal));
    submission.yaml = parent->original_config;
    submission.path = absl::StrCat("experiment ", parent->id.value());
  }
  return ParseConfig(store, submission);
}

// Finds the project of the experiment: the one that the request names by its id, else the one that
// the configuration names, else the parent's.
absl::StatusOr<ResolvedProject> ResolveTargetProject(store::Store& store,
                                                     const v1::CreateExperimentRequest& request,
                                                     const ParsedConfig& parsed,
                                                     const model::ExperimentConfig& config,
                                                     const Parent& parent) {
  if (request.project_id() > store::kUncategorized)
    return ResolveProject(store, request.project_id());
  // The parent's project may have been renamed since its text was stored.
  const bool named = !request.config().empty() && !config.workspace.empty();
  if (parent && !named) return ResolveProject(store, parent->project);
  absl::StatusOr<ResolvedProject> found = ResolveProject(store, config.workspace, config.project);
  if (found.ok() || config.workspace.empty()) return found;
  return absl::Status(found.status().code(), absl::StrCat(parsed.document.Locate("project"), ": ",
                                                          found.status().message()));
}

// Returns the pool that the configuration names, else the workspace's default; empty if it has
// none.
std::string GetPoolName(const model::ResourcesConfig& resources,
                        const store::WorkspaceRecord& workspace) {
  if (!resources.resource_pool.empty()) return resources.resource_pool;
  return resources.slots_per_trial > 0 ? workspace.default_compute_pool
                                       : workspace.default_aux_pool;
}

// Only warns about an unknown pool: agents of the pool may connect later.
void WarnAboutUnknownPool(const Pools& pools, const std::string& pool, const ParsedConfig& parsed,
                          std::vector<std::string>& warnings) {
  if (pool.empty() || std::count(pools.names.begin(), pools.names.end(), pool) > 0) return;
  warnings.push_back(absl::StrCat(parsed.document.Locate("resources.resource_pool"),
                                  ": resource pool ", pool, " does not exist yet; existing pools: ",
                                  pools.names.empty() ? "none" : absl::StrJoin(pools.names, ", "),
                                  ". Trials wait until an agent of the pool connects"));
}

// A valid configuration and the project that it is for.
struct PlacedConfig {
  ValidConfig valid;
  cluster::ProjectRef project_ref;
};

// Validates the configuration with the layers of its workspace and resource pool, which the
// configuration itself determines: first the workspace, then, with the workspace's layers, the
// pool. The document is parsed once; only merging and validation are repeated, if there are layers.
absl::StatusOr<PlacedConfig> ValidateInProject(store::Store& store,
                                               const ExperimentDefaults& defaults,
                                               const v1::CreateExperimentRequest& request,
                                               const ParsedConfig& parsed, const Pools& pools,
                                               const Parent& parent) {
  ConfigScope scope;
  DET_ASSIGN_OR_RETURN(ValidConfig valid, ValidateConfig(defaults, parsed, scope));
  DET_ASSIGN_OR_RETURN(ResolvedProject found,
                       ResolveTargetProject(store, request, parsed, valid.config, parent));
  const store::WorkspaceRecord& workspace = found.workspace;
  DET_ASSIGN_OR_RETURN(ConfigPolicy policy, FindConfigPolicy(store, workspace.id, workspace.name));
  if (!workspace.checkpoint_storage.empty() || !policy.layers.empty()) {
    scope.checkpoint_storage = workspace.checkpoint_storage;
    scope.policies = policy.layers;
    DET_ASSIGN_OR_RETURN(valid, ValidateConfig(defaults, parsed, scope));
  }
  valid.config.workspace = found.project_ref.workspace_name;
  valid.config.project = found.project_ref.project_name;
  // The cluster runs nothing for an unmanaged experiment.
  if (request.unmanaged()) return PlacedConfig{std::move(valid), std::move(found.project_ref)};
  const std::string pool = GetPoolName(valid.config.resources, workspace);
  scope.resource_pool = !pool.empty()                                ? pool
                        : valid.config.resources.slots_per_trial > 0 ? pools.default_compute
                                                                     : pools.default_aux;
  if (defaults.task_defaults.pools.contains(scope.resource_pool)) {
    DET_ASSIGN_OR_RETURN(valid, ValidateConfig(defaults, parsed, scope));
  }
  WarnAboutUnknownPool(pools, pool, parsed, valid.warnings);
  DET_RETURN_IF_ERROR(ApplyLimits(policy, valid.config));
  valid.config.resources.resource_pool = pool;
  return PlacedConfig{std::move(valid), std::move(found.project_ref)};
}

absl::Status CheckCheckpointStorage(const ExperimentDefaults& defaults, const ParsedConfig& parsed,
                                    const model::CheckpointStorageConfig& storage) {
  const absl::Status allowed =
      checkpoint_storage::CheckCheckpointLocation(defaults.checkpoint_locations, storage);
  if (allowed.ok()) return allowed;
  const std::string member =
      absl::StrCat("checkpoint_storage.", checkpoint_storage::IsBucket(storage) ? "type"
                                          : storage.type == "directory"         ? "container_path"
                                                                                : "host_path");
  return absl::InvalidArgumentError(
      absl::StrCat(parsed.document.Locate(member), ": ", member, ": ", allowed.message()));
}

absl::Status CheckEntrypoint(const ParsedConfig& parsed, const model::ExperimentConfig& config,
                             const ContextArchive& context) {
  const auto trial = model::ParseTrialEntrypoint(config.entrypoint);
  if (!trial) return absl::OkStatus();
  DET_ASSIGN_OR_RETURN(const std::string path, NormalizeContextPath(trial->file));
  if (context.files.contains(path)) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(parsed.document.Locate("entrypoint"),
                                                 ": entrypoint: ", trial->file,
                                                 " is not in the context directory"));
}

}  // namespace

absl::StatusOr<Submission> PrepareSubmission(store::Store& store,
                                             const ExperimentDefaults& defaults,
                                             const std::string& cluster_id,
                                             const v1::CreateExperimentRequest& request,
                                             const Pools& pools, const auth::Principal& principal) {
  DET_RETURN_IF_ERROR(CheckRequest(request));
  DET_RETURN_IF_ERROR(AuthorizeTemplate(store, request.template_(), principal));
  DET_ASSIGN_OR_RETURN(const Parent parent, FindParent(store, request));
  DET_ASSIGN_OR_RETURN(const ParsedConfig parsed,
                       ParseSubmittedConfig(store, cluster_id, request, parent, principal));
  DET_ASSIGN_OR_RETURN(PlacedConfig placed,
                       ValidateInProject(store, defaults, request, parsed, pools, parent));
  model::ExperimentConfig& config = placed.valid.config;
  DET_RETURN_IF_ERROR(AuthorizeProject(placed.project_ref, principal));
  if (!request.unmanaged()) {
    DET_RETURN_IF_ERROR(CheckCheckpointStorage(defaults, parsed, config.checkpoint_storage));
  }
  DET_ASSIGN_OR_RETURN(const std::optional<WarmStart> warm_start,
                       FindWarmStart(store, config.searcher));
  if (warm_start) DET_RETURN_IF_ERROR(AuthorizeWarmStart(store, *warm_start, principal));
  DET_ASSIGN_OR_RETURN(const store::UserRecord user, store.users().GetUser(principal.user));

  Submission submission;
  submission.warnings = std::move(placed.valid.warnings);
  const bool has_context = !parent || !request.model_definition().empty();
  if (has_context) {
    DET_ASSIGN_OR_RETURN(submission.context, PackContext(request.model_definition()));
    DET_RETURN_IF_ERROR(CheckEntrypoint(parsed, config, submission.context));
  }
  cluster::CreateExperiment& event = submission.event;
  event.config = std::make_shared<const model::ExperimentConfig>(std::move(config));
  // The layers of the project and the pool are looked up again when needed.
  DET_ASSIGN_OR_RETURN(event.original_config,
                       model::GetTextToStore(parsed.document, parsed.templates, parsed.overrides));
  event.context_hash = has_context ? submission.context.hash : parent->context_hash;
  event.owner = principal.user;
  event.owner_name = user.username;
  event.request_id = request.request_id();
  event.activate = request.activate();
  if (warm_start) {
    event.warm_start = warm_start->checkpoint;
    event.warm_start_from = warm_start->experiment;
  }
  if (parent) event.forked_from = parent->id;
  event.workspace = placed.project_ref.workspace;
  event.project = placed.project_ref.project;
  return submission;
}

absl::StatusOr<cluster::ContinueExperiment> PrepareContinuation(
    store::Store& store, const ExperimentDefaults& defaults,
    const v1::ContinueExperimentRequest& request, const auth::Principal& principal) {
  cluster::ContinueExperiment event;
  DET_ASSIGN_OR_RETURN(event.rows, store.LoadExperiment(model::ExperimentId(request.id())));
  const experiment::Experiment& before = event.rows.experiments.front();
  if (before.unmanaged) {
    return absl::FailedPreconditionError(
        absl::StrCat("experiment ", request.id(),
                     " is unmanaged: it runs outside of the cluster, which cannot continue it; "
                     "start its program again"));
  }
  const model::ExperimentConfig& current = *before.config;
  const std::vector<std::string> overrides(request.config_overrides().begin(),
                                           request.config_overrides().end());
  const bool changed = !request.override_config().empty() || !overrides.empty();
  if (changed && principal.user != before.owner &&
      principal.RoleIn(0) != model::Role::kClusterAdmin) {
    return absl::PermissionDeniedError(
        absl::StrCat("only its owner can continue experiment ", request.id(),
                     " with another configuration, because its tasks act as the owner; fork it, "
                     "or continue it unchanged"));
  }
  DET_ASSIGN_OR_RETURN(ConfigPolicy policy,
                       FindConfigPolicy(store, before.workspace, current.workspace));
  const bool limited = policy.max_slots || policy.priority || !policy.layers.empty();
  if (!changed && !limited) return event;
  model::ConfigDefaults config_defaults;
  config_defaults.name = current.name;
  config_defaults.checkpoint_host_path = current.checkpoint_storage.host_path;
  config_defaults.experiment_seed = current.experiment_seed;
  config_defaults.below.push_back(
      {absl::StrCat("experiment ", request.id()), model::ToValue(current).ToJson()});
  config_defaults.above = policy.layers;
  DET_ASSIGN_OR_RETURN(model::ExperimentConfig config,
                       model::ParseExperimentConfig(request.override_config(), "override_config",
                                                    overrides, config_defaults));
  DET_RETURN_IF_ERROR(CheckConfigSize("configuration", model::ToValue(config).ToJson().size()));
  DET_RETURN_IF_ERROR(ApplyLimits(policy, config));
  DET_RETURN_IF_ERROR(checkpoint_storage::CheckCheckpointLocation(defaults.checkpoint_locations,
                                                                  config.checkpoint_storage));
  if (config.workspace != current.workspace || config.project != current.project) {
    return absl::InvalidArgumentError(
        "project: cannot change the project on continue; move the experiment before or after");
  }
  if (config.searcher.source_trial_id != current.searcher.source_trial_id ||
      config.searcher.source_checkpoint_uuid != current.searcher.source_checkpoint_uuid) {
    return absl::InvalidArgumentError(
        "searcher.source_*: a continued experiment resumes from its own checkpoints; fork it to "
        "start from others");
  }
  event.config = std::make_shared<const model::ExperimentConfig>(std::move(config));
  return event;
}

absl::StatusOr<std::optional<model::ExperimentId>> FindByRequestId(store::Store& store,
                                                                   model::UserId owner,
                                                                   const std::string& request_id) {
  if (request_id.empty()) return std::nullopt;
  DET_ASSIGN_OR_RETURN(
      const store::ExperimentPage page,
      store.ListExperiments(
          {.window = {.offset = 0, .limit = 1}, .owner_ids = {owner}, .request_id = request_id}));
  if (page.experiments.empty()) return std::nullopt;
  return page.experiments.front().experiment.id;
}

}  // namespace det::api
