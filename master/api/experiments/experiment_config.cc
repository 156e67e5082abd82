#include "master/api/experiments/experiment_config.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "master/parse/parse.h"

namespace det::api {

absl::Status CheckSize(const std::string& what, size_t bytes) {
  if (bytes <= kConfigBytes) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(what, ": ", bytes, " bytes; at most ", kConfigBytes,
                   " are allowed: put data into files of the context directory"));
}

void AddStorage(const std::string& name, const std::string& storage,
                std::vector<model::ConfigLayer>& layers) {
  if (storage.empty()) return;
  layers.push_back({name, absl::StrCat("{\"checkpoint_storage\": ", storage, "}")});
}

namespace {

void AddTaskDefaults(const model::TaskDefaults& defaults, const std::string& pool,
                     std::vector<model::ConfigLayer>& layers) {
  if (!defaults.cluster.empty()) layers.push_back({"task_container_defaults", defaults.cluster});
  const auto own = defaults.pools.find(pool);
  if (own == defaults.pools.end()) return;
  layers.push_back({absl::StrCat("task_container_defaults of pool ", pool), own->second});
}

}  // namespace

absl::StatusOr<ReadyConfig> ReadConfig(const Edge& edge, const GivenConfig& given) {
  size_t bytes = given.yaml.size();
  for (const std::string& each : given.overrides) bytes += each.size();
  DET_RETURN_IF_ERROR(CheckSize(given.path.empty() ? "configuration" : given.path, bytes));
  model::ConfigDefaults defaults;
  defaults.checkpoint_host_path = edge.checkpoint_places.own;
  defaults.experiment_seed = given.seed;
  defaults.name = given.name;
  AddStorage("the master's checkpoint_storage", edge.checkpoint_storage, defaults.below);
  AddStorage("workspace", given.checkpoint_storage, defaults.below);
  AddTaskDefaults(edge.task_defaults, given.resource_pool, defaults.below);
  std::vector<model::ConfigLayer> own;  // what is kept of the submission; the rest is looked up
  if (!given.template_name.empty()) {
    DET_ASSIGN_OR_RETURN(const store::TemplateRecord record,
                         edge.store->templates().GetTemplate(given.template_name));
    own.push_back({absl::StrCat("template ", record.name), record.yaml});
    defaults.below.push_back(own.back());
  }
  defaults.above = given.policies;
  ReadyConfig ready;
  DET_ASSIGN_OR_RETURN(
      ready.config, model::ParseExperimentConfig(given.yaml, given.path, given.overrides, defaults,
                                                 &ready.warnings));
  DET_RETURN_IF_ERROR(
      CheckSize("the complete configuration", model::ToValue(ready.config).ToJson().size()));
  DET_ASSIGN_OR_RETURN(ready.text, model::TextToKeep(given.yaml, own, given.overrides));
  return ready;
}

}  // namespace det::api
