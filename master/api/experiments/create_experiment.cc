#include "master/api/experiments/create_experiment.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/rng.h"
#include "base/status_macros.h"
#include "master/api/common/project_resolver.h"
#include "master/api/experiments/experiment_config.h"
#include "master/api/experiments/warm_start.h"
#include "master/api/policies/config_policy.h"
#include "master/auth/tokens.h"
#include "master/core/model/entrypoint.h"
#include "master/parse/parse.h"

namespace det::api {
namespace {

// Different for each submission, and the same for a repeated one.
uint32_t SeedFor(const std::string& cluster_id, const std::string& request_id) {
  const std::string text =
      request_id.empty() ? auth::NewToken() : absl::StrCat(cluster_id, request_id);
  const std::string hash = auth::Sha256Hex(text);
  return static_cast<uint32_t>(std::stoul(hash.substr(0, 8), nullptr, 16)) & 0x7fffffff;
}

// Easier to tell apart, and to say, than numbers.
std::string NameFor(uint32_t seed) {
  constexpr const char* kHow[] = {"barely", "boldly", "calmly", "deeply", "fairly", "gently",
                                  "kindly", "lately", "mildly", "nearly", "openly", "purely",
                                  "rarely", "slowly", "warmly", "wisely"};
  constexpr const char* kWhat[] = {"amber", "brave", "bright", "clever", "curly", "eager",
                                   "fuzzy", "grand", "jolly",  "lucky",  "merry", "noble",
                                   "quick", "quiet", "sunny",  "witty"};
  constexpr const char* kWho[] = {"badger", "bison",  "crane", "dolphin", "falcon", "gecko",
                                  "heron",  "jackal", "koala", "lynx",    "marten", "newt",
                                  "otter",  "panda",  "robin", "walrus"};
  return absl::StrCat("Experiment (", kHow[seed % 16], "-", kWhat[seed / 16 % 16], "-",
                      kWho[seed / 256 % 16], ")");
}

// It is looked up by an index, whose entries are bounded.
constexpr size_t kRequestIdLimit = 128;

absl::Status CheckEntrypoint(const model::ExperimentConfig& config, const ContextArchive& context,
                             const v1::CreateExperimentRequest& request) {
  const auto trial = model::ParseTrialEntrypoint(config.entrypoint);
  if (!trial) return absl::OkStatus();
  DET_ASSIGN_OR_RETURN(const std::string path, NormalizeContextPath(trial->file));
  if (context.files.contains(path)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(model::LocateInConfig(request.config(), request.config_path(), "entrypoint"),
                   ": entrypoint: ", trial->file, " is not in the context directory"));
}

absl::Status CheckPlace(const ExperimentDefaults& defaults, const model::ExperimentConfig& config,
                        const v1::CreateExperimentRequest& request) {
  const absl::Status allowed = checkpoint_storage::CheckCheckpointLocation(
      defaults.checkpoint_locations, config.checkpoint_storage);
  if (allowed.ok()) return allowed;
  const std::string member = absl::StrCat(
      "checkpoint_storage.", checkpoint_storage::IsBucket(config.checkpoint_storage) ? "type"
                             : config.checkpoint_storage.type == "directory" ? "container_path"
                                                                             : "host_path");
  return absl::InvalidArgumentError(
      absl::StrCat(model::LocateInConfig(request.config(), request.config_path(), member), ": ",
                   member, ": ", allowed.message()));
}

// The experiment that the new one is made from, if any: what the request leaves out is the
// parent's.
absl::StatusOr<std::optional<experiment::Experiment>> FindParent(
    store::Store& store, const v1::CreateExperimentRequest& request) {
  if (request.parent_id() == 0) return std::nullopt;
  DET_ASSIGN_OR_RETURN(store::ExperimentRecord record,
                       store.GetExperiment(model::ExperimentId(request.parent_id())));
  if (model::IsDeletion(record.experiment.state)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "experiment ", request.parent_id(), " is ",
        std::string(model::ToString(record.experiment.state)), "; nothing can be made from it"));
  }
  return std::move(record.experiment);
}

// Of a parent whose configuration is taken over: who may not read its secrets, Viewers where it
// lies, does not get them into an experiment of theirs either.
absl::Status CheckSecrets(const experiment::Experiment& parent, const auth::Principal& principal) {
  if (principal.RoleIn(parent.workspace) >= model::Role::kEditor) return absl::OkStatus();
  if (model::ToShownValue(*parent.config) == model::ToValue(*parent.config)) {
    return absl::OkStatus();
  }
  return absl::PermissionDeniedError(
      absl::StrCat("the configuration of experiment ", parent.id.value(),
                   " has secrets, which Editors of workspace ", parent.config->workspace,
                   " alone may use; fork it with a configuration of your own, or ask one of them"));
}

// A template gives away what it says to whoever uses it.
absl::Status CheckTemplate(store::Store& store, const std::string& name,
                           const auth::Principal& principal) {
  if (name.empty()) return absl::OkStatus();
  DET_ASSIGN_OR_RETURN(const store::TemplateRecord record, store.templates().GetTemplate(name));
  return auth::AuthorizeIn("det.api.v1.ExperimentService.CreateExperiment", principal,
                           model::Role::kViewer, record.workspace, auth::Scope::kTemplate, name);
}

// Where the experiment goes: the project that the request gives by its number, then the one that
// the configuration names, then its parent's.
absl::StatusOr<FoundSpace> FindSpaceOf(store::Store& store,
                                       const v1::CreateExperimentRequest& request,
                                       const model::ExperimentConfig& config,
                                       const std::optional<experiment::Experiment>& parent) {
  if (request.project_id() > store::kUncategorized) return FindSpace(store, request.project_id());
  // Its names may be others by now than those that its text has.
  const bool named = !request.config().empty() && !config.workspace.empty();
  if (parent && !named) return FindSpace(store, parent->project);
  absl::StatusOr<FoundSpace> found = FindSpace(store, config.workspace, config.project);
  if (found.ok() || config.workspace.empty()) return found;
  return absl::Status(
      found.status().code(),
      absl::StrCat(model::LocateInConfig(request.config(), request.config_path(), "project"), ": ",
                   found.status().message()));
}

// Of who names no pool: the workspace's; empty where that has none either.
std::string PoolOf(const model::ResourcesConfig& resources,
                   const store::WorkspaceRecord& workspace) {
  if (!resources.resource_pool.empty()) return resources.resource_pool;
  return resources.slots_per_trial > 0 ? workspace.default_compute_pool
                                       : workspace.default_aux_pool;
}

// Agents may bring the pool yet, and a name may be wrong.
void WarnOfPool(const Pools& pools, const std::string& pool,
                const v1::CreateExperimentRequest& request, std::vector<std::string>& warnings) {
  if (pool.empty() || std::count(pools.names.begin(), pools.names.end(), pool) > 0) return;
  warnings.push_back(absl::StrCat(
      model::LocateInConfig(request.config(), request.config_path(), "resources.resource_pool"),
      ": there is no pool ", pool, " yet; there ", pools.names.size() == 1 ? "is " : "are ",
      pools.names.empty() ? "none" : absl::StrJoin(pools.names, ", "),
      ". Trials wait until an agent brings it"));
}

// The configuration with the layers of where the experiment goes.
absl::StatusOr<ReadyConfig> ReadPlaced(store::Store& store, const ExperimentDefaults& defaults,
                                       GivenConfig given,
                                       const v1::CreateExperimentRequest& request,
                                       const Pools& pools,
                                       const std::optional<experiment::Experiment>& parent,
                                       cluster::ProjectRef* project_ref) {
  DET_ASSIGN_OR_RETURN(ReadyConfig ready, ReadConfig(store, defaults, given));
  DET_ASSIGN_OR_RETURN(FoundSpace found, FindSpaceOf(store, request, ready.config, parent));
  const store::WorkspaceRecord& workspace = found.workspace;
  DET_ASSIGN_OR_RETURN(ConfigPolicy policy, FindConfigPolicy(store, workspace.id, workspace.name));
  if (!workspace.checkpoint_storage.empty() || !policy.layers.empty()) {
    given.checkpoint_storage = workspace.checkpoint_storage;
    given.policies = policy.layers;
    DET_ASSIGN_OR_RETURN(ready, ReadConfig(store, defaults, given));
  }
  const std::string pool = PoolOf(ready.config.resources, workspace);
  given.resource_pool = !pool.empty()                                ? pool
                        : ready.config.resources.slots_per_trial > 0 ? pools.default_compute
                                                                     : pools.default_aux;
  if (defaults.task_defaults.pools.contains(given.resource_pool)) {
    DET_ASSIGN_OR_RETURN(ready, ReadConfig(store, defaults, given));
  }
  WarnOfPool(pools, pool, request, ready.warnings);
  DET_RETURN_IF_ERROR(ApplyLimits(policy, ready.config));
  ready.config.resources.resource_pool = pool;
  ready.config.workspace = found.project_ref.workspace_name;
  ready.config.project = found.project_ref.project_name;
  *project_ref = std::move(found.project_ref);
  return ready;
}

}  // namespace

absl::StatusOr<Submission> PrepareSubmission(store::Store& store,
                                             const ExperimentDefaults& defaults,
                                             const std::string& cluster_id,
                                             const v1::CreateExperimentRequest& request,
                                             const Pools& pools, const auth::Principal& principal) {
  if (request.request_id().size() > kRequestIdLimit) {
    return absl::InvalidArgumentError(absl::StrCat("request_id: ", request.request_id().size(),
                                                   " bytes; at most ", kRequestIdLimit,
                                                   " are allowed"));
  }
  if (request.unmanaged()) {
    return absl::UnimplementedError(
        "unmanaged: this cluster runs what it keeps; it does not keep experiments that run "
        "elsewhere. "
        "Leave `unmanaged` out to have it run here");
  }
  DET_RETURN_IF_ERROR(CheckTemplate(store, request.template_(), principal));
  GivenConfig given{.yaml = request.config(), .path = request.config_path()};
  given.overrides.assign(request.config_overrides().begin(), request.config_overrides().end());
  given.template_name = request.template_();
  given.seed = SeedFor(cluster_id, request.request_id());
  given.name = NameFor(given.seed);
  DET_ASSIGN_OR_RETURN(const std::optional<experiment::Experiment> parent,
                       FindParent(store, request));
  if (parent && given.yaml.empty()) {
    DET_RETURN_IF_ERROR(CheckSecrets(*parent, principal));
    given.yaml = parent->original_config;
    given.path = absl::StrCat("experiment ", parent->id.value());
  }
  cluster::ProjectRef project_ref;
  DET_ASSIGN_OR_RETURN(ReadyConfig ready, ReadPlaced(store, defaults, std::move(given), request,
                                                     pools, parent, &project_ref));
  DET_RETURN_IF_ERROR(auth::AuthorizeIn("det.api.v1.ExperimentService.CreateExperiment", principal,
                                        model::Role::kEditor, project_ref.workspace,
                                        auth::Scope::kWorkspace, project_ref.workspace_name));
  DET_RETURN_IF_ERROR(CheckPlace(defaults, ready.config, request));
  DET_ASSIGN_OR_RETURN(const std::optional<WarmStart> warm_start,
                       FindWarmStart(store, ready.config.searcher));
  if (warm_start) {
    DET_ASSIGN_OR_RETURN(const int32_t from,
                         store.projects().GetWorkspaceId(warm_start->experiment));
    DET_RETURN_IF_ERROR(auth::AuthorizeIn(
        "det.api.v1.ExperimentService.CreateExperiment", principal, model::Role::kViewer, from,
        auth::Scope::kExperiment, absl::StrCat(warm_start->experiment.value())));
  }
  DET_ASSIGN_OR_RETURN(const store::UserRecord user, store.users().GetUser(principal.user));
  Submission submission;
  submission.warnings = std::move(ready.warnings);
  const bool whole = !parent || !request.model_definition().empty();
  if (whole) {
    DET_ASSIGN_OR_RETURN(submission.context, PackContext(request.model_definition()));
    DET_RETURN_IF_ERROR(CheckEntrypoint(ready.config, submission.context, request));
  }
  submission.event = {
      .config = std::make_shared<const model::ExperimentConfig>(std::move(ready.config)),
      .original_config = std::move(ready.text),
      .context_hash = whole ? submission.context.hash : parent->context_hash,
      .owner = principal.user,
      .owner_name = user.username,
      .request_id = request.request_id(),
      .activate = request.activate()};
  if (warm_start) {
    submission.event.warm_start = warm_start->checkpoint;
    submission.event.warm_start_from = warm_start->experiment;
  }
  if (parent) submission.event.forked_from = parent->id;
  submission.event.workspace = project_ref.workspace;
  submission.event.project = project_ref.project;
  return submission;
}

absl::StatusOr<cluster::ContinueExperiment> PrepareContinuation(
    store::Store& store, const ExperimentDefaults& defaults,
    const v1::ContinueExperimentRequest& request) {
  cluster::ContinueExperiment event;
  DET_ASSIGN_OR_RETURN(event.rows, store.LoadExperiment(model::ExperimentId(request.id())));
  const model::ExperimentConfig& now = *event.rows.experiments.front().config;
  const std::vector<std::string> overrides(request.config_overrides().begin(),
                                           request.config_overrides().end());
  const experiment::Experiment& before = event.rows.experiments.front();
  DET_ASSIGN_OR_RETURN(ConfigPolicy policy,
                       FindConfigPolicy(store, before.workspace, now.workspace));
  const bool limited = policy.max_slots || policy.priority || !policy.layers.empty();
  if (request.override_config().empty() && overrides.empty() && !limited) return event;
  model::ConfigDefaults config_defaults;
  config_defaults.name = now.name;
  config_defaults.checkpoint_host_path = now.checkpoint_storage.host_path;
  config_defaults.experiment_seed = now.experiment_seed;
  config_defaults.below.push_back(
      {absl::StrCat("experiment ", request.id()), model::ToValue(now).ToJson()});
  config_defaults.above = policy.layers;
  DET_ASSIGN_OR_RETURN(model::ExperimentConfig config,
                       model::ParseExperimentConfig(request.override_config(), "override_config",
                                                    overrides, config_defaults));
  DET_RETURN_IF_ERROR(CheckSize("configuration", model::ToValue(config).ToJson().size()));
  DET_RETURN_IF_ERROR(ApplyLimits(policy, config));
  DET_RETURN_IF_ERROR(checkpoint_storage::CheckCheckpointLocation(defaults.checkpoint_locations,
                                                                  config.checkpoint_storage));
  if (config.workspace != now.workspace || config.project != now.project) {
    return absl::InvalidArgumentError(
        "project: an experiment goes on where it lies; move it before or after that");
  }
  if (config.searcher.source_trial_id != now.searcher.source_trial_id ||
      config.searcher.source_checkpoint_uuid != now.searcher.source_checkpoint_uuid) {
    return absl::InvalidArgumentError(
        "searcher.source_*: an experiment goes on from its own checkpoints; fork it instead");
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
