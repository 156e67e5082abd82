#include "master/app/master_info.h"

#include <optional>

#include "base/file.h"
#include "base/installation.h"
#include "base/status_macros.h"
#include "base/uuid.h"
#include "master/app/config_fields.h"
#include "master/core/model/fields.h"
#include "master/core/model/role.h"

namespace det::app {
namespace {

// 0 seconds: none.
std::optional<absl::Duration> ToTimeout(int seconds) {
  return seconds == 0 ? std::nullopt : std::optional(absl::Seconds(seconds));
}

api::LaunchSettings MakeLaunchSettings(const Config& config, const std::string& cluster_id) {
  api::LaunchSettings settings;
  settings.cluster_id = cluster_id;
  settings.defaults = config.task_defaults;
  for (const auto& [pool, defaults] : config.displayed_task_defaults) {
    const model::Value* hook = defaults.Find("startup_hook");
    if (hook != nullptr && hook->AsString() != nullptr) {
      settings.startup_hooks[pool] = *hook->AsString();
    }
  }
  settings.notebook_timeout = ToTimeout(config.notebook_timeout);
  settings.tensorboard_timeout = ToTimeout(config.tensorboard_timeout);
  settings.tasks_per_user = config.tasks_per_user;
  return settings;
}

}  // namespace

absl::Status FillMasterInfo(const Config& config, store::Store& store, const std::string& data_dir,
                            absl::Time now, api::ServiceParts* parts) {
  api::MasterInfo& info = parts->info;
  DET_ASSIGN_OR_RETURN(info.cluster_id, store.GetOrSetProperty("cluster_id", base::NewUuid()));
  info.version = base::kVersion;
  info.master_id = base::NewUuid();
  info.cluster_name = config.cluster_name;
  info.database = config.db_url.empty() ? "embedded" : "external";
  info.rbac_enabled = config.authz.type == "rbac" || config.authz.rbac_ui_enabled;
  info.strict_job_queue = config.authz.strict_job_queue;
  parts->workspace_creator_role = std::nullopt;
  if (config.authz.assign_role_to_creator) {
    parts->workspace_creator_role = model::RoleId(config.authz.creator_role);
  }
  info.started_at = now;
  info.feature_switches = config.feature_switches;
  info.config = ToDisplayedConfig(config);
  info.log_days = config.log_days;
  parts->defaults.task_defaults = config.task_defaults;
  parts->launch = MakeLaunchSettings(config, info.cluster_id);
  checkpoint_storage::CheckpointLocations& locations = parts->defaults.checkpoint_locations;
  model::ExperimentConfig defaults;
  defaults.checkpoint_storage = config.checkpoint_storage;
  std::string own = defaults.checkpoint_storage.host_path;
  if (own.empty()) own = data_dir + "/checkpoints";
  if (defaults.checkpoint_storage.type == "shared_fs") defaults.checkpoint_storage.host_path = own;
  parts->defaults.checkpoint_storage =
      model::FieldValue(*model::FindField("checkpoint_storage"), defaults).ToJson();
  locations.own = own;
  locations.data_dir = data_dir;
  locations.roots = config.checkpoint_roots;
  locations.buckets = {.own = defaults.checkpoint_storage, .roots = config.checkpoint_roots};
  // Tasks access this folder, possibly as another user.
  return base::MakeDirs(locations.own);
}

}  // namespace det::app
