#include "master/model/parse/fields.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

namespace det::model {
namespace {

using Role = Field::Role;

constexpr int64_t kMaxInt = std::numeric_limits<int>::max();
constexpr int64_t kMaxInt64 = std::numeric_limits<int64_t>::max();
constexpr int64_t kMaxUint32 = std::numeric_limits<uint32_t>::max();

// The member of the configuration that a row fills.
#define DET_AT(member) [](ExperimentConfig& c) -> FieldTarget { return FieldTarget(&c.member); }

constexpr Field Section(const char* path, const char* description, bool required = false) {
  return {.path = path, .description = description, .role = Role::kSection, .required = required};
}
constexpr Field Ignored(const char* path) {
  return {.path = path, .description = "without effect", .role = Role::kIgnored};
}
constexpr Field Unsupported(const char* path) {
  return {.path = path, .description = "not supported yet", .role = Role::kUnsupported};
}

// In the order in which documentation shows them.
constexpr Field kFields[] = {
    {.path = "name", .description = "Shown in lists.", .target = DET_AT(name)},
    {.path = "description",
     .description = "A sentence for people.",
     .target = DET_AT(description),
     .default_json = "\"\""},
    {.path = "labels",
     .description = "Words to find the experiment by.",
     .target = DET_AT(labels),
     .default_json = "[]"},
    {.path = "data",
     .description = "Free-form; handed to the trial as it stands.",
     .target = DET_AT(data),
     .default_json = "{}"},
    {.path = "workspace",
     .description = "Workspace of the project; needs project.",
     .target = DET_AT(workspace),
     .default_json = "\"\""},
    {.path = "project",
     .description = "Project that the experiment belongs to; needs workspace.",
     .target = DET_AT(project),
     .default_json = "\"\""},
    {.path = "entrypoint",
     .description = "file.cc:Class of a C++ Trial, a command for sh -c, or a list as argv.",
     .target = DET_AT(entrypoint),
     .required = true},
    {.path = "hyperparameters",
     .description = "What trials are called with, and what the searcher may choose from.",
     .target = DET_AT(hyperparameters),
     .default_json = "{}"},

    Section("searcher", "Which trials are made.", true),
    {.path = "searcher.name",
     .description = "single: one trial; random: independent samples of the hyperparameters.",
     .target = DET_AT(searcher.name),
     .required = true,
     .choices = "single|random",
     .later = "grid|adaptive_asha|async_halving|sync_halving|adaptive|adaptive_simple|custom"},
    {.path = "searcher.metric",
     .description = "Validation metric that trials are judged by.",
     .target = DET_AT(searcher.metric),
     .required = true},
    {.path = "searcher.smaller_is_better",
     .description = "Whether less of the metric is better.",
     .target = DET_AT(searcher.smaller_is_better),
     .default_json = "true"},
    {.path = "searcher.max_length",
     .description = "How long a trial trains, unless its code says otherwise.",
     .target = DET_AT(searcher.max_length),
     .default_json = "null",
     .min = 1},
    {.path = "searcher.max_trials",
     .description = "Number of trials.",
     .target = DET_AT(searcher.max_trials),
     .required = true,
     .min = 1,
     .max = 1'000'000,
     .searcher = "random"},
    {.path = "searcher.max_concurrent_trials",
     .description = "Trials at once; 0 is no limit.",
     .target = DET_AT(searcher.max_concurrent_trials),
     .default_json = "16",
     .min = 0,
     .max = 1'000'000,
     .searcher = "random"},
    {.path = "searcher.sampler",
     .description = "How the hyperparameters of the next trial are chosen.",
     .target = DET_AT(searcher.sampler),
     .default_json = "\"random\"",
     .choices = "random",
     .searcher = "random"},
    Unsupported("searcher.source_trial_id"),
    Unsupported("searcher.source_checkpoint_uuid"),

    Section("resources", "What each trial is given."),
    {.path = "resources.slots_per_trial",
     .description = "Slots (GPUs, or CPU slots) of each trial; 0 needs none.",
     .target = DET_AT(resources.slots_per_trial),
     .default_json = "1",
     .min = 0,
     .max = kMaxInt},
    {.path = "resources.max_slots",
     .description = "Slots of all trials of the experiment together.",
     .target = DET_AT(resources.max_slots),
     .default_json = "null",
     .min = 0,
     .max = kMaxInt},
    {.path = "resources.weight",
     .description = "Share of the experiment under fair-share scheduling.",
     .target = DET_AT(resources.weight),
     .default_json = "1.0",
     .min = 0},
    {.path = "resources.priority",
     .description = "Smaller goes first.",
     .target = DET_AT(resources.priority),
     .default_json = "null",
     .min = 1,
     .max = 99},
    {.path = "resources.resource_pool",
     .description = "Agents to run on; empty is the default pool.",
     .target = DET_AT(resources.resource_pool),
     .default_json = "\"\""},
    {.path = "resources.is_single_node",
     .description = "Whether all slots of a trial must be on one agent.",
     .target = DET_AT(resources.is_single_node),
     .default_json = "false"},
    Ignored("resources.agent_label"),
    Unsupported("resources.shm_size"),
    Unsupported("resources.devices"),
    Unsupported("resources.native_parallel"),
    Unsupported("resources.slots"),

    {.path = "max_restarts",
     .description = "How often a trial that fails is started again, from its last checkpoint.",
     .target = DET_AT(max_restarts),
     .default_json = "5",
     .min = 0,
     .max = kMaxInt},
    {.path = "min_validation_period",
     .description = "Length of training after which a validation is due; 0 is at the end alone.",
     .target = DET_AT(min_validation_period),
     .default_json = "{\"batches\":0}",
     .min = 0},
    {.path = "min_checkpoint_period",
     .description = "Length of training after which a checkpoint is due; 0 is at the end alone.",
     .target = DET_AT(min_checkpoint_period),
     .default_json = "{\"batches\":0}",
     .min = 0},
    {.path = "checkpoint_policy",
     .description = "Which validations are followed by a checkpoint.",
     .target = DET_AT(checkpoint_policy),
     .default_json = "\"best\"",
     .choices = "best|all|none"},
    {.path = "perform_initial_validation",
     .description = "Whether a trial validates before it trains.",
     .target = DET_AT(perform_initial_validation),
     .default_json = "false"},
    {.path = "records_per_epoch",
     .description = "Records in an epoch, where lengths are given in records.",
     .target = DET_AT(records_per_epoch),
     .default_json = "0",
     .min = 0,
     .max = kMaxInt64},
    {.path = "scheduling_unit",
     .description = "Batches between two reports of training metrics.",
     .target = DET_AT(scheduling_unit),
     .default_json = "100",
     .min = 1,
     .max = kMaxInt64},

    Section("checkpoint_storage", "Where checkpoints lie and how many are kept."),
    {.path = "checkpoint_storage.type",
     .description = "A directory that every agent and the master see under one path.",
     .target = DET_AT(checkpoint_storage.type),
     .default_json = "\"shared_fs\"",
     .choices = "shared_fs",
     .later = "directory|s3|gcs|azure"},
    {.path = "checkpoint_storage.host_path",
     .description = "Absolute path of the directory; by default the cluster's.",
     .target = DET_AT(checkpoint_storage.host_path)},
    {.path = "checkpoint_storage.storage_path",
     .description = "Directory below host_path.",
     .target = DET_AT(checkpoint_storage.storage_path),
     .default_json = "null"},
    {.path = "checkpoint_storage.save_experiment_best",
     .description = "Best checkpoints of the experiment that are kept.",
     .target = DET_AT(checkpoint_storage.save_experiment_best),
     .default_json = "0",
     .min = 0,
     .max = kMaxInt},
    {.path = "checkpoint_storage.save_trial_best",
     .description = "Best checkpoints of each trial that are kept.",
     .target = DET_AT(checkpoint_storage.save_trial_best),
     .default_json = "1",
     .min = 0,
     .max = kMaxInt},
    {.path = "checkpoint_storage.save_trial_latest",
     .description = "Latest checkpoints of each trial that are kept.",
     .target = DET_AT(checkpoint_storage.save_trial_latest),
     .default_json = "1",
     .min = 0,
     .max = kMaxInt},
    Unsupported("checkpoint_storage.propagation"),
    Unsupported("checkpoint_storage.container_path"),
    Unsupported("checkpoint_storage.checkpoint_path"),
    Unsupported("checkpoint_storage.tensorboard_path"),
    Unsupported("checkpoint_storage.bucket"),
    Unsupported("checkpoint_storage.access_key"),
    Unsupported("checkpoint_storage.secret_key"),
    Unsupported("checkpoint_storage.endpoint_url"),
    Unsupported("checkpoint_storage.prefix"),
    Unsupported("checkpoint_storage.container"),
    Unsupported("checkpoint_storage.connection_string"),
    Unsupported("checkpoint_storage.account_url"),
    Unsupported("checkpoint_storage.credential"),

    Section("environment", "What the trial's processes find around them."),
    {.path = "environment.environment_variables",
     .description = "A list of NAME=value.",
     .target = [](ExperimentConfig& c) -> FieldTarget {
       return EnvironmentTarget{&c.environment_variables};
     },
     .default_json = "[]"},
    Unsupported("environment.image"),
    Unsupported("environment.proxy_ports"),
    Unsupported("environment.ports"),
    Unsupported("environment.force_pull_image"),
    Unsupported("environment.registry_auth"),
    Unsupported("environment.add_capabilities"),
    Unsupported("environment.drop_capabilities"),
    Unsupported("environment.pod_spec"),

    Section("reproducibility", "What makes a second run like the first."),
    {.path = "reproducibility.experiment_seed",
     .description = "Seed of the searcher and of every trial; by default the time of submission.",
     .target = DET_AT(experiment_seed),
     .min = 0,
     .max = kMaxUint32},
    {.path = "preemption_timeout",
     .description = "Seconds that a trial has to save and end when it is asked to.",
     .target = DET_AT(preemption_timeout_seconds),
     .default_json = "3600",
     .min = 1,
     .max = kMaxInt},
    {.path = "debug",
     .description = "Whether the trial's log tells more.",
     .target = DET_AT(debug),
     .default_json = "false"},

    Ignored("version"),
    Ignored("data_layer"),
    Ignored("internal"),
    Ignored("security"),
    Ignored("tensorboard_storage"),
    Unsupported("bind_mounts"),
    Unsupported("optimizations"),
    Unsupported("profiling"),
    Unsupported("log_policies"),
    Unsupported("retention_policy"),
    Unsupported("slurm"),
    Unsupported("pbs"),
    Unsupported("integrations"),
};

#undef DET_AT

template <class... Fs>
struct Overloaded : Fs... {
  using Fs::operator()...;
};
template <class... Fs>
Overloaded(Fs...) -> Overloaded<Fs...>;

// " >= 0", " from 1 to 99".
std::string Range(const Field& field) {
  if (!field.min) return "";
  const bool open = !field.max || *field.max == kMaxInt || *field.max == kMaxInt64;
  return open ? absl::StrCat(" >= ", *field.min)
              : absl::StrCat(" from ", *field.min, " to ", *field.max);
}

}  // namespace

std::span<const Field> Fields() { return kFields; }

const Field* FindField(std::string_view path) {
  for (const Field& field : kFields) {
    if (path == field.path) return &field;
  }
  return nullptr;
}

std::string Expected(const Field& field) {
  if (field.role != Role::kValue) return "a map";
  if (field.choices != nullptr) {
    return absl::StrCat(std::string(field.choices).find('|') == std::string::npos ? "" : "one of ",
                        absl::StrReplaceAll(field.choices, {{"|", ", "}}));
  }
  ExperimentConfig scratch;
  const std::string integer = absl::StrCat("an integer", Range(field));
  const std::string length = std::string("a length such as {batches: 100}");
  return std::visit(
      Overloaded{
          [](std::monostate) -> std::string { return "a map"; },
          [](bool*) -> std::string { return "true or false"; },
          [&](int*) { return integer; },
          [&](int64_t*) { return integer; },
          [&](uint32_t*) { return integer; },
          [&](std::optional<int>*) { return integer; },
          [&](double*) { return absl::StrCat("a number", Range(field)); },
          [](std::string*) -> std::string { return "a string"; },
          [](std::vector<std::string>*) -> std::string { return "a list of strings"; },
          [&](Length*) { return length; },
          [&](std::optional<Length>*) { return length; },
          [](CheckpointPolicy*) -> std::string { return "a string"; },
          [](Value*) -> std::string { return "a map"; },
          [](Entrypoint*) -> std::string { return "a string or a list of strings"; },
          [](SearchSpace*) -> std::string { return "a map"; },
          [](EnvironmentTarget) -> std::string { return "a list of NAME=value"; },
      },
      field.target(scratch));
}

}  // namespace det::model
