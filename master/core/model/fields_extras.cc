#include "master/core/model/field_rows.h"
#include "master/core/model/fields.h"

namespace det::model {
namespace {

using Owner = ExperimentConfig;
using Role = Field::Role;

constexpr char kOnlyRead[] = "Trial classes here do not read it; a script may";

#define DET_PACHYDERM(name, place, words)                                  \
  {                                                                        \
    .path = "integrations.pachyderm." name, .description = words,          \
    .target = DET_AT(integrations.pachyderm.place), .default_json = "null" \
  }

constexpr Field kExtraFields[] = {
    {.path = "profiling",
     .description = "Records what the machine does while a trial trains.",
     .role = Role::kSection},
    {.path = "profiling.enabled",
     .description = "Whether a Trial class reports how busy the node of its first rank is.",
     .target = DET_AT(profiling.enabled),
     .default_json = "false",
     .warning = "Trial classes alone report it; a script calls the profiler of its own"},
    {.path = "profiling.begin_on_batch",
     .description = "First batch that is recorded.",
     .target = DET_AT(profiling.begin_on_batch),
     .default_json = "0",
     .min = 0,
     .warning = "all of a trial is reported"},
    {.path = "profiling.end_after_batch",
     .description = "Last batch that is recorded; null is the trial's last.",
     .target = DET_AT(profiling.end_after_batch),
     .default_json = "null",
     .min = 0,
     .warning = "all of a trial is reported"},
    {.path = "profiling.sync_timings",
     .description = "Whether the GPU is waited for before a time is taken.",
     .target = DET_AT(profiling.sync_timings),
     .default_json = "true",
     .warning = "no times of batches are taken"},

    {.path = "log_policies",
     .description = "What is done about lines of a trial's log. Two are built in; an entry of the "
                    "same name replaces one, and without a pattern switches it off.",
     .role = Role::kList,
     .target = DET_LIST(log_policies),
     .default_json = R"([{"action":null,"name":"CUDA OOM","pattern":".*CUDA out of memory.*"},)"
                     R"({"action":null,"name":"ECC Error","pattern":)"
                     R"(".*uncorrectable ECC error encountered.*"}])",
     .merge = Field::Merge::kByKey,
     .key = "name",
     .shape = Field::Shape::kLogPolicies},
    {.path = "log_policies[].name",
     .description = "Shown as a label where the pattern matched.",
     .target = DET_ITEM(log_policies, name),
     .required = true},
    {.path = "log_policies[].pattern",
     .description = "A regular expression (RE2), looked for anywhere in a line; null switches the "
                    "policy off.",
     .target = DET_ITEM(log_policies, pattern),
     .default_json = "null"},
    {.path = "log_policies[].action",
     .description = "cancel_retries: do not start the trial again; exclude_node: not on this "
                    "agent again. Null is the label alone; {type: ...} is the same as the word.",
     .target = DET_ITEM(log_policies, action),
     .default_json = "null",
     .choices = "cancel_retries|exclude_node"},

    Section("retention_policy", "How long things are kept."),
    {.path = "retention_policy.log_retention_days",
     .description = "Days after a trial's end for which its logs are kept; -1 is for ever, null is "
                    "as the cluster says.",
     .target = DET_AT(log_retention_days),
     .default_json = "null",
     .min = -1,
     .max = 32767},

    {.path = "optimizations",
     .description = "How slots agree and gradients are gathered. PyTorchTrial reads what has no "
                    "warning; so do Trials in C++, but for the strategy fsdp.",
     .role = Role::kSection},
    {.path = "optimizations.aggregation_frequency",
     .description = "Batches whose gradients are added before a step.",
     .target = DET_AT(optimizations.aggregation_frequency),
     .default_json = "1",
     .min = 1},
    {.path = "optimizations.average_aggregated_gradients",
     .description = "Whether their sum is divided by their number.",
     .target = DET_AT(optimizations.average_aggregated_gradients),
     .default_json = "true"},
    {.path = "optimizations.average_training_metrics",
     .description = "Whether training metrics are averaged over all slots.",
     .target = DET_AT(optimizations.average_training_metrics),
     .default_json = "true",
     .warning = kOnlyRead},
    {.path = "optimizations.strategy",
     .description =
         "How the slots of a trial stay one model. allreduce: gradients are averaged before each "
         "step, on all slots. parameter_server: they go to one slot, which alone has the "
         "optimizers' state, steps, and gives the weights back; the mathematics are the same. "
         "local_sgd: each slot steps by itself, and weights are averaged every local_sgd_steps. "
         "async: so, but the average is taken beside training, and taken in a period later. "
         "fsdp: each slot keeps a part of the weights, too (torch's FSDP). pipeline: a net that is "
         "a Sequential is cut into stages, one on each slot. in_process: one process "
         "computes on all slots of a node, with a replica of the net on each.",
     .target = DET_AT(optimizations.strategy),
     .default_json = "\"allreduce\"",
     .choices = "allreduce|local_sgd|async|parameter_server|fsdp|pipeline|in_process"},
    {.path = "optimizations.local_sgd_steps",
     .description = "Steps of the optimizers between two averages, of local_sgd and async.",
     .target = DET_AT(optimizations.local_sgd_steps),
     .default_json = "8",
     .min = 1},
    {.path = "optimizations.shard_optimizer",
     .description = "Whether each slot keeps a part of the optimizers' state alone, which then "
                    "takes less memory; with allreduce.",
     .target = DET_AT(optimizations.shard_optimizer),
     .default_json = "false"},
    {.path = "optimizations.hierarchical_allreduce",
     .description = "Whether gradients are summed among the slots of each node first, so that one "
                    "slot of each speaks with other nodes; with allreduce.",
     .target = DET_AT(optimizations.hierarchical_allreduce),
     .default_json = "false"},
    {.path = "optimizations.pipeline_micro_batches",
     .description = "Parts of a batch that are under way at once, of pipeline.",
     .target = DET_AT(optimizations.pipeline_micro_batches),
     .default_json = "4",
     .min = 1},
    {.path = "optimizations.gradient_compression",
     .description = "As what gradients travel between slots; true is float16, false none. int8 "
                    "keeps what rounding takes for the next step.",
     .target = DET_AT(optimizations.gradient_compression),
     .default_json = "\"none\"",
     .choices = "none|float16|bfloat16|int8",
     .shape = Field::Shape::kCompression},
    {.path = "optimizations.grad_updates_size_file",
     .description = "File with the sizes of gradients.",
     .target = DET_AT(optimizations.grad_updates_size_file),
     .default_json = "null",
     .warning = kOnlyRead},
    {.path = "optimizations.mixed_precision",
     .description = "What the forward pass computes in: O0 float32; O1 (also O2 and O3) float16 "
                    "on GPUs and bfloat16 on CPU slots; or the type by its name. float16 comes "
                    "with loss scaling.",
     .target = DET_AT(optimizations.mixed_precision),
     .default_json = "\"O0\"",
     .choices = "O0|O1|O2|O3|float16|bfloat16"},
    {.path = "optimizations.tensor_fusion_threshold",
     .description = "Megabytes of gradients that travel together; 64 leaves it to torch, 0 is 1.",
     .target = DET_AT(optimizations.tensor_fusion_threshold),
     .default_json = "64",
     .min = 0},
    {.path = "optimizations.tensor_fusion_cycle_time",
     .description = "Milliseconds that gradients wait for each other.",
     .target = DET_AT(optimizations.tensor_fusion_cycle_time),
     .default_json = "1",
     .min = 0,
     .warning = kOnlyRead},
    {.path = "optimizations.auto_tune_tensor_fusion",
     .description = "Whether tensor_fusion_threshold is found by trying, in the first batches; "
                    "with allreduce.",
     .target = DET_AT(optimizations.auto_tune_tensor_fusion),
     .default_json = "false"},

    {.path = "integrations",
     .description = "Other programs that the experiment has to do with.",
     .role = Role::kSection,
     .default_json = "null"},
    {.path = "integrations.pachyderm",
     .description = "Data from Pachyderm; handed to the trial.",
     .role = Role::kSection,
     .default_json = "null",
     .warning = "the trial is handed it and nothing else is done"},
    Section("integrations.pachyderm.pachd", "Its server."),
    DET_PACHYDERM("pachd.host", pachd_host, "Host of the server."),
    {.path = "integrations.pachyderm.pachd.port",
     .description = "Port of the server.",
     .target = DET_AT(integrations.pachyderm.pachd_port),
     .default_json = "null",
     .min = 1,
     .max = 65535},
    Section("integrations.pachyderm.proxy", "What stands before it."),
    DET_PACHYDERM("proxy.scheme", proxy_scheme, "http or https."),
    DET_PACHYDERM("proxy.host", proxy_host, "Host of the proxy."),
    {.path = "integrations.pachyderm.proxy.port",
     .description = "Port of the proxy.",
     .target = DET_AT(integrations.pachyderm.proxy_port),
     .default_json = "null",
     .min = 1,
     .max = 65535},
    Section("integrations.pachyderm.dataset", "Which data."),
    DET_PACHYDERM("dataset.project", project, "Project of the data."),
    DET_PACHYDERM("dataset.repo", repo, "Repository of the data."),
    DET_PACHYDERM("dataset.commit", commit, "Commit of the data."),
    DET_PACHYDERM("dataset.branch", branch, "Branch of the data."),
    {.path = "integrations.pachyderm.dataset.token",
     .description = "Who asks for the data.",
     .target = DET_AT(integrations.pachyderm.token),
     .default_json = "null",
     .secret = true},
    {.path = "integrations.webhooks",
     .description = "Which webhooks hear of this experiment.",
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
     .description = "Whether no webhook at all hears of it.",
     .target = DET_AT(integrations.webhooks.exclude),
     .default_json = "false"},
};

#undef DET_PACHYDERM

}  // namespace

std::span<const Field> ExtraFields() { return kExtraFields; }

}  // namespace det::model
