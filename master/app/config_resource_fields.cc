// Fields of pools, quotas, topology and scheduling.
#include <vector>

#include "master/app/config_field_rows.h"
#include "master/app/config_fields.h"
#include "master/core/model/field_rows.h"

namespace det::app {
namespace {

using Owner = FileConfig;
using Role = model::Field::Role;
using model::MakeChoiceTarget;
using model::MakeDurationTarget;
using model::Field;
using model::FieldTarget;
using model::kMaxInt;
using model::MakeListTarget;
using model::Section;

// Fields of a scheduler at `prefix`; they are members of ResourcePool.
#define DET_SCHEDULER(prefix, pool)                                                              \
  Section(prefix, "Scheduler: order and placement of trials."),                                  \
      {.path = prefix ".type",                                                                   \
       .description =                                                                            \
           "Order of the queue: by priority, by fair share, or in the order of "                 \
           "submission.",                                                                        \
       .target = DET_TARGET(MakeChoiceTarget(pool.policy)),                                              \
       .default_json = "\"priority\"",                                                           \
       .choices = "priority|fair_share|fifo",                                                    \
       .removed = "round_robin: use fifo or fair_share"},                                           \
      {.path = prefix ".fitting_policy",                                                         \
       .description =                                                                            \
           "Placement of a trial that fits on several machines: best is the "                    \
           "fullest machine, worst the emptiest.",                                               \
       .target = DET_TARGET(MakeChoiceTarget(pool.fitting)),                                             \
       .default_json = "\"best\"",                                                               \
       .choices = "best|worst"},                                                                 \
      {.path = prefix ".preemption",                                                             \
       .description = "Whether trials of higher priority preempt those of lower priority.",      \
       .target = DET_TARGET(&pool.preemption),                                                   \
       .default_json = "false"},                                                                 \
      {.path = prefix ".default_priority",                                                       \
       .description = "Priority of experiments that do not set one; smaller numbers run first.", \
       .target = DET_TARGET(&pool.default_priority),                                             \
       .default_json = "42",                                                                     \
       .min = 1,                                                                                 \
       .max = 99},                                                                               \
      {.path = prefix ".allow_heterogeneous_fits",                                               \
       .description =                                                                            \
           "Whether a trial with several machines may use machines of "                          \
           "different sizes and share them; otherwise it runs on one machine, "                  \
           "or on idle machines of equal size.",                                                 \
       .target = DET_TARGET(&pool.heterogeneous),                                                \
       .default_json = "true"},                                                                  \
      {.path = prefix ".backfill",                                                               \
       .description =                                                                            \
           "Whether a trial may start before one of higher priority that does "                  \
           "not fit, if it does not delay it.",                                                  \
       .target = DET_TARGET(&pool.backfill),                                                     \
       .default_json = "true"},                                                                  \
      {.path = prefix ".hold_after",                                                             \
       .description =                                                                            \
           "How long trials of equal priority may overtake one that does not "                   \
           "fit; after that, slots are reserved for it.",                                        \
       .target = DET_TARGET(MakeDurationTarget(pool.hold_after)),                                        \
       .default_json = "3",                                                                      \
       .min = 0,                                                                                 \
       .max = kMaxInt},                                                                          \
  {                                                                                              \
    .path = prefix ".maintenance_lead",                                                          \
    .description =                                                                               \
        "Time before an announced maintenance of an agent during which no "                      \
        "trial without max_run_time starts on it.",                                              \
    .target = DET_TARGET(MakeDurationTarget(pool.maintenance_lead)), .default_json = "3600", .min = 0,   \
    .max = kMaxInt                                                                               \
  }

constexpr Field OtherManagers(const char* path) {
  return WithoutEffect(path, "it belongs to Kubernetes, Slurm or PBS; this master has agents");
}

constexpr Field kResourceFields[] = {
    Section("resource_manager", "Resource manager: scheduling of slots."),
    {.path = "resource_manager.type",
     .description = "Type of the resource manager: agents of this cluster.",
     .target = DET_AT(manager_type),
     .default_json = "\"agent\"",
     .choices = "agent"},
    {.path = "resource_manager.default_compute_resource_pool",
     .description = "Alias of default_compute_resource_pool.",
     .target = DET_AT(config.default_compute_pool),
     .default_json = "\"default\""},
    {.path = "resource_manager.default_aux_resource_pool",
     .description = "Alias of default_aux_resource_pool.",
     .target = DET_AT(config.default_aux_pool),
     .default_json = "\"default\""},
    DET_SCHEDULER("resource_manager.scheduler", c.scheduler),
    {.path = "resource_manager.client_ca",
     .description = "PEM file with the authority that must sign agents' certificates; without "
                    "it, agents need only a token.",
     .target = DET_AT(config.tls_client_ca),
     .default_json = "\"\""},
    WithoutEffect("resource_manager.require_authentication",
                  "agents always authenticate with a token, and with client_ca also with a "
                  "certificate"),
    {.path = "resource_manager.no_default_resource_pools",
     .description = "true is refused: every task has a pool.",
     .target = DET_AT(no_default_pools),
     .default_json = "false"},
    Removed("resource_manager.default_cpu_resource_pool", kAuxPool),
    Removed("resource_manager.default_gpu_resource_pool", kComputePool),
    WithoutEffect("resource_manager.cluster_name", "set cluster_name at the top level"),
    WithoutEffect("resource_manager.name", "set cluster_name at the top level"),
    WithoutEffect("resource_manager.metadata", "it is not shown"),
    OtherManagers("resource_manager.default_namespace"),
    OtherManagers("resource_manager.max_slots_per_pod"),
    OtherManagers("resource_manager.master_service_name"),
    OtherManagers("resource_manager.slot_type"),
    OtherManagers("resource_manager.slot_resource_requests"),
    OtherManagers("resource_manager.default_scheduler"),
    OtherManagers("resource_manager.kubeconfig_path"),
    OtherManagers("resource_manager.determined_master_scheme"),
    OtherManagers("resource_manager.determined_master_host"),
    OtherManagers("resource_manager.determined_master_port"),
    OtherManagers("resource_manager.determined_master_ip"),
    OtherManagers("resource_manager.internal_task_gateway"),
    OtherManagers("resource_manager.leave_kubernetes_resources"),
    OtherManagers("resource_manager.fluent"),
    OtherManagers("resource_manager.master_host"),
    OtherManagers("resource_manager.master_port"),
    OtherManagers("resource_manager.host"),
    OtherManagers("resource_manager.port"),
    OtherManagers("resource_manager.protocol"),
    OtherManagers("resource_manager.security"),
    OtherManagers("resource_manager.container_run_type"),
    OtherManagers("resource_manager.auth_file"),
    OtherManagers("resource_manager.rendezvous_network_interface"),
    OtherManagers("resource_manager.proxy_network_interface"),
    OtherManagers("resource_manager.user_name"),
    OtherManagers("resource_manager.group_name"),
    OtherManagers("resource_manager.sudo_authorized"),
    OtherManagers("resource_manager.singularity_image_root"),
    OtherManagers("resource_manager.apptainer_image_root"),
    OtherManagers("resource_manager.job_storage_root"),
    OtherManagers("resource_manager.path"),
    OtherManagers("resource_manager.ld_library_path"),
    OtherManagers("resource_manager.launcher_jvm_args"),
    OtherManagers("resource_manager.tres_supported"),
    OtherManagers("resource_manager.gres_supported"),
    OtherManagers("resource_manager.job_project_source"),
    OtherManagers("resource_manager.partition_overrides"),

    {.path = "resource_pools",
     .description = "Resource pools: groups of agents, each with its own queue. Scheduler fields "
                    "that a pool does not set are those of resource_manager.scheduler. Agents "
                    "choose their pool with --pool; without pools here there is one called "
                    "default. The API and `det resource-pool` change pools at run time, and "
                    "override this file.",
     .role = Role::kList,
     .target = DET_LIST(config.resource_pools),
     .default_json = "[]"},
    {.path = "resource_pools[].pool_name",
     .description = "Name of the pool.",
     .target = DET_ITEM(config.resource_pools, name),
     .required = true},
    {.path = "resource_pools[].description",
     .description = "Description, shown to users.",
     .target = DET_ITEM(config.resource_pools, description),
     .default_json = "\"\""},
    {.path = "resource_pools[].max_aux_containers_per_agent",
     .description = "Maximum number of tasks without slots on an agent.",
     .target = DET_ITEM(config.resource_pools, max_aux_per_agent),
     .default_json = "100",
     .min = 0,
     .max = kMaxInt},
    {.path = "resource_pools[].shared_devices",
     .description = "Whether trials may share a device (resources.slots_per_trial: 0.5).",
     .target = DET_ITEM(config.resource_pools, shared_devices),
     .default_json = "false"},
    {.path = "resource_pools[].workspaces",
     .description = "Workspaces that may use the pool; empty means all.",
     .target = DET_ITEM(config.resource_pools, workspaces),
     .default_json = "[]"},
    DET_SCHEDULER("resource_pools[].scheduler", c.config.resource_pools.at(i)),
    Removed("resource_pools[].max_cpu_containers_per_agent",
            "was renamed; write max_aux_containers_per_agent"),
    WithoutEffect("resource_pools[].agent_reattach_enabled",
                  "agents always reattach to their tasks"),
    Removed("resource_pools[].provider",
            "this master does not start machines; remove it, and start agents with --pool"),
    {.path = "resource_pools[].task_container_defaults",
     .description =
         "Like task_container_defaults, which it overrides, for tasks in this pool. Always taken "
         "from this file, even if the pool was changed at run time.",
     .target = DET_TARGET(&c.pool_task_defaults[i]),
     .default_json = "null"},
    Removed("resource_pools[].agent_reconnect_wait",
            "is not supported per pool; set agent_reconnect_wait at the top level"),
    WithoutEffect("resource_pools[].kubernetes_namespace", "tasks run on this cluster's agents"),

    {.path = "quotas",
     .description = "Quotas of a user, or of a workspace (all of its users together).",
     .role = Role::kList,
     .target = DET_LIST(config.quotas),
     .default_json = "[]"},
    {.path = "quotas[].scope",
     .description = "Scope of the quota.",
     .target = DET_TARGET(MakeChoiceTarget(c.config.quotas.at(i).scope)),
     .required = true,
     .choices = "user|workspace"},
    {.path = "quotas[].name",
     .description = "Name of the user or workspace.",
     .target = DET_ITEM(config.quotas, name),
     .required = true},
    {.path = "quotas[].max_slots",
     .description = "Maximum number of slots at the same time; fractions of devices count as "
                    "fractions.",
     .target = DET_ITEM(config.quotas, max_slots),
     .default_json = "null",
     .min = 0},
    {.path = "quotas[].slot_hours",
     .description = "Maximum slot hours in a calendar month (UTC).",
     .target = DET_ITEM(config.quotas, slot_hours),
     .default_json = "null",
     .min = 0},

    {.path = "topology",
     .description = "Network topology: which machines and devices are closest; overrides what "
                    "agents report.",
     .role = Role::kList,
     .target = DET_LIST(topology),
     .default_json = "[]"},
    {.path = "topology[].agents",
     .description = "Ids of the agents that this entry describes.",
     .target = DET_ITEM(topology, agents),
     .required = true},
    {.path = "topology[].switch",
     .description = "Network switch of these agents; agents at the same switch reach each other "
                    "fastest.",
     .target = DET_ITEM(topology, network_switch),
     .default_json = "\"\""},
    {.path = "topology[].islands",
     .description = "Groups of slots with fast links (NVLink) on each of these agents, as [[0, "
                    "1, 2, 3], [4, 5, 6, 7]]; a slot in no group forms its own.",
     .target = DET_ITEM(topology, islands),
     .default_json = "[]",
     .min = 0,
     .max = kMaxInt},
};

#undef DET_SCHEDULER

}  // namespace

std::vector<Field> ResourceFields() {
  return {std::begin(kResourceFields), std::end(kResourceFields)};
}

}  // namespace det::app
