#include <span>

#include "master/core/model/field_rows.h"
#include "master/core/model/fields.h"

namespace det::model {
namespace {

using Owner = ExperimentConfig;
using Role = Field::Role;

constexpr char kOnlyRead[] = "Trial classes ignore it; a script may read it";

#define DET_PACHYDERM(name, place, words)                                  \
  {                                                                        \
    .path = "integrations.pachyderm." name, .description = words,          \
    .target = DET_AT(integrations.pachyderm.place), .default_json = "null" \
  }

constexpr Field kExtraFields[] = {
    {.path = "profiling",
     .description = "Profiling of the machine while a trial trains.",
     .role = Role::kSection},
    {.path = "profiling.enabled",
     .description = "Whether a Trial class reports the utilization of the node of its first rank.",
     .target = DET_AT(profiling.enabled),
     .default_json = "false",
     .warning = "only Trial classes report it; a script must start the profiler itself"},
    {.path = "profiling.begin_on_batch",
     .description = "First batch to profile.",
     .target = DET_AT(profiling.begin_on_batch),
     .default_json = "0",
     .min = 0,
     .warning = "the whole trial is profiled"},
    {.path = "profiling.end_after_batch",
     .description = "Last batch to profile; null is the last batch of the trial.",
     .target = DET_AT(profiling.end_after_batch),
     .default_json = "null",
     .min = 0,
     .warning = "the whole trial is profiled"},
    {.path = "profiling.sync_timings",
     .description = "Whether to synchronize with the GPU before each timing.",
     .target = DET_AT(profiling.sync_timings),
     .default_json = "true",
     .warning = "batches are not timed"},

    {.path = "log_policies",
     .description = "Actions on lines of a trial's log. Two policies are built in; an entry of the "
                    "same name replaces one, and without a pattern disables it.",
     .role = Role::kList,
     .target = DET_LIST(log_policies),
     .default_json = R"([{"action":null,"name":"CUDA OOM","pattern":".*CUDA out of memory.*"},)"
                     R"({"action":null,"name":"ECC Error","pattern":)"
                     R"(".*uncorrectable ECC error encountered.*"}])",
     .merge = Field::Merge::kByKey,
     .key = "name",
     .shape = Field::Shape::kLogPolicies},
    {.path = "log_policies[].name",
     .description = "Label of a run in whose log the pattern matched.",
     .target = DET_ITEM(log_policies, name),
     .required = true},
    {.path = "log_policies[].pattern",
     .description = "A regular expression (RE2) that matches anywhere in a line; null disables the "
                    "policy.",
     .target = DET_ITEM(log_policies, pattern),
     .default_json = "null"},
    {.path = "log_policies[].action",
     .description = "cancel_retries: do not restart the trial; exclude_node: do not run it on this "
                    "agent again; null: only the label. {type: ...} is accepted as well.",
     .target = DET_ITEM(log_policies, action),
     .default_json = "null",
     .choices = "cancel_retries|exclude_node"},

    Section("retention_policy", "Retention of logs."),
    {.path = "retention_policy.log_retention_days",
     .description = "Days to keep the logs of a trial after its end; -1 is forever, null is the "
                    "cluster's default.",
     .target = DET_AT(log_retention_days),
     .default_json = "null",
     .min = -1,
     .max = 32767},

    {.path = "optimizations",
     .description =
         "Distributed training. PyTorchTrial uses the fields without a warning; so do C++ "
         "Trials, except for the strategy fsdp.",
     .role = Role::kSection},
    {.path = "optimizations.aggregation_frequency",
     .description = "Number of batches whose gradients are accumulated before a step.",
     .target = DET_AT(optimizations.aggregation_frequency),
     .default_json = "1",
     .min = 1},
    {.path = "optimizations.average_aggregated_gradients",
     .description = "Whether accumulated gradients are averaged instead of summed.",
     .target = DET_AT(optimizations.average_aggregated_gradients),
     .default_json = "true"},
    {.path = "optimizations.average_training_metrics",
     .description = "Whether training metrics are averaged over all slots.",
     .target = DET_AT(optimizations.average_training_metrics),
     .default_json = "true",
     .warning = kOnlyRead},
    {.path = "optimizations.strategy",
     .description =
         "Strategy of distributed training. allreduce: gradients are averaged over all slots "
         "before "
         "each step. parameter_server: gradients are sent to one slot, which has the optimizer "
         "state, steps, and returns the weights; mathematically the same. "
         "local_sgd: each slot steps by itself, and weights are averaged every local_sgd_steps. "
         "async: like local_sgd, but the average is computed during training and applied one "
         "period "
         "later. fsdp: weights are sharded over the slots as well (PyTorch FSDP). pipeline: a "
         "Sequential model is split into stages, one on each slot. in_process: one process "
         "computes on all slots of a node, with a replica of the model on each.",
     .target = DET_AT(optimizations.strategy),
     .default_json = "\"allreduce\"",
     .choices = "allreduce|local_sgd|async|parameter_server|fsdp|pipeline|in_process"},
    {.path = "optimizations.local_sgd_steps",
     .description = "Optimizer steps between two averages, for local_sgd and async.",
     .target = DET_AT(optimizations.local_sgd_steps),
     .default_json = "8",
     .min = 1},
    {.path = "optimizations.shard_optimizer",
     .description =
         "Whether the optimizer state is sharded over the slots to save memory (ZeRO-1); "
         "with allreduce.",
     .target = DET_AT(optimizations.shard_optimizer),
     .default_json = "false"},
    {.path = "optimizations.hierarchical_allreduce",
     .description =
         "Whether gradients are reduced within each node first, so that only one slot of "
         "each node communicates with other nodes; with allreduce.",
     .target = DET_AT(optimizations.hierarchical_allreduce),
     .default_json = "false"},
    {.path = "optimizations.pipeline_micro_batches",
     .description = "Number of micro-batches that a batch is split into, for pipeline.",
     .target = DET_AT(optimizations.pipeline_micro_batches),
     .default_json = "4",
     .min = 1},
    {.path = "optimizations.gradient_compression",
     .description =
         "Data type of gradients in transit; true means float16, false means none. int8 carries "
         "the rounding error over to the next step.",
     .target = DET_AT(optimizations.gradient_compression),
     .default_json = "\"none\"",
     .shown_default = "false",
     .choices = "none|float16|bfloat16|int8",
     .shape = Field::Shape::kCompression},
    {.path = "optimizations.grad_updates_size_file",
     .description = "File with the sizes of gradients.",
     .target = DET_AT(optimizations.grad_updates_size_file),
     .default_json = "null",
     .warning = kOnlyRead},
    {.path = "optimizations.mixed_precision",
     .description =
         "Data type of the forward pass: O0 is float32; O1, O2 and O3 are float16 on GPUs "
         "and bfloat16 on CPU slots; or the name of the type. float16 enables loss "
         "scaling.",
     .target = DET_AT(optimizations.mixed_precision),
     .default_json = "\"O0\"",
     .choices = "O0|O1|O2|O3|float16|bfloat16"},
    {.path = "optimizations.tensor_fusion_threshold",
     .description = "Bucket size of gradients in megabytes; 64 uses PyTorch's default, 0 is 1.",
     .target = DET_AT(optimizations.tensor_fusion_threshold),
     .default_json = "64",
     .min = 0},
    {.path = "optimizations.tensor_fusion_cycle_time",
     .description = "Milliseconds between two fusion cycles.",
     .target = DET_AT(optimizations.tensor_fusion_cycle_time),
     .default_json = "1",
     .min = 0,
     .warning = kOnlyRead},
    {.path = "optimizations.auto_tune_tensor_fusion",
     .description =
         "Whether tensor_fusion_threshold is tuned in the first batches; with allreduce.",
     .target = DET_AT(optimizations.auto_tune_tensor_fusion),
     .default_json = "false"},

    {.path = "integrations",
     .description = "Integrations with other systems.",
     .role = Role::kSection,
     .default_json = "null"},
    {.path = "integrations.pachyderm",
     .description = "Data from Pachyderm; passed to the trial.",
     .role = Role::kSection,
     .default_json = "null",
     .warning = "it is only passed to the trial"},
    Section("integrations.pachyderm.pachd", "Pachyderm server."),
    DET_PACHYDERM("pachd.host", pachd_host, "Host of the server."),
    {.path = "integrations.pachyderm.pachd.port",
     .description = "Port of the server.",
     .target = DET_AT(integrations.pachyderm.pachd_port),
     .default_json = "null",
     .min = 1,
     .max = 65535},
    Section("integrations.pachyderm.proxy", "Proxy of the server."),
    DET_PACHYDERM("proxy.scheme", proxy_scheme, "http or https."),
    DET_PACHYDERM("proxy.host", proxy_host, "Host of the proxy."),
    {.path = "integrations.pachyderm.proxy.port",
     .description = "Port of the proxy.",
     .target = DET_AT(integrations.pachyderm.proxy_port),
     .default_json = "null",
     .min = 1,
     .max = 65535},
    Section("integrations.pachyderm.dataset", "Dataset."),
    DET_PACHYDERM("dataset.project", project, "Project of the data."),
    DET_PACHYDERM("dataset.repo", repo, "Repository of the data."),
    DET_PACHYDERM("dataset.commit", commit, "Commit of the data."),
    DET_PACHYDERM("dataset.branch", branch, "Branch of the data."),
    {.path = "integrations.pachyderm.dataset.token",
     .description = "Access token for the dataset.",
     .target = DET_AT(integrations.pachyderm.token),
     .default_json = "null",
     .secret = true},
    {.path = "integrations.webhooks",
     .description = "Webhooks that are notified of this experiment.",
     .role = Role::kSection,
     .default_json = "null"},
    {.path = "integrations.webhooks.webhook_id",
     .description = "Ids of webhooks.",
     .target = DET_AT(integrations.webhooks.ids),
     .default_json = "[]",
     .min = 1},
    {.path = "integrations.webhooks.webhook_name",
     .description = "Names of webhooks.",
     .target = DET_AT(integrations.webhooks.names),
     .default_json = "[]"},
    {.path = "integrations.webhooks.exclude",
     .description = "Whether no webhook is notified.",
     .target = DET_AT(integrations.webhooks.exclude),
     .default_json = "false"},
};

#undef DET_PACHYDERM

}  // namespace

std::span<const Field> ExtraFields() { return kExtraFields; }

}  // namespace det::model
